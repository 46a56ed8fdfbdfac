import { assertNever } from '@platform/kit';

/**
 * Durations in ms, instants in ms of the monotonic clock; Infinity: never. Apart from `kill`, the values are those
 * of the agent's systemd unit.
 */
export interface KeptLimits {
  /** From its start until it reports that it is ready. */
  ready: number;
  /** Between two signs of life. */
  watchdog: number;
  /** From its exit to its next start. */
  pause: number;
  /** From the stop request to its exit. */
  stop: number;
  /** Between two kills. */
  kill: number;
}

export type KeptState =
  | { at: 'starting'; since: number }
  /** `heard`: time of its last sign of life. */
  | { at: 'running'; heard: number }
  | { at: 'stopping'; since: number; isKilled: boolean; next: 'start' | 'end' }
  | { at: 'waiting'; until: number }
  | { at: 'ended' };

export type KeptEvent =
  | { is: 'ready' }
  | { is: 'alive' }
  | { is: 'exited' }
  | { is: 'notStarted'; error: string }
  /** The supervisor has to end, and the agent with it. */
  | { is: 'stop' }
  | { is: 'due' };

/** `start`: run the gate first, then the version in use. */
export type KeptEffect = { do: 'start' } | { do: 'ask' } | { do: 'kill' };

export interface KeptNext {
  state: KeptState;
  effects: readonly KeptEffect[];
}

/** The initial state: the first start is due at `now`. */
export const waitingAt = (now: number): KeptState => ({ at: 'waiting', until: now });

export function deadline(s: KeptState, l: KeptLimits): number {
  switch (s.at) {
    case 'starting':
      return s.since + l.ready;
    case 'running':
      return s.heard + l.watchdog;
    case 'stopping':
      return s.since + (s.isKilled ? l.kill : l.stop);
    case 'waiting':
      return s.until;
    case 'ended':
      return Infinity;
    default:
      return assertNever(s);
  }
}

/** Never gives up: the gate limits the starts of a bad version. */
export function step(s: KeptState, e: KeptEvent, now: number, l: KeptLimits): KeptNext {
  const to = (state: KeptState, ...effects: KeptEffect[]): KeptNext => ({ state, effects });
  const pause = (): KeptNext => to({ at: 'waiting', until: now + l.pause });
  const kill = (next: 'start' | 'end'): KeptNext =>
    to({ at: 'stopping', since: now, isKilled: true, next }, { do: 'kill' });
  if (e.is === 'due' && now < deadline(s, l)) return to(s); // a late timer of an earlier state

  switch (s.at) {
    case 'ended':
      return to(s);
    case 'waiting':
      if (e.is === 'stop') return to({ at: 'ended' });
      return e.is === 'due' ? to({ at: 'starting', since: now }, { do: 'start' }) : to(s);
    case 'starting':
    case 'running':
      if (e.is === 'exited' || e.is === 'notStarted') return pause();
      if (e.is === 'stop') return to({ at: 'stopping', since: now, isKilled: false, next: 'end' }, { do: 'ask' });
      if (e.is === 'due') return kill('start');
      return s.at === 'running' || e.is === 'ready' ? to({ at: 'running', heard: now }) : to(s);
    case 'stopping':
      if (e.is === 'exited' || e.is === 'notStarted') return s.next === 'end' ? to({ at: 'ended' }) : pause();
      if (e.is === 'stop') return to({ ...s, next: 'end' });
      return e.is === 'due' ? kill(s.next) : to(s);
    default:
      return assertNever(s);
  }
}
