import { PlatformError } from '@platform/contract/errors/errors';
import {
  type Caller,
  ownsMachine,
  requireMachineOwner,
  requireOperator,
  requirePart,
} from '../access/rules/permissions.ts';
import type { Database } from '../database/database.ts';
import { findMachine, findMainPart, findPart, type MachineRow, type PartRow } from './store/machines.ts';

const noPart = (partId: string) => () => new PlatformError('PART_NOT_FOUND', { partId });
const noMachine = (machineId: string) => () => new PlatformError('MACHINE_NOT_FOUND', { machineId });

/**
 * The part, for users and keys that may operate its machine. @throws PlatformError PART_NOT_FOUND, PERMISSION_DENIED
 */
export async function operatedPart(
  db: Database,
  caller: Caller,
  id: string,
  require = requireOperator,
): Promise<PartRow> {
  const part = await findPart(db, id);
  if (!part) throw noPart(id)();
  require(caller, part, noPart(id));
  return part;
}

export const ownedPart = (db: Database, caller: Caller, id: string): Promise<PartRow> =>
  operatedPart(db, caller, id, requireMachineOwner);

/** The part, for its own machine or a caller that may operate it. */
export async function ownPart(db: Database, caller: Caller, id: string): Promise<PartRow> {
  const part = await findPart(db, id);
  if (!part) throw noPart(id)();
  requirePart(caller, part.id, part, noPart(id));
  return part;
}

/** Like `ownPart`, without a database query for the machine itself, which its token identifies. */
export async function ownPartId(db: Database, caller: Caller, id: string): Promise<string> {
  return (await askingPart(db, caller, id)).partId;
}

/** Like `ownPartId`, and whether the caller may have the secrets of the configuration. */
export async function askingPart(db: Database, caller: Caller, id: string): Promise<AskingPart> {
  if (caller.kind === 'part' && caller.id === id) return { partId: id, readsSecrets: true };
  const part = await ownPart(db, caller, id);
  return { partId: part.id, readsSecrets: caller.kind === 'api_key' && ownsMachine(caller, part) };
}

/**
 * The part that asks for its configuration. Agents sign in with the part's own secret or, as public ones may, with an
 * API key: with that of an owner, the machine needs its passwords as well.
 */
type AskingPart = { partId: string; readsSecrets: boolean };

export async function operatedMachine(
  db: Database,
  caller: Caller,
  id: string,
  require = requireOperator,
): Promise<MachineRow> {
  const machine = await findMachine(db, id);
  if (!machine) throw noMachine(id)();
  require(caller, { ...machine, machineId: machine.id }, noMachine(id));
  return machine;
}

/** The main part, by the ID of the machine or of one of its parts. */
export async function operatedMainPart(db: Database, caller: Caller, id: string): Promise<PartRow> {
  const part = await findMainPart(db, id);
  if (!part) throw noMachine(id)();
  requireOperator(caller, part, noMachine(id));
  return part;
}
