import { errorText } from '@platform/kit';
import type { BootReason, Device } from '../os/ports.ts';
import { forgetChecked, readChecked, writeChecked } from '../storage/checked-file.ts';
import type { Context } from './context.ts';

const file = 'state/run.json';
const mostWords = 40;

/** How the previous agent ended, as its supervisor recorded it. */
export interface PreviousRun {
  /** A clause; undefined: it ended on request, or the reason is unknown. */
  reason: string | undefined;
  /** Last lines of its output, oldest first. */
  lines: readonly string[];
  /** The same lines with those of its supervisor about it. */
  words: readonly string[];
  /** Id of its version; undefined: not recorded. */
  id?: string | undefined;
  /** ms since 1970; undefined: not recorded. */
  atWall?: number | undefined;
}
export const noPreviousRun: PreviousRun = { reason: undefined, lines: [], words: [] };

/** Information that survives a crash of the agent. */
export interface RunHistory {
  /** Boot ID, different after each boot; empty: unknown. */
  bootId: string;
  previousRun: () => Promise<PreviousRun>;
}
export const noRunHistory: RunHistory = { bootId: '', previousRun: async () => noPreviousRun };

interface Run {
  version: string;
  boot_id: string;
  /** ms since 1970. */
  started: number;
  has_ended: boolean;
  /** Why this boot began; empty: not known. */
  boot_reason: BootReason | '';
}

const bootReasons: readonly unknown[] = ['ordered', 'power-lost', 'watchdog', 'kernel-panic'] satisfies BootReason[];

const runOf = (value: unknown): Run => {
  const { version, boot_id, started, has_ended, boot_reason } = value as Partial<Record<keyof Run, unknown>>;
  if (Number.isNaN(new Date(Number(started)).getTime())) throw new Error('"started" is no time'); // another format
  return {
    version: String(version),
    boot_id: String(boot_id ?? ''),
    started: Number(started),
    has_ended: has_ended === true,
    boot_reason: bootReasons.includes(boot_reason) ? (boot_reason as BootReason) : '',
  };
};

interface RunParts extends Pick<Context, 'disk' | 'clock' | 'log'> {
  runHistory: RunHistory;
  resetCause?: Device['resetCause'];
}

/**
 * Logs how the previous agent ended unless it ended cleanly, and records this run. Never throws.
 *
 * @returns `crashed`: version of the previous agent, if it crashed or was killed while the machine stayed up;
 *   `bootReason`: why this boot began, undefined: not known.
 */
export async function beginRun(
  version: string,
  { disk, runHistory, resetCause, clock, log }: RunParts,
): Promise<{ crashed: string | undefined; bootReason: BootReason | undefined; end: () => Promise<void> }> {
  const { value: before } = await readChecked(disk, file, runOf);
  // Other code reports a full disk. An outdated record would be wrong, so it is removed.
  const write = (state: Run) => writeChecked(disk, file, state).catch(() => forgetChecked(disk, file));
  const isReboot = before !== undefined && before.boot_id !== '' && before.boot_id !== runHistory.bootId;
  const bootReason = before && isReboot ? await bootReasonAfter(before, resetCause) : (before?.boot_reason ?? '');
  const started = Math.round(clock.wall());
  const run: Run = { version, boot_id: runHistory.bootId, started, has_ended: false, boot_reason: bootReason };
  if (before && !before.has_ended) {
    const { words: lastWords } = await runHistory
      .previousRun()
      .catch((error: unknown): PreviousRun => ({ ...noPreviousRun, words: [errorText(error)] }));
    log.warn('the agent before this one did not end in order', {
      version: before.version,
      started: new Date(before.started).toISOString(),
      because: isReboot ? 'the machine was switched off or restarted' : 'it crashed or was killed',
      ...(lastWords.length > 0 && { lastWords: lastWords.slice(-mostWords) }),
    });
  }
  await write(run);
  const crashed = before && !before.has_ended && !isReboot ? before.version : undefined;
  return { crashed, bootReason: bootReason || undefined, end: () => write({ ...run, has_ended: true }) };
}

/** @param before - the last run of the boot before: only an ordered shutdown ends it in order */
async function bootReasonAfter(before: Run, resetCause: Device['resetCause']): Promise<BootReason> {
  const recorded = await resetCause?.(before.started).catch(() => undefined);
  return recorded ?? (before.has_ended ? 'ordered' : 'power-lost');
}
