import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import type { ServiceImpl } from '@connectrpc/connect';
import { PlatformError } from '@platform/contract/errors/errors';
import type { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { callerOf } from '../access/caller.ts';
import { requireMachineOwner, requireOwner } from '../access/rules/permissions.ts';
import { actorOf } from '../access/store/audit.ts';
import { audited } from '../access/store/audited.ts';
import { requireNames } from '../configs/config-saving.ts';
import { findConfig, insertConfig } from '../configs/store/configs.ts';
import { lockFragments } from '../configs/store/fragments.ts';
import type { Database } from '../database/database.ts';
import { operatedMachine, operatedMainPart } from '../machines/part-access.ts';
import { lastRun, type OpenSplit, sharedMinutes, sharingRunMessage } from '../machines/rules/shared-identity.ts';
import { sharedIdentities } from '../machines/shared-identities.ts';
import { readOpenSplits, saveSplit } from '../machines/store/machine-splits.ts';
import { insertMachine, type PartRow } from '../machines/store/machines.ts';
import { requiredName } from '../rpc/fields.ts';
import type { FleetDeps } from './fleet-deps.ts';

type NewMachine = { machineId: string; partId: string; name: string };

/** The call that makes one of two computers with the same credentials a machine of its own. */
export const splitHandlers = (deps: FleetDeps) => {
  const { db } = deps;
  return {
    async splitMachine({ id, name, withoutConfig }, context) {
      const caller = callerOf(context);
      const machine = await operatedMachine(db, caller, id, requireMachineOwner);
      requireOwner(caller, machine.orgId);
      const part = await operatedMainPart(db, caller, machine.id);
      const sharing = (await sharedIdentities(deps, [part.id])).get(part.id)?.computers;
      if (!sharing) throw new PlatformError('IDENTITY_NOT_SHARED', { name: machine.name, minutes: sharedMinutes });
      const last = lastRun(sharing);
      const made = await audited(deps, caller, async (trx, record) => {
        // A fragment that is saved now reaches the new machine, too. Locked before the part, as everywhere.
        const used = (await findConfig(trx, part.id))?.fragments ?? [];
        await lockFragments(
          trx,
          used.map(({ id: fragmentId }) => fragmentId),
        );
        // Two calls at once make one machine.
        await sql`select from part where id = ${part.id} for update`.execute(trx);
        const open = (await readOpenSplits(trx, [part.id])).get(part.id);
        const config = withoutConfig ? undefined : await findConfig(trx, part.id);
        const next = open
          ? reused(open)
          : await newMachine(deps, trx, part, { name: name === '' ? undefined : requiredName('name', name) });
        if (!open && config && config.revision > 0) {
          await requireNames(trx, caller, { orgId: part.orgId, config: config.config, configBefore: {} });
          await insertConfig(
            trx,
            {
              orgId: part.orgId,
              partId: next.partId,
              text: config.text,
              config: config.config,
              sha256: config.sha256,
              fragments: config.fragments,
              savedBy: actorOf(caller),
            },
            {},
          );
        }
        await saveSplit(trx, { partId: part.id, runId: last.id, newPartId: next.partId, seed: randomUUID() });
        const details = { machine: next.machineId, name: next.name, host: last.hostname, address: last.address };
        if (!open) await record({ orgId: part.orgId, action: 'create machine', subject: next.machineId });
        await record({ orgId: part.orgId, action: 'split machine', subject: machine.id, details }, ['part', part.id]);
        return next;
      });
      return { ...made, run: sharingRunMessage(last), kept: sharingRunMessage(sharing.runs[0]) };
    },
  } satisfies Partial<ServiceImpl<typeof FleetService>>;
};

const reused = ({ machineId, newPartId, name }: OpenSplit): NewMachine => ({ machineId, partId: newPartId, name });

async function newMachine(
  { secrets }: FleetDeps,
  trx: Database,
  part: PartRow,
  given: { name: string | undefined },
): Promise<NewMachine> {
  const { orgId, locationId } = part;
  const name = given.name ?? requiredName('name', await freeName(trx, part));
  return { ...(await insertMachine(trx, { orgId, locationId, name }, secrets.sealingKey)), name };
}

/** "camera-2", or the next number that no machine of the location has. */
async function freeName(db: Database, { machineName, locationId }: PartRow): Promise<string> {
  const rows = await db.selectFrom('machine').select('name').where('locationId', '=', locationId).execute();
  const taken = new Set(rows.map(({ name }) => name));
  for (let number = 2; ; number++) {
    const name = `${machineName}-${number}`;
    if (!taken.has(name)) return name;
  }
}
