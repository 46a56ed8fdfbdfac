import { reportedLines } from '../state/exit-reason.ts';
import type { ExitReport } from '../state/state.ts';
import type { PreviousRun } from '../health/previous-run.ts';
import { trialReason, type Bad } from '../state/trial-file.ts';

/** At most this long before this agent started, the gate rolled the version back. */
const justBeforeMs = 60_000;

/**
 * How the previous agent ended, if it crashed or if the gate rolled it back at this start. A rolled-back agent may have
 * ended before it recorded its run. Never fails.
 *
 * @returns `id`: of the version that was rolled back; undefined: none was.
 */
export async function agentExitBefore(of: {
  bad: () => Promise<readonly Bad[]>;
  previousRun: () => Promise<PreviousRun>;
  crashed: string | undefined;
  selfId: string | null;
  startedWall: number;
  mask: (text: string) => string;
}): Promise<{ id: string | undefined; exit: ExitReport } | undefined> {
  const { crashed, selfId, startedWall } = of;
  const bad = (await of.bad().catch(() => [])).findLast(
    ({ id, since, reason }) =>
      reason === trialReason && id !== selfId && Math.abs(since * 1000 - startedWall) < justBeforeMs,
  );
  if (!bad && crashed === undefined) return undefined;
  const previous = await of.previousRun().catch(() => undefined);
  if (!previous || (previous.reason === undefined && previous.lines.length === 0)) return undefined;
  // Another agent may have run and restarted since.
  const isOfBad =
    bad !== undefined &&
    previous.reason !== undefined &&
    (previous.id === undefined || previous.id === bad.id) &&
    (previous.atWall === undefined || previous.atWall < (bad.since + 2) * 1000);
  if (!isOfBad && crashed === undefined) return undefined;
  const id = isOfBad ? bad.id : undefined;
  const exit: ExitReport = {
    id: id ?? previous.id ?? crashed ?? '',
    reason: previous.reason ?? 'unknown',
    lines: reportedLines(previous.lines, of.mask),
    sinceWall: previous.atWall ?? startedWall,
  };
  return { id, exit };
}
