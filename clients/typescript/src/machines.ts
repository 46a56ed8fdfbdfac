import type { Machine } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { PlatformClient } from './client.ts';
import { allPages } from './pages.ts';

const pageSize = 1000;

/** Lists every machine of an organization with its status, sorted by name, over all pages. */
export async function allMachines(
  { fleetClient }: Pick<PlatformClient, 'fleetClient'>,
  organizationId: string,
): Promise<Machine[]> {
  return allPages(async (pageToken) => {
    const { machines, nextPageToken } = await fleetClient.listMachines({ organizationId, pageSize, pageToken });
    return { rows: machines, nextPageToken };
  });
}
