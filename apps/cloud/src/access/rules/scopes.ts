import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { DataService } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { DatasetService } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import { PackageService } from '@platform/contract/gen/platform/app/packages/v1/packages_pb';
import { RunnerService } from '@platform/contract/gen/platform/runner/v1/runner_pb';
import type { Caller } from './permissions.ts';

/** Names of calls: `<service>/<method>`. */
const callsOf = <S extends { typeName: string; method: Record<string, { name: string }> }>(
  service: S,
  ...methods: (keyof S['method'])[]
): string[] => methods.map((method) => `${service.typeName}/${service.method[method as string]?.name}`);

/** All calls that an attempt of a job may make. */
export const attemptCalls: ReadonlySet<string> = new Set(
  callsOf(RunnerService, 'reportJob', 'completeJob', 'failJob', 'confirmStop'),
);
/** All calls that an ended attempt may make: it retries them if a response was lost. */
const lastCalls: ReadonlySet<string> = new Set(callsOf(RunnerService, 'completeJob', 'failJob', 'confirmStop'));

/**
 * All calls that the script of a custom job may make: it reads its dataset and packages. Sensor readings belong to no
 * dataset.
 */
export const scriptCalls: ReadonlySet<string> = new Set([
  ...callsOf(DataService, 'binaryDataByFilter', 'binaryDataByIDs', 'tagsByFilter', 'boundingBoxLabelsByFilter'),
  ...callsOf(DatasetService, 'listDatasetsByOrganizationID', 'listDatasetsByIDs'),
  ...callsOf(PackageService, 'getPackage', 'listPackages'),
  ...callsOf(AppService, 'getRegistryItem', 'listRegistryItems', 'listOrganizations', 'getOrganization'),
]);

/** Whether the caller may make this call; its rights limit the result. @param call - `<service>/<method>`. */
export function mayCall(caller: Caller, call: string): boolean {
  if (caller.kind === 'attempt') return (caller.isOver ? lastCalls : attemptCalls).has(call);
  if (caller.kind === 'api_key' && caller.grants.length > 0 && caller.grants.every(({ role }) => role === 'metrics'))
    return false;
  return caller.kind !== 'script' || scriptCalls.has(call);
}
