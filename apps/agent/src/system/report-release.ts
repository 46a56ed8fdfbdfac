import type { Cell } from '@platform/kit';
import { namesClause, outcomeClauses } from '../os/restored-text.ts';
import { originsFile, periodicFile } from './apt-files.ts';
import { installedPackages } from './installed-packages.ts';
import { journaldFile } from './journald.ts';
import type { SystemApplied } from './keep.ts';
import type { SystemGoal } from './system-goal.ts';
import type { SystemParts } from './system-parts.ts';
import type { SystemStatus } from './system-status.ts';

const files = [journaldFile, originsFile, periodicFile];
const noPackages: SystemStatus = {
  hasApt: false,
  waiting: [],
  lastRun: undefined,
  reboot: undefined,
  rebootWait: '',
  task: '',
  why: '',
};

interface Released {
  goal: Cell<SystemGoal>;
  /** How far each part of the system configuration has come. */
  applied: readonly Cell<SystemApplied>[];
  status: Cell<SystemStatus | undefined>;
}

/** While the system configuration is disabled, the status names what the agent restored and what it left. */
export async function reportRelease(
  { goal, applied, status }: Released,
  parts: SystemParts,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const turn = new AbortController();
    const over = AbortSignal.any([turn.signal, signal]);
    const changed = Promise.race([goal, ...applied].map((cell) => cell.changed(over)));
    const why = goal.get().isDisabled ? await releaseText(parts) : '';
    if ((status.get()?.why ?? '') !== why)
      status.update((before = noPackages) => (before.hasApt || why !== '' ? { ...before, why } : undefined));
    await changed;
    turn.abort();
  }
}

async function releaseText({ managedFiles, prefix, disk, programs }: SystemParts): Promise<string> {
  const reported = await managedFiles.reported();
  const outcomes = files.flatMap((file) => {
    const found = reported.find((one) => one.file === `${prefix}${file}`);
    return found ? [{ file, isRestored: found.isRestored }] : [];
  });
  return [
    'disable_system_configuration is true',
    ...outcomeClauses(outcomes),
    ...namesClause('left installed', await installedPackages(disk, programs)),
  ].join('; ');
}
