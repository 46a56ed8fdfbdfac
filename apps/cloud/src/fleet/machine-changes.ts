import type { Caller } from '../access/rules/permissions.ts';
import type { Secrets } from '../access/secrets.ts';
import { actorOf, changed } from '../access/store/audit.ts';
import { audited } from '../access/store/audited.ts';
import type { Changes } from '../database/changes.ts';
import type { Database } from '../database/database.ts';
import {
  deleteMachine,
  insertMachine,
  listParts,
  updateMachine,
  type MachineRow,
  type PartRow,
  requestRestart,
} from '../machines/store/machines.ts';
import { insertOrder } from '../machines/store/part-orders.ts';
import { requiredName } from '../rpc/fields.ts';

/** FleetService and AppService share these changes. */
type ChangeDeps = { db: Database; changes: Changes };

export const createMachine = (
  deps: ChangeDeps & { secrets: Secrets },
  caller: Caller,
  { name, orgId, id: locationId }: { name: string; orgId: string; id: string },
): Promise<{ machineId: string; partId: string }> =>
  audited(deps, caller, async (trx, record) => {
    const machine = { orgId, locationId, name: requiredName('name', name) };
    const ids = await insertMachine(trx, machine, deps.secrets.sealingKey);
    await record({ orgId, action: 'create machine', subject: ids.machineId });
    return ids;
  });

/** Renames or moves a machine. */
export const changeMachine = (
  deps: ChangeDeps,
  caller: Caller,
  machine: MachineRow,
  next: { name: string; locationId: string },
): Promise<void> =>
  audited(deps, caller, async (trx, record) => {
    const parts = await listParts(trx, machine.id);
    await updateMachine(trx, machine.id, next);
    const details = changed(
      { name: machine.name, location: machine.locationId },
      { name: next.name, location: next.locationId },
    );
    const changedParts = parts.map((part) => ['part', part.id] as const);
    if (details)
      await record({ orgId: machine.orgId, action: 'update machine', subject: machine.id, details }, ...changedParts);
  });

export const removeMachine = (deps: ChangeDeps, caller: Caller, { orgId, id, name }: MachineRow): Promise<void> =>
  audited(deps, caller, async (trx, record) => {
    const partIds = await deleteMachine(trx, id);
    await record(
      { orgId, action: 'delete machine', subject: id, details: { name } },
      ...partIds.map((partId) => ['part', partId] as const),
    );
  });

export const restartPart = (deps: ChangeDeps, caller: Caller, { orgId, id }: PartRow): Promise<void> =>
  audited(deps, caller, async (trx, record) => {
    await requestRestart(trx, id);
    await insertOrder(trx, { partId: id, orgId, kind: 'restart server', requestedBy: actorOf(caller) });
    await record({ orgId, action: 'request restart', subject: id }, ['restart', id]);
  });
