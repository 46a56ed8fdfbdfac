import { anyChanged, Cell, type Clock, changedOr, setIfDifferent } from '@platform/kit';
import type { ConditionSet } from '../../health/condition-set.ts';
import { isLinkCode } from '../../health/link-codes.ts';
import type { NetworkStatus } from '../rows/network-status.ts';

export interface CredentialsProblem {
  /** For users; empty: none. */
  text: string;
  /** Undefined: it may pass by itself. Otherwise the hotspot shows it, once for each object. */
  about?: object;
  /** The device has credentials that have never worked: they may also be kept. */
  hasUnproven?: true;
}

const none: CredentialsProblem = { text: '' };

export const noProblem = () => new Cell<CredentialsProblem>(none);

interface ProblemParts {
  problem: Cell<CredentialsProblem>;
  conditions: ConditionSet;
  /** Undefined: this machine has no credentials. */
  found: Cell<object | undefined>;
  /** The credentials in use, if they have never worked; another object is other ones. */
  unproven: Cell<object | undefined>;
  /** Called before `problem` changes: whether others may be entered in place of the unproven ones. */
  giveUp: (isUseless: boolean) => void;
  /** See watchWaitingCode. */
  pendingCode: Cell<object | undefined>;
  network: Cell<NetworkStatus | undefined>;
  clock: Clock;
}

/** Keeps `problem`: what became of the set-up code or the credentials that a user entered; until the signal. */
export async function followCredentialsProblem(of: ProblemParts, signal: AbortSignal): Promise<void> {
  const { problem, conditions, found, unproven, pendingCode: pending, network, clock } = of;
  const stuck = new Cell<object | undefined>(undefined);
  const useless = new Cell<object | undefined>(undefined);
  const follow = async (): Promise<void> => {
    while (!signal.aborted) {
      const [next, before] = [problemIn(of, stuck.get(), useless.get()), problem.get()];
      of.giveUp(useless.get() !== undefined);
      if (next.text !== before.text || next.about !== before.about) problem.set(next);
      await anyChanged([conditions, found, stuck, useless], signal);
    }
  };
  await Promise.all([
    follow(),
    watchWaitingCode({ pending, network, stuck, clock }, signal),
    watchWaitingCode({ pending: unproven, network, stuck: useless, clock }, signal),
  ]);
}

function problemIn(of: ProblemParts, stuck: object | undefined, useless: object | undefined): CredentialsProblem {
  const { conditions, found } = of;
  if (found.get() && !useless) return none;
  const ofCode = problemOfCode(of, stuck);
  if (!useless || ofCode.about) return ofCode;
  const shown = conditions.get().find(({ code }) => isLinkCode(code));
  const why = shown ? `${shown.message} ${shown.remedy}` : 'The management server has not answered.';
  return { text: `The credentials of this device have never worked. ${why}`, about: useless, hasUnproven: true };
}

function problemOfCode({ conditions }: ProblemParts, stuck: object | undefined): CredentialsProblem {
  const refused = conditions.get().find(({ code }) => code === 'SET_UP_CODE_INVALID');
  const shown = refused ?? conditions.get().find(({ code }) => code === 'SET_UP_CODE_WAITS');
  if (!shown) return none;
  const about = refused ?? stuck;
  return { text: `${shown.message} ${shown.remedy}`, ...(about && { about }) };
}

/** How long a set-up code waits over a link before the hotspot comes back once, to show why. */
const longestWaitMs = 60_000;
const noHurryMs = 60 * 60_000;

/**
 * Sets `stuck` to the set-up code that has waited for a minute while this machine had a link, for example because the
 * address of the server was mistyped; until the signal.
 */
export async function watchWaitingCode(
  of: {
    /** The code that is not redeemed yet; another object is another code. */
    pending: Cell<object | undefined>;
    network: Cell<NetworkStatus | undefined>;
    stuck: Cell<object | undefined>;
    clock: Clock;
  },
  signal: AbortSignal,
): Promise<void> {
  const { pending, network, stuck, clock } = of;
  let waiting: object | undefined;
  let since = clock.now();
  while (!signal.aborted) {
    const status = network.get();
    const now = status?.mode === 'normal' && status.hasLink ? pending.get() : undefined;
    if (now !== waiting) since = clock.now();
    waiting = now;
    if (stuck.get() !== pending.get()) setIfDifferent(stuck, undefined);
    const leftMs = waiting && stuck.get() !== waiting ? since + longestWaitMs - clock.now() : noHurryMs;
    if (waiting && leftMs <= 0) {
      stuck.set(waiting);
      continue;
    }
    await changedOr([network, pending], leftMs, clock, signal);
  }
}
