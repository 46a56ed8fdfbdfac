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
  /** Until the next start after the machine lacked a resource. */
  lacking: number;
  /** An exit after running this long counts as the first failure. */
  steady: number;
}

export const standardLimits: Omit<Limits, 'startTimeout'> = {
  term: 120_000,
  quit: 5_000,
  kill: 10_000,
  firstBackOff: 1_000,
  maxBackOff: 300_000,
  lacking: 30_000,
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
  /** `lacksResource`: the machine has no room or no file descriptor, so the server did not fail. */
  | { is: 'notStarted'; error: string; lacksResource?: boolean }
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
  if (e.is === 'due' && now < deadline(s, l)) return enter(s, s); // a late timer of an earlier state
  if (e.is === 'wanted') return withGoal(s, e.goal, now);
  const { goal, failures } = s;
  switch (s.at) {
    case 'stopped':
    case 'disabled':
      return enter(s, s);
    case 'starting':
      if (e.is === 'ready') return enter(s, { at: 'running', since: now });
      if (e.is === 'notStarted' && e.lacksResource === true && s.goal.run === 'yes')
        return enter(s, { at: 'waiting', until: now + l.lacking });
      if (e.is === 'notStarted' || e.is === 'exited') return failed(s, failures + 1, now, l);
      if (e.is === 'restart') return stop(s, now);
      // Spec, advanced_settings: a server that is not ready in time is killed and started again. QUIT first, for its
      // stack traces.
      return enter(
        s,
        { at: 'stopping', since: now, sent: 'QUIT', next: 'backOff' },
        { failures: failures + 1 },
        { do: 'signal', name: 'QUIT' },
      );
    case 'running':
      if (e.is === 'exited') return failed(s, now - s.since >= l.steady ? 1 : failures + 1, now, l);
      return e.is === 'restart' ? stop(s, now) : enter(s, s);
    case 'stopping': {
      if (e.is === 'exited' || e.is === 'notStarted')
        return s.next === 'backOff' ? failed(s, failures, now, l) : withoutProcess(s, goal, now);
      if (e.is !== 'due') return enter(s, s);
      const name = s.sent === 'TERM' ? 'QUIT' : 'KILL';
      return enter(s, { ...s, since: now, sent: name }, {}, { do: 'signal', name });
    }
    case 'waiting':
      return e.is === 'due' || e.is === 'restart' ? withoutProcess(s, goal, now) : enter(s, s);
    default:
      return assertNever(s);
  }
}

type Counters = Partial<Pick<State, 'goal' | 'failures'>>;

const enter = (s: State, phase: Phase, more: Counters = {}, ...effects: Effect[]): Next => ({
  state: { ...phase, goal: s.goal, failures: s.failures, ...more },
  effects,
});

const stop = (s: State, now: number, more: Counters = {}): Next =>
  enter(s, { at: 'stopping', since: now, sent: 'TERM', next: 'start' }, more, { do: 'signal', name: 'TERM' });

/** The next state without a process. */
function withoutProcess(s: State, goal: Goal, now: number): Next {
  if (goal.run === 'disabled') return enter(s, { at: 'disabled' }, { goal });
  if (goal.run === 'ended' || !goal.hasProgram) return enter(s, { at: 'stopped' }, { goal });
  return enter(s, { at: 'starting', since: now }, { goal }, { do: 'start' });
}

const failed = (s: State, failures: number, now: number, l: Limits): Next =>
  s.goal.run === 'yes' && s.goal.hasProgram
    ? enter(s, { at: 'waiting', until: now + backOff(failures, l) }, { failures })
    : withoutProcess(s, s.goal, now);

function withGoal(s: State, goal: Goal, now: number): Next {
  switch (s.at) {
    case 'starting':
    case 'running':
      return goal.run === 'yes' ? enter(s, s, { goal }) : stop(s, now, { goal });
    case 'stopping':
      return enter(s, s, { goal });
    case 'waiting':
      return goal.run === 'yes' && goal.hasProgram ? enter(s, s, { goal }) : withoutProcess(s, goal, now);
    case 'stopped':
    case 'disabled':
      return withoutProcess(s, goal, now);
    default:
      return assertNever(s);
  }
}
