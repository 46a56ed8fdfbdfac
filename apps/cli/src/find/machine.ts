import { machinesNamed } from '@platform/client';
import { PlatformError } from '@platform/contract/errors/errors';
import type { Machine } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { Connection } from '../connection.ts';

/** Finds a machine by its ID or part ID, else by its name in the organization. The server does the search. */
export async function findMachine(connection: Connection, name: string): Promise<Machine> {
  const machines = await machinesNamed(connection.client, await connection.organizationId(), name);
  const [machine, ...more] = machines;
  if (!machine) throw new PlatformError('MACHINE_NOT_FOUND', { machineId: name });
  if (more.length > 0)
    throw new PlatformError('INVALID_ARGUMENT', {
      field: 'machine',
      value: name,
      limit: `one machine; these share the name, so give the ID: ${machines.map(({ id, locationName }) => `${id} (${locationName})`).join(', ')}`,
    });
  return machine;
}
