import { assertNever } from '@platform/kit';

/** Durations in ms, instants in ms of the monotonic clock; Infinity: never. */
export interface Limits {
  startTimeout: number;
  /** From TERM to QUIT, from QUIT to KILL, from KILL to the next KILL. */
  term: number;
  quit: number;
  kill: number;
  firstBackOff: number;
  maxBackOff: number;
  /** An exit after running this long counts as the first failure. */
  steady: number;
}

export const standardLimits: Omit<Limits, 'startTimeout'> = {
  term: 120_000,
  quit: 5_000,
  kill: 10_000,
  firstBackOff: 1_000,
  maxBackOff: 300_000,
  steady: 60_000,
};

/** Whether the server may run, and whether a program can be started. */
export interface Goal {
  run: 'yes' | 'disabled' | 'ended';
  hasProgram: boolean;
}

export type Phase =
  /** No program to start, or the agent ends. */
  | { at: 'stopped' }
  | { at: 'starting'; since: number }
  | { at: 'running'; since: number }
  /** `next`: start at once, or after the backoff of a failure. */
  | { at: 'stopping'; since: number; sent: 'TERM' | 'QUIT' | 'KILL'; next: 'start' | 'backOff' }
  | { at: 'waiting'; until: number }
  | { at: 'disabled' };
export type State = Phase & { goal: Goal; failures: number };

export type Event =
  | { is: 'wanted'; goal: Goal }
  | { is: 'restart' }
  | { is: 'notStarted'; error: string }
  | { is: 'ready' }
  /** The process ended, in any state; sent once per process. */
  | { is: 'exited' }
  | { is: 'due' };

export type Effect = { do: 'start' } | { do: 'signal'; name: 'TERM' | 'QUIT' | 'KILL' };

export interface Next {
  state: State;
  effects: readonly Effect[];
}

export const initial = (goal: Goal): State => ({ at: 'stopped', goal, failures: 0 });
/** A process of an earlier agent is alive. It counts as starting until it is ready. */
export const adopted = (goal: Goal, now: number): State => ({ at: 'starting', since: now, goal, failures: 0 });

export function deadline(s: State, l: Limits): number {
  switch (s.at) {
    case 'stopped':
    case 'disabled':
    case 'running':
      return Infinity;
    case 'starting':
      return s.since + l.startTimeout;
    case 'stopping':
      return s.since + { TERM: l.term, QUIT: l.quit, KILL: l.kill }[s.sent];
    case 'waiting':
      return s.until;
    default:
      return assertNever(s);
  }
}

export const backOff = (failures: number, l: Limits): number =>
  Math.min(l.firstBackOff * 2 ** Math.max(0, failures - 1), l.maxBackOff);

export function step(s: State, e: Event, now: number, l: Limits): Next {
  const { goal, failures } = s;
  const to = (phase: Phase, more: Partial<Pick<State, 'goal' | 'failures'>> = {}, ...effects: Effect[]): Next => ({
    state: { ...phase, goal, failures, ...more },
    effects,
  });
  /** The next state without a process. */
  const rest = (g: Goal): Next => {
    if (g.run === 'disabled') return to({ at: 'disabled' }, { goal: g });
    if (g.run === 'ended' || !g.hasProgram) return to({ at: 'stopped' }, { goal: g });
    return to({ at: 'starting', since: now }, { goal: g }, { do: 'start' });
  };
  const failed = (count: number): Next =>
    goal.run === 'yes' && goal.hasProgram
      ? to({ at: 'waiting', until: now + backOff(count, l) }, { failures: count })
      : rest(goal);
  const stop = (next: 'start' | 'backOff', more: Partial<Pick<State, 'goal' | 'failures'>> = {}): Next =>
    to({ at: 'stopping', since: now, sent: 'TERM', next }, more, { do: 'signal', name: 'TERM' });

  if (e.is === 'due' && now < deadline(s, l)) return to(s); // a late timer of an earlier state
  if (e.is === 'wanted') {
    if (s.at === 'starting' || s.at === 'running') {
      return e.goal.run === 'yes' ? to(s, { goal: e.goal }) : stop('start', { goal: e.goal });
    }
    if (s.at === 'stopping') return to(s, { goal: e.goal });
    if (s.at === 'waiting' && e.goal.run === 'yes' && e.goal.hasProgram) return to(s, { goal: e.goal });
    return rest(e.goal);
  }

  switch (s.at) {
    case 'stopped':
    case 'disabled':
      return to(s);
    case 'starting':
      if (e.is === 'ready') return to({ at: 'running', since: now });
      if (e.is === 'notStarted') return failed(failures + 1);
      if (e.is === 'exited') return failed(failures + 1);
      if (e.is === 'restart') return stop('start');
      // Spec, advanced_settings: a server that is not ready in time is killed and started again. QUIT first, for its
      // stack traces.
      return to(
        { at: 'stopping', since: now, sent: 'QUIT', next: 'backOff' },
        { failures: failures + 1 },
        { do: 'signal', name: 'QUIT' },
      );
    case 'running':
      if (e.is === 'exited') return failed(now - s.since >= l.steady ? 1 : failures + 1);
      if (e.is === 'restart') return stop('start');
      return to(s);
    case 'stopping': {
      if (e.is === 'exited' || e.is === 'notStarted') return s.next === 'backOff' ? failed(failures) : rest(goal);
      if (e.is !== 'due') return to(s);
      const name = s.sent === 'TERM' ? 'QUIT' : 'KILL';
      return to({ ...s, since: now, sent: name }, {}, { do: 'signal', name });
    }
    case 'waiting':
      return e.is === 'due' || e.is === 'restart' ? rest(goal) : to(s);
    default:
      return assertNever(s);
  }
}
