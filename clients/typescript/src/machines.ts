import type { Machine } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { PlatformClient } from './client.ts';

const pageSize = 1000;

/** Every machine of an organization with its status, by name, however many pages that takes. */
export async function allMachines(
  { fleetClient }: Pick<PlatformClient, 'fleetClient'>,
  organizationId: string,
): Promise<Machine[]> {
  const machines: Machine[] = [];
  for (let pageToken = ''; ;) {
    const page = await fleetClient.listMachines({ organizationId, pageSize, pageToken });
    machines.push(...page.machines);
    pageToken = page.nextPageToken;
    if (pageToken === '') return machines;
  }
}
