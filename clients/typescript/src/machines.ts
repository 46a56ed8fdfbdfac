import type { Machine } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { PlatformClient } from './client.ts';
import { allPages } from './pages.ts';

const pageSize = 1000;

/**
 * Lists every machine of an organization with its status, sorted by name unless `of` names another order, over all pages.
 *
 * @param filters - comparisons that all have to hold: "architecture=aarch64", "disk_free<2GB", "reboot_needed".
 * @param of - `query`: words and comparisons that all have to hold: "barn state:offline server<1.2"; `sort`: name, state,
 *   location, agent, server, revision or seen, with a leading "-" in descending order.
 */
export async function allMachines(
  { fleetClient }: Pick<PlatformClient, 'fleetClient'>,
  organizationId: string,
  filters: readonly string[] = [],
  of: { query?: string; sort?: string } = {},
): Promise<Machine[]> {
  return allPages(async (pageToken) => {
    const request = { organizationId, pageSize, pageToken, filters: [...filters], ...of };
    const { machines, nextPageToken } = await fleetClient.listMachines(request);
    return { rows: machines, nextPageToken };
  });
}

/**
 * Finds the machine with this ID or part ID; if there is none, the machines of the organization with this name, of which
 * each location can have one.
 */
export async function machinesNamed(
  { fleetClient }: Pick<PlatformClient, 'fleetClient'>,
  organizationId: string,
  named: string,
): Promise<Machine[]> {
  const found = await allPages(async (pageToken) => {
    const { machines, nextPageToken } = await fleetClient.listMachines({ organizationId, pageSize, pageToken, named });
    return { rows: machines, nextPageToken };
  });
  // Servers up to 0.1 do not know `named` and send all machines.
  const byId = found.filter(({ id, partId }) => [id, partId].includes(named.toLowerCase()));
  const form = named.normalize('NFC');
  return byId.length > 0 ? byId : found.filter(({ name }) => name.normalize('NFC') === form);
}
