import { Cell, changedOr } from '@platform/kit';
import { isConditionError } from '@platform/contract/conditions/conditions';
import { PlatformError } from '@platform/contract/errors/errors';
import { clearCondition, setCondition, setErrorCondition } from '../health/condition-set.ts';
import { fileProblem } from '../os/file-problem.ts';
import type { Wanted } from '../state/state.ts';
import { readChecked, writeChecked } from '../storage/checked-file.ts';
import { runPackages } from './run-packages.ts';
import type { SystemParts } from './system-parts.ts';

const stateFile = 'state/system-upgrades.json';
const code = 'OS_PACKAGES_FAILED';
const subject = 'upgrade now';
const retryMs = 5 * 60_000;

/**
 * Upgrades the packages once for each request of an operator. The count is stored after the run: a power cut in the
 * middle repeats it, and another agent awaits a run that continues.
 *
 * A folder that was copied or put back has an older count. So the count is also reported, the management server
 * withdraws a request that was reported as done, and only its answer counts, not the cached one.
 *
 * @param reported - the newest request that is done.
 */
export async function upgradeOnRequest(
  wanted: Cell<Wanted>,
  parts: SystemParts,
  signal: AbortSignal,
  reported = new Cell<number | undefined>(undefined),
): Promise<void> {
  /** Ahead of the stored count while that cannot be written: a full disk must not repeat an upgrade. */
  let done: number | undefined;
  while (!signal.aborted) {
    const now = wanted.get();
    const { systemUpgrades: requested } = now;
    const { value: stored } = await readChecked(parts.disk, stateFile, doneOf);
    done ??= stored;
    const isKnown = now.isFresh || now.revision > 0;
    if (now.isFresh && done !== undefined && requested > done) await upgrade(now, parts, signal);
    if (signal.aborted) return;
    // A server that was restored from a backup, or that withdraws a request, counts from a smaller number.
    if (now.isFresh || (isKnown && done === undefined)) done = requested;
    if (now.isFresh) reported.set(done);
    const isStored = done === undefined || done === stored || (await store(done, parts));
    if (wanted.get() !== now) continue;
    await changedOr(wanted, isStored ? Infinity : retryMs, parts.clock, signal);
  }
}

async function store(done: number, { disk, conditions, clock, log }: SystemParts): Promise<boolean> {
  const failed = 'SYSTEM_NOT_APPLIED';
  const group = 'upgrade requests';
  try {
    await writeChecked(disk, stateFile, { done });
    clearCondition(conditions, failed, group);
    return true;
  } catch (error) {
    log.warn('the count of upgrade requests is not stored; it is tried again', { error });
    const reason = `${stateFile} cannot be written: ${fileProblem(error)}`;
    setCondition(conditions, failed, { group, reason }, { subject: group, sinceWall: clock.wall() });
    return false;
  }
}

/** A failed upgrade is not repeated: the operator sees why, and requests another one. */
async function upgrade({ settings }: Wanted, parts: SystemParts, signal: AbortSignal): Promise<void> {
  const { conditions, clock, log } = parts;
  const type = settings.isSystemDisabled ? '' : (settings.system?.upgradeType ?? '');
  const isSelected = type === 'all' || type === 'security';
  clearCondition(conditions, code, subject);
  try {
    log.info('an upgrade of the operating system was requested', { type });
    await runPackages(isSelected ? 'run unattended-upgrade' : 'upgrade the packages', parts, signal);
  } catch (error) {
    if (!(error instanceof PlatformError) || !isConditionError(error)) throw error;
    setErrorCondition(conditions, error, { subject, sinceWall: clock.wall() });
  }
}

function doneOf(value: unknown): number {
  const { done } = value as { done?: unknown };
  if (typeof done !== 'number') throw new Error('it names no request');
  return done;
}
