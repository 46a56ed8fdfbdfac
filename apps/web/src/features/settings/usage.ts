import type { GetUsageResponse } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { bytes, formatGrouped } from '../../ui/quantities.ts';

/** Names and values, in the order of the page. */
export function usagePairs(usage: GetUsageResponse): [name: string, value: string][] {
  const limit = usage.limitBytes === 0n ? ', no limit' : ` of ${bytes(usage.limitBytes)}`;
  return [
    ['Files', `${bytes(usage.usedBytes)}${limit}`],
    ['Deleted, still on the disk', bytes(usage.waitingBytes)],
    ['Uploads in progress', bytes(usage.arrivingBytes)],
    ['Images', formatGrouped(usage.images)],
    ['Readings', formatGrouped(usage.readings)],
    ['Datasets', formatGrouped(usage.datasets)],
    ['Machines', formatGrouped(usage.machines)],
    ['Training jobs', formatGrouped(usage.jobs)],
    ['Versions of models and scripts', formatGrouped(usage.packageVersions)],
    ['Log lines of machines', bytes(usage.logBytes)],
  ];
}
