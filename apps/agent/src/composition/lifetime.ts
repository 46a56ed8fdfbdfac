import type { Log } from '@platform/kit';
import type { Leave } from '../versions/managed-programs.ts';
import type { NamedLoop } from './sync-loops.ts';

/**
 * `stopped`: by the signal, together with the machine server. Else bin/ links to another version, which adopts the
 * server.
 */
export type Ending = 'stopped' | Leave;

/** When the loops of the agent end, and why. */
export interface Lifetime {
  /** Aborts when the agent is stopped or replaced, or when a loop has failed. */
  readonly early: AbortSignal;
  /** Aborts after `finish`: for loops that report the end of the others. */
  readonly late: AbortSignal;
  /** Aborts when the agent ends and the machine server keeps running: a loop has failed, or another version takes over. */
  readonly left: AbortSignal;
  /** No loop has failed, and no other version takes over. */
  readonly isStopped: boolean;
  readonly ending: Ending;
  /** Ends this agent so that another version can take over. */
  leave(how: Leave): void;
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
      ending = how;
      handover.abort(new Error(how === 'handover' ? 'a new version takes over' : 'the version before takes over'));
    },
    async loop({ name, work }) {
      try {
        await work;
      } catch (error) {
        log.error('a part of the agent failed', { loop: name, error });
        if (!broken.signal.aborted) broken.abort(error);
      }
    },
    finish: () => lateStop.abort(),
    throwIfBroken: () => broken.signal.throwIfAborted(),
  };
}
