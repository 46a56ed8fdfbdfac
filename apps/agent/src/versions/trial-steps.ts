import { PlatformError } from '@platform/contract/errors/errors';
import type { Clock } from '@platform/kit';
import { makeFolder } from '../os/file-disk.ts';
import { damagedReason, interrupted, isId, type Bad, type Trial } from '../state/trial-file.ts';
import { gate, isDoubtfulStart, type GateOutcome } from './gate.ts';
import { compareWithHash, isSound, linkedVersion, type StoredVersions } from './version-folders.ts';
import {
  addBad,
  endTrial,
  forgetDamage,
  goBack,
  layBack,
  linkedId,
  noteDamage,
  point,
  readBad,
  readTrial,
  writePrevious,
  writeTrial,
} from './switch.ts';
import type { UnitRenewal } from './unit-renewal.ts';

// The steps of a trial. The store calls them one at a time.

/** The versions of one program, and what follows a switch. */
export interface TrialContext extends StoredVersions {
  clock: Clock;
  /** Boot ID, different after each boot; empty: unknown. */
  boot: string;
  unit: UnitRenewal | undefined;
  /** Starts of the version in use by this process. */
  starts: { id: string | undefined; count: number };
}

type TrialFailure = Pick<Bad, 'reason' | 'code'>;
const damage: TrialFailure = { reason: damagedReason };

export const wallSeconds = (clock: Clock): number => Math.floor(clock.wall() / 1000);

/** Trial of the version in use. */
export async function openTrial({
  files,
  program,
}: Pick<StoredVersions, 'files' | 'program'>): Promise<Trial | undefined> {
  const found = await readTrial(files, program);
  return found && (await linkedId(files, program)) === found.to ? found : undefined;
}

/**
 * Quarantines the failed version. If the disk damaged its file, it is fetched again, at most `mostRefetches` times.
 */
async function quarantineFailed(
  { files, program, clock, log, verified }: TrialContext,
  { to, clearance }: Trial,
  failure: TrialFailure,
  isDamaged: boolean,
): Promise<void> {
  if (isDamaged && (await noteDamage(files, program, to))) {
    verified.delete(to);
    log.error('the version on trial is damaged on the disk and is fetched again', { id: to });
    return;
  }
  const since = wallSeconds(clock);
  await addBad(files, program, { id: to, clearance, since, ...(isDamaged ? damage : failure) });
}

/** The version to roll back to; null: none. */
async function rollbackTarget(context: TrialContext, now: string | null): Promise<string | null> {
  const open = await openTrial(context);
  const bad = await readBad(context.files, context.program);
  // A version on trial is not a rollback target, except if the version before it has failed.
  return open && !bad.some((one) => one.id === open.from) ? open.from : now;
}

/** Links bin/ to a version, on trial if there is a version to roll back to. */
export async function activateVersion(
  context: TrialContext,
  to: string,
  { clearance, needs }: Pick<Trial, 'clearance' | 'needs'>,
): Promise<void> {
  const { files, program, clock, unit } = context;
  const now = await linkedVersion(context);
  if (now === to) return;
  if (!(await isSound(context, to, true))) throw new PlatformError('DOWNLOAD_CORRUPT', { url: `versions/${to}` });
  await makeFolder(files, 'bin');
  await makeFolder(files, 'state');
  const from = await rollbackTarget(context, now);
  // Write the trial before the switch: a new version must never start without it.
  if (from !== null && from !== to) {
    const since = wallSeconds(clock);
    await writeTrial(files, program, { from, to, starts: 0, clearance, since, needs, boot: '', cuts: 0 });
    await layBack(files, program, from);
    await unit?.lay(to);
  }
  await point(files, program, to);
  if (from === to) {
    await unit?.takeBack();
    await endTrial(files, program);
  } else await unit?.reload();
}

/** Counts a start. Returns its outcome and the version to start. */
export async function countStart(context: TrialContext): Promise<{ id: string | null; outcome: GateOutcome }> {
  const { files, program, clock, boot, verified } = context;
  const first = await linkedId(files, program);
  const count = context.starts.id === first ? context.starts.count + 1 : 0;
  context.starts = { id: first, count };
  if (first !== undefined && isId(first) && isDoubtfulStart(count)) {
    verified.delete(first);
    const open = await openTrial(context);
    if (!(await isSound(context, first, true)) && open?.to === first)
      await quarantineFailed(context, open, damage, true);
  }
  const passGate = () => gate(files, program, { nowSeconds: wallSeconds(clock), boot, isDoubtful: false });
  const outcome = await passGate();
  if (outcome === 'reverted' && first !== undefined) verified.delete(first); // the gate may have found it damaged
  const id = await linkedVersion(context);
  if (id !== null) return { id, outcome };
  await passGate(); // the damaged version is removed: the gate links another one
  return { id: await linkedVersion(context), outcome };
}

/** The version in use stopped on request before it passed the health check. This start does not count against it. */
export async function interruptTrial(of: Pick<StoredVersions, 'files' | 'program'>): Promise<void> {
  const open = await openTrial(of);
  if (open && open.starts > 0) await writeTrial(of.files, of.program, { ...open, boot: interrupted });
}

/** The version in use passed the health check. */
export async function confirmTrial(context: TrialContext): Promise<void> {
  const { files, program, unit } = context;
  const open = await openTrial(context);
  if (!open) return;
  await writePrevious(files, program, open.from);
  // The installer is another process: a trial that it began meanwhile stays.
  if ((await readTrial(files, program))?.to === open.to) {
    await unit?.keep();
    await endTrial(files, program);
  }
  await forgetDamage(files, program);
}

/** The version in use failed. Restores the previous version; without a trial, does nothing. */
export async function revertTrial(context: TrialContext, failure: TrialFailure): Promise<void> {
  const { files, program, unit } = context;
  const open = await openTrial(context);
  if (!open) return;
  // Record first, then switch: after an interruption in between, both are repeated.
  const found = await compareWithHash(context, open.to).catch(() => ({ is: 'damaged' }));
  await quarantineFailed(context, open, failure, found.is === 'damaged');
  await goBack(files, program, open.from);
  await unit?.takeBack();
  await endTrial(files, program);
}
