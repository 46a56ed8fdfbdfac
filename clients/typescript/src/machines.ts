import type { Machine } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { PlatformClient } from './client.ts';
import { allPages } from './pages.ts';

const pageSize = 1000;

/**
 * Lists every machine of an organization with its status, sorted by name, over all pages.
 *
 * @param filters - comparisons that all have to hold: "architecture=aarch64", "disk_free<2GB", "reboot_needed".
 */
export async function allMachines(
  { fleetClient }: Pick<PlatformClient, 'fleetClient'>,
  organizationId: string,
  filters: readonly string[] = [],
): Promise<Machine[]> {
  return allPages(async (pageToken) => {
    const request = { organizationId, pageSize, pageToken, filters: [...filters] };
    const { machines, nextPageToken } = await fleetClient.listMachines(request);
    return { rows: machines, nextPageToken };
  });
}
