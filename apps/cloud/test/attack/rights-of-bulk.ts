import { BulkService } from '@platform/contract/gen/platform/bulk/v1/bulk_pb';
import { machineOperators, machines, members, narrow, others, right, type Right } from './rights.ts';
import type { World } from './world.ts';

const bulk = (method: string): string => `platform.bulk.v1.BulkService/${method}`;
/** Callers of the organization that see nothing of the machine. */
const unrelated = [...others, ...machines, 'runner'] as const;
const insidersElse = [...narrow, ...machines, 'runner'] as const;

const asked = ({ orgId, machine }: World) => ({
  target: { organizationId: orgId, machineIds: [machine.machineId] },
  change: { tags: { add: ['bulk'] } },
});

/** An operation that the owner of the organization started on a machine of its own. */
async function started({ on, orgId, freshMachine }: World): Promise<{ id: string }> {
  const { machineId } = await freshMachine();
  const { operation } = await (
    await on.client(BulkService)
  ).startBulkOperation({
    target: { organizationId: orgId, machineIds: [machineId] },
    change: { change: { case: 'tags', value: { add: ['bulk'] } } },
  });
  return { id: operation?.id ?? '' };
}

export const rightsOfBulk: readonly Right[] = [
  right(bulk('PreviewBulkOperation'), { ok: [...machineOperators, ...unrelated] }, asked),
  right(bulk('StartBulkOperation'), { ok: machineOperators, invalid: unrelated }, asked),
  right(bulk('ListBulkOperations'), { ok: [...machineOperators, ...unrelated] }, ({ orgId }) => ({
    organizationId: orgId,
  })),
  ...['RunBulkOperation', 'StopBulkOperation', 'GetBulkOperation', 'ListBulkMachines'].map((method) =>
    right(bulk(method), { ok: members, 'not found': insidersElse }, started),
  ),
];
