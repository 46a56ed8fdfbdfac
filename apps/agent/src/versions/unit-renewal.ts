import { conditionOf, type ConditionData } from '@platform/contract/conditions/conditions';
import { createHash } from 'node:crypto';
import { errorText, type Log } from '@platform/kit';
import { readFile, replaceFile } from '../os/file-disk.ts';
import type { FileSystem } from '../os/ports.ts';
import { clearCondition, setCondition, type ConditionSet } from '../health/condition-set.ts';

// The agent's systemd unit follows its version. The agent writes the new unit before it switches the version. On a
// rollback, the agent or the gate restores the old unit. After each step, systemd can start the unit on disk.

/** The unit of the running agent, and systemd. */
export interface UnitPlace {
  /** File system of the unit's folder. */
  files: FileSystem;
  /** Path within `files`. */
  path: string;
  /** Path for the gate: absolute, or below the root. */
  gatePath: string;
  /** Unit text of this version. */
  own: string;
  /** Unit text of another stored version; undefined: that version does not provide it. */
  textOf(id: string): Promise<string | undefined>;
  /** Why systemd would not start the agent with this unit; undefined: it would. */
  refusal(text: string): Promise<string | undefined>;
  /** Makes systemd reload its units if they differ from the loaded ones. */
  reload(): Promise<void>;
}

export interface UnitRenewal {
  /** Writes the unit of version `id` and saves the current one. Call before the switch. Never fails. */
  lay(id: string): Promise<void>;
  /** Call after the switch. Never fails. */
  reload(): Promise<void>;
  /** Keeps the new unit: the version on trial passed the health check. */
  keep(): Promise<void>;
  /** Restores the unit of the previous version after a rollback. */
  takeBack(): Promise<void>;
  /** Updates the unit to this version while nothing is on trial. Returns false on failure; a retry may succeed. */
  renew(): Promise<boolean>;
}

/** Unit text from before the trial; the gate reads it, too. */
export const unitBefore = 'state/unit.before';
/** Path of the unit, for the gate. */
export const unitPlaceFile = 'state/unit.place';
/** Copy of a unit from an agent that recorded no hashes: a user may have edited it. */
export const unitKept = 'state/unit.bak';
/** SHA-256 of the units that the agent wrote, newest last. */
const writtenFile = 'state/unit.written';
const keptHashes = 8;

const encoder = new TextEncoder();
export const hashOfUnit = (text: string): string => createHash('sha256').update(text).digest('hex');

async function read(files: FileSystem, path: string): Promise<string | undefined> {
  const bytes = await readFile(files, path);
  return bytes && new TextDecoder().decode(bytes);
}

const write = (files: FileSystem, path: string, text: string): Promise<void> =>
  replaceFile(files, path, encoder.encode(text), { mode: 0o644 });

/** Records a unit text as one that the agent wrote. */
export async function rememberUnit(files: FileSystem, ...texts: readonly string[]): Promise<void> {
  const before = ((await read(files, writtenFile)) ?? '').split('\n').filter((line) => line !== '');
  const all = [...new Set([...before, ...texts.map(hashOfUnit)])].slice(-keptHashes);
  if (all.join() !== before.join()) await write(files, writtenFile, `${all.join('\n')}\n`);
}

/** Restores the saved unit. Returns whether there was one. */
export async function takeUnitBack(files: FileSystem, place: Pick<UnitPlace, 'files' | 'path'>): Promise<boolean> {
  const before = await read(files, unitBefore);
  if (before === undefined) return false;
  const now = await read(place.files, place.path);
  if (before !== '' && now !== undefined && before !== now) await write(place.files, place.path, before);
  await files.unlink(unitBefore);
  await files.syncFolder('state');
  return true;
}

export function unitRenewal(files: FileSystem, place: UnitPlace, conditions: ConditionSet, log: Log): UnitRenewal {
  const context: RenewalContext = { files, place, conditions, log };
  return {
    lay: async (id) => void (await attempt(log, () => layUnit(context, id))),
    reload: () => reloadUnits(context),
    async keep() {
      if ((await files.stat(unitBefore)) === undefined) return;
      await files.unlink(unitBefore);
      await files.syncFolder('state');
    },
    takeBack: () => restoreUnit(context),
    renew: () => attempt(log, () => renewUnit(context)),
  };
}

interface RenewalContext {
  /** File system of the agent's root. */
  files: FileSystem;
  place: UnitPlace;
  conditions: ConditionSet;
  log: Log;
}

/** Runs `work`. Logs a failure and returns false. */
async function attempt(log: Log, work: () => Promise<void>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    log.warn('the unit was not renewed', { error: errorText(error) });
    return false;
  }
}

const currentUnit = ({ files, path }: UnitPlace): Promise<string | undefined> => read(files, path);

/** Whether the agent wrote this unit; undefined: it recorded no hashes. */
const isWritten = async (files: FileSystem, text: string): Promise<boolean | undefined> =>
  (await read(files, writtenFile))?.includes(hashOfUnit(text));

function report<C extends 'UNIT_CHANGED' | 'UNIT_REFUSED'>(
  { conditions, log }: RenewalContext,
  code: C,
  data: ConditionData<C>,
): void {
  setCondition(conditions, code, data);
  log.warn('the unit was not renewed', { problem: conditionOf(code, data).message });
}

/** Whether systemd starts the agent with this unit. Reports it if not. */
async function isAccepted(context: RenewalContext, text: string): Promise<boolean> {
  const problem = await context.place.refusal(text);
  if (problem === undefined) return true;
  report(context, 'UNIT_REFUSED', { problem: problem.slice(0, 300) });
  return false;
}

const reloadUnits = ({ place, log }: RenewalContext): Promise<void> =>
  place.reload().catch((error: unknown) => log.warn('systemd did not read its units again', { error }));

async function layUnit(context: RenewalContext, id: string): Promise<void> {
  const { files, place, log } = context;
  const now = await currentUnit(place);
  if (now === undefined || (now !== place.own && (await isWritten(files, now)) !== true)) return;
  const text = await place.textOf(id);
  if (text === undefined || text === now || !(await isAccepted(context, text))) return;
  await write(files, unitPlaceFile, `${place.gatePath}\n`);
  // If a trial continues with another version, keep the saved unit of the rollback target.
  if ((await read(files, unitBefore)) === undefined) await write(files, unitBefore, now);
  await rememberUnit(files, now, text);
  await write(place.files, place.path, text);
  log.info('the unit is the one of the new version', { id });
}

async function restoreUnit(context: RenewalContext): Promise<void> {
  if (!(await takeUnitBack(context.files, context.place))) return;
  context.log.info('the unit of the version before is back');
  await reloadUnits(context);
}

async function renewUnit(context: RenewalContext): Promise<void> {
  const { files, place, conditions, log } = context;
  await restoreUnit(context);
  const now = await currentUnit(place);
  if (now === undefined) return;
  if (now === place.own) {
    for (const code of ['UNIT_CHANGED', 'UNIT_REFUSED'] as const) clearCondition(conditions, code);
    await rememberUnit(files, now);
    return reloadUnits(context);
  }
  const isOurs = await isWritten(files, now);
  if (isOurs === false) {
    return report(context, 'UNIT_CHANGED', { file: place.gatePath });
  }
  if (!(await isAccepted(context, place.own))) return;
  if (isOurs === undefined) {
    // An agent that recorded no hashes wrote it, or a user did: keep a copy.
    await write(files, unitKept, now);
    log.warn('the unit was renewed; the one before is kept', { kept: unitKept });
  } else log.info('the unit was renewed');
  await rememberUnit(files, now, place.own);
  await write(place.files, place.path, place.own);
  await reloadUnits(context);
}
