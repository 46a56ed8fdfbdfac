import { anyChanged, Cell, type Clock } from '@platform/kit';
import type { ConditionSet } from '../health/condition-set.ts';
import type { NetworkStatus } from './network-status.ts';
import { watchWaitingCode } from './waiting-code.ts';

export interface CredentialsProblem {
  /** For users; empty: none. */
  text: string;
  /** Undefined: it may pass by itself. Otherwise the hotspot shows it, once for each object. */
  about?: object;
}

const none: CredentialsProblem = { text: '' };

export const noProblem = () => new Cell<CredentialsProblem>(none);

interface ProblemParts {
  problem: Cell<CredentialsProblem>;
  conditions: ConditionSet;
  /** Undefined: this machine has no credentials. */
  found: Cell<object | undefined>;
  /** See watchWaitingCode. */
  pendingCode: Cell<object | undefined>;
  network: Cell<NetworkStatus | undefined>;
  clock: Clock;
}

/** Keeps `problem`: what became of the set-up code that a user entered; until the signal. */
export async function followCredentialsProblem(of: ProblemParts, signal: AbortSignal): Promise<void> {
  const { problem, conditions, found, pendingCode: pending, network, clock } = of;
  const stuck = new Cell<object | undefined>(undefined);
  const follow = async (): Promise<void> => {
    while (!signal.aborted) {
      const [next, before] = [problemIn(of, stuck.get()), problem.get()];
      if (next.text !== before.text || next.about !== before.about) problem.set(next);
      await anyChanged([conditions, found, stuck], signal);
    }
  };
  await Promise.all([follow(), watchWaitingCode({ pending, network, stuck, clock }, signal)]);
}

function problemIn({ conditions, found }: ProblemParts, stuck: object | undefined): CredentialsProblem {
  if (found.get()) return none;
  const refused = conditions.get().find(({ code }) => code === 'SET_UP_CODE_INVALID');
  const shown = refused ?? conditions.get().find(({ code }) => code === 'SET_UP_CODE_WAITS');
  if (!shown) return none;
  const about = refused ?? stuck;
  return { text: `${shown.message} ${shown.remedy}`, ...(about && { about }) };
}
