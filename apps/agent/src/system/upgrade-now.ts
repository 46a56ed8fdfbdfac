import type { Cell } from '@platform/kit';
import { PlatformError } from '@platform/contract/errors';
import { clearCondition, setCondition } from '../health/condition-set.ts';
import type { Wanted } from '../state/state.ts';
import { readChecked, writeChecked } from '../storage/checked-file.ts';
import { runPackages } from './run-packages.ts';
import type { SystemParts } from './system-parts.ts';

const stateFile = 'state/system-upgrades.json';
const code = 'OS_PACKAGES_FAILED';
const subject = 'upgrade now';

/**
 * Upgrades the packages once for each request of an operator. The count is stored after the run: a power cut in the
 * middle repeats it, and another agent awaits a run that continues.
 */
export async function upgradeOnRequest(wanted: Cell<Wanted>, parts: SystemParts, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const now = wanted.get();
    const { systemUpgrades: requested } = now;
    const { value: done } = await readChecked(parts.disk, stateFile, doneOf);
    const isKnown = now.isFresh || now.revision > 0;
    if (isKnown && done !== undefined && requested > done) await upgrade(now, parts, signal);
    if (signal.aborted) return;
    // A server that was restored from a backup may count from a smaller number.
    if (isKnown && requested !== done) await writeChecked(parts.disk, stateFile, { done: requested });
    if (wanted.get() === now) await wanted.changed(signal);
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
    if (!(error instanceof PlatformError)) throw error;
    const { what: message, remedy } = error;
    setCondition(conditions, { code, subject, severity: 'error', message, remedy, sinceWall: clock.wall() });
  }
}

function doneOf(value: unknown): number {
  const { done } = value as { done?: unknown };
  if (typeof done !== 'number') throw new Error('it names no request');
  return done;
}
