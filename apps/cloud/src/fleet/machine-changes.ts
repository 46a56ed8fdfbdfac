import type { Caller } from '../access/rules/permissions.ts';
import type { Secrets } from '../access/secrets.ts';
import { audited } from '../access/store/audited.ts';
import type { Changes } from '../database/changes.ts';
import type { Database } from '../database/database.ts';
import {
  deleteMachine,
  insertMachine,
  type MachineRow,
  type PartRow,
  requestRestart,
} from '../machines/store/machines.ts';
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
    await record({ orgId, action: 'request restart', subject: id }, ['restart', id]);
  });
