import { allMachines } from '@platform/client';
import { PlatformError } from '@platform/contract/errors';
import type { Machine } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { Connection } from '../connection.ts';

/** Finds a machine by its ID, its part ID or its name in the organization. */
export async function findMachine(connection: Connection, name: string): Promise<Machine> {
  const machines = await allMachines(connection.client, await connection.organizationId());
  const found = machines.filter((one) => one.id === name || one.partId === name || one.name === name);
  const [machine, ...more] = found;
  if (!machine) throw new PlatformError('MACHINE_NOT_FOUND', { machineId: name });
  if (more.length > 0)
    throw new PlatformError('INVALID_ARGUMENT', {
      field: 'machine',
      value: name,
      limit: `one machine; these share the name: ${found.map((one) => one.id).join(', ')}`,
    });
  return machine;
}
