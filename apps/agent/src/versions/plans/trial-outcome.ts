import { quarantineCode, type QuarantineCode, type TrialCheckCode } from '../../state/trial-file.ts';

/** Observations of a version on trial. Times in ms of the monotonic clock. */
export interface Evidence {
  now: number;
  /** Start of its current run. */
  since: number;
  /** The checks that it has to pass; `what` is the text of the failure. */
  duties: readonly { code: TrialCheckCode; what: string; isDone: boolean }[];
  /** When all checks were first seen passed; null: not yet. */
  doneSince: number | null;
}

export interface TrialLimits {
  /** Time limit for all checks. */
  withinMs: number;
  /** How long it must then stay up. */
  steadyMs: number;
}

export type TrialOutcome =
  | { at: 'waiting'; until: number }
  | { at: 'proven' }
  | { at: 'failed'; reason: string; code: QuarantineCode | undefined };

const minutes = (ms: number): string => {
  const count = Math.round(ms / 60_000);
  return `${count} minute${count === 1 ? '' : 's'}`;
};

/** Whether a version passes the health check. */
export function evaluateTrial(
  { now, since, duties, doneSince }: Evidence,
  { withinMs, steadyMs }: TrialLimits,
): TrialOutcome {
  const open = duties.filter(({ isDone }) => !isDone);
  if (doneSince !== null && open.length === 0) {
    return now - doneSince >= steadyMs ? { at: 'proven' } : { at: 'waiting', until: doneSince + steadyMs };
  }
  if (open.length === 0) return { at: 'waiting', until: now };
  if (now - since < withinMs) return { at: 'waiting', until: since + withinMs };
  return {
    at: 'failed',
    reason: `after ${minutes(withinMs)}: ${open.map(({ what }) => what).join('; ')}`,
    code: quarantineCode(open),
  };
}

export const agentTrialMs = 10 * 60_000;
/** How long a ready server must stay up. */
export const serverSteadyMs = 5 * 60_000;
