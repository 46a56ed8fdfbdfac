import type { Log } from '@platform/kit';
import type { Leave } from '../versions/managed-programs.ts';
import type { NamedLoop } from './sync-loops.ts';

/**
 * `stopped`: by the signal, together with the machine server. `credentials`: this process goes on with other
 * credentials. Else bin/ links to another version. The server keeps running except if stopped, and is adopted.
 */
export type Ending = 'stopped' | 'credentials' | Leave;

const leaveTexts = {
  handover: 'a new version takes over',
  reverted: 'the version before takes over',
  credentials: 'this machine has other credentials',
} as const satisfies Record<Exclude<Ending, 'stopped'>, string>;

/** When the loops of the agent end, and why. */
export interface Lifetime {
  /** Aborts when the agent is stopped or replaced, or when a loop has failed. */
  readonly early: AbortSignal;
  /** Aborts after `finish`: for loops that report the end of the others. */
  readonly late: AbortSignal;
  /** Aborts when the agent ends and the machine server keeps running. */
  readonly left: AbortSignal;
  /** No loop has failed, and nothing else takes over. */
  readonly isStopped: boolean;
  readonly ending: Ending;
  /** Ends the loops so that another version or other credentials can take over. */
  leave(how: Exclude<Ending, 'stopped'>): void;
  /** Waits for a loop. A failure of one ends the process, and the service manager restarts it. */
  loop(running: NamedLoop): Promise<void>;
  finish(): void;
  /** @throws the error of the first loop that failed */
  throwIfBroken(): void;
}

export function agentLifetime(signal: AbortSignal, log: Log): Lifetime {
  const broken = new AbortController();
  const handover = new AbortController();
  const lateStop = new AbortController();
  const left = AbortSignal.any([broken.signal, handover.signal]);
  let ending: Ending = 'stopped';
  return {
    early: AbortSignal.any([signal, left]),
    late: lateStop.signal,
    left,
    get isStopped() {
      return !left.aborted;
    },
    get ending() {
      return ending;
    },
    leave(how) {
      if (handover.signal.aborted) return;
      ending = how;
      handover.abort(new Error(leaveTexts[how]));
    },
    async loop({ name, work }) {
      try {
        await work;
      } catch (error) {
        log.error('a task of the agent failed', { loop: name, error });
        if (!broken.signal.aborted) broken.abort(error);
      }
    },
    finish: () => lateStop.abort(),
    throwIfBroken: () => broken.signal.throwIfAborted(),
  };
}
