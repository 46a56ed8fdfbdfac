import { fromJson, type JsonValue, toJson } from '@bufbuild/protobuf';
import { checkConfig } from '@platform/contract/config/config';
import { type BulkChange, BulkChangeSchema, type BulkTarget } from '@platform/contract/gen/platform/bulk/v1/bulk_pb';
import { PlatformError } from '@platform/contract/errors/errors';
import { requireQuery } from '@platform/contract/machine/filter';
import { isUuid } from '@platform/contract/text/names';
import { type ProgramName, versionOf, withVersion } from '@platform/contract/config/version-pin';
import { locationFor, organizationFor } from '../access/places.ts';
import {
  type Caller,
  mayOperate,
  ownsMachine,
  reachOf,
  requireMachineOwner,
  requireOwner,
} from '../access/rules/permissions.ts';
import { readConfigOf, saveConfig } from '../configs/config-saving.ts';
import { findConfig } from '../configs/store/configs.ts';
import type { JsonObject } from '../database/schema.ts';
import { operatedMachine, operatedMainPart } from '../machines/part-access.ts';
import { bulkRows, namesOfLocation } from '../machines/store/bulk-operations.ts';
import type { PartRow } from '../machines/store/machines.ts';
import { type BulkCandidate, type BulkKind, bulkOutcomes } from './rules/bulk-outcomes.ts';
import type { FleetDeps } from './fleet-deps.ts';
import { changeMachine, removeMachine, restartPart } from './machine-changes.ts';
import { contactsOf } from './machine-list.ts';
import { requireTagChange, tagMachine } from './machine-tags.ts';

const mostTargets = 10_000;

const invalid = (field: string, value: string, limit: string): PlatformError =>
  new PlatformError('INVALID_ARGUMENT', { field, value, limit });

/** What a message asks for in an organization. @throws PlatformError INVALID_ARGUMENT, LOCATION_NOT_FOUND */
export async function requireBulkKind(
  deps: FleetDeps,
  caller: Caller,
  { change, orgId }: { change: BulkChange | undefined; orgId: string },
): Promise<BulkKind> {
  const asked = change?.change;
  switch (asked?.case) {
    case 'restart':
    case 'delete':
      return { is: asked.case };
    case 'tags':
      return { is: 'tags', ...requireTagChange(asked.value) };
    case 'pin':
      return requirePin(asked.value);
    case 'move': {
      const { locationId } = asked.value;
      const { id, orgId: owner } = await locationFor(deps.db, caller, locationId, requireOwner);
      // Who owns two organizations moves no machine from one to the other.
      if (owner !== orgId.toLowerCase()) throw new PlatformError('LOCATION_NOT_FOUND', { locationId });
      return { is: 'move', locationId: id, namesThere: await namesOfLocation(deps.db, id) };
    }
    default:
      throw invalid('change', 'none', 'restart, tags, pin, move or delete');
  }
}

function requirePin({ program, version }: { program: string; version: string }): BulkKind {
  if (program !== 'agent' && program !== 'server')
    throw invalid('program', JSON.stringify(program.slice(0, 40)), 'agent or server');
  if (version === '') return { is: 'pin', program, version: undefined };
  const [problem] = checkConfig(JSON.parse(withVersion('{}', program, version))).filter(
    ({ severity }) => severity === 'error',
  );
  if (problem) throw invalid('version', JSON.stringify(version.slice(0, 40)), problem.remedy.replace(/\.$/, ''));
  return { is: 'pin', program, version };
}

/** The machines of a target with what happens to them. */
export async function evaluateTarget(
  deps: FleetDeps,
  caller: Caller,
  { target, kind }: { target: BulkTarget | undefined; kind: BulkKind },
) {
  const { organizationId = '', query = '', machineIds = [] } = target ?? {};
  const { id: orgId } = await organizationFor(deps.db, caller, organizationId);
  const ids = requireIds(machineIds, query);
  const terms = requireQuery(query);
  const contacts = contactsOf(deps, true);
  const filter = { reach: reachOf(caller), orgId, ...(ids ? { ids } : { query: { terms, contacts } }) };
  const rows = await bulkRows(deps.db, filter, contacts, mostTargets + 1);
  if (rows.length > mostTargets) throw invalid('target', `more than ${mostTargets} machines`, `at most ${mostTargets}`);
  const candidates = [...rows.map((row) => candidateOf(caller, row)), ...absentOf(ids ?? [], rows)];
  return { orgId, query, candidates, outcomes: bulkOutcomes(kind, candidates) };
}

function candidateOf(caller: Caller, row: Awaited<ReturnType<typeof bulkRows>>[number]): BulkCandidate {
  const place = { orgId: row.orgId, machineId: row.id, locationId: row.locationId };
  return { ...row, mayOperate: mayOperate(caller, place), owns: ownsMachine(caller, place) };
}

/** Chosen machines that the caller does not see, which are accounted for, too. */
const absentOf = (ids: readonly string[], rows: readonly { id: string }[]): BulkCandidate[] => {
  const found = new Set(rows.map(({ id }) => id));
  return ids
    .filter((id) => !found.has(id))
    .map((id) => ({
      id,
      name: id,
      locationId: '',
      tags: [],
      versions: undefined,
      state: 'awaiting',
      mayOperate: false,
      owns: false,
    }));
};

function requireIds(ids: readonly string[], query: string): string[] | undefined {
  if (ids.length === 0) return undefined;
  if (query !== '') throw invalid('query', JSON.stringify(query.slice(0, 40)), 'empty beside machine_ids');
  if (ids.length > mostTargets) throw invalid('machine_ids', `${ids.length} IDs`, `at most ${mostTargets}`);
  const wrong = ids.find((id): boolean => !isUuid(id));
  if (wrong !== undefined) throw invalid('machine_ids', JSON.stringify(wrong.slice(0, 40)), 'IDs of machines');
  return [...new Set(ids.map((id) => id.toLowerCase()))];
}

/** Changes one machine with the rights that the caller has now. @throws PlatformError as the call for one machine */
export async function applyBulkChange(deps: FleetDeps, caller: Caller, id: string, kind: BulkKind): Promise<void> {
  const { db } = deps;
  switch (kind.is) {
    case 'restart':
      return restartPart(deps, caller, await operatedMainPart(db, caller, id));
    case 'tags':
      return void (await tagMachine(deps, caller, await operatedMainPart(db, caller, id), kind));
    case 'pin':
      return pinVersion(deps, caller, id, kind);
    case 'move': {
      const machine = await operatedMachine(db, caller, id, requireMachineOwner);
      return changeMachine(deps, caller, machine, { name: machine.name, locationId: kind.locationId });
    }
    case 'delete':
      return removeMachine(deps, caller, await operatedMachine(db, caller, id, requireMachineOwner));
  }
}

const pinAttempts = 3;

/** On top of a change that another user saves at the same time. */
async function pinVersion(
  deps: FleetDeps,
  caller: Caller,
  id: string,
  { program, version }: { program: ProgramName; version: string | undefined },
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const part = await operatedMainPart(deps.db, caller, id);
    const saved = await findConfig(deps.db, part.id);
    const before = saved?.text ?? '{}';
    const isMerged = version === undefined && (saved?.fragments?.length ?? 0) > 0;
    const text = isMerged
      ? await withoutPin(deps, caller, { part, before, program })
      : withVersion(before, program, version);
    try {
      return void (await saveConfig(deps, caller, part, { text }, { revision: saved?.revision ?? 0 }));
    } catch (error) {
      if (attempt === pinAttempts || !(error instanceof PlatformError) || error.code !== 'CONFIG_CONFLICT') throw error;
    }
  }
}

/** Without a pin of its own, a machine has that of its fragments, so it gets the default in writing. */
async function withoutPin(
  deps: FleetDeps,
  caller: Caller,
  { part, before, program }: { part: PartRow; before: string; program: ProgramName },
): Promise<string> {
  const text = withVersion(before, program, undefined);
  const { config } = await readConfigOf(deps, caller, part, { text });
  return versionOf(config, program) === 'stable' ? text : withVersion(before, program, 'stable');
}

export const storedChange = (change: BulkChange | undefined): string =>
  change ? JSON.stringify(toJson(BulkChangeSchema, change)) : '{}';
export const readChange = (stored: JsonObject): BulkChange => fromJson(BulkChangeSchema, stored as JsonValue);
