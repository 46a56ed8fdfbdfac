import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { DataService } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { DatasetService } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import { PackageService } from '@platform/contract/gen/platform/app/packages/v1/packages_pb';
import { RunnerService } from '@platform/contract/gen/platform/runner/v1/runner_pb';
import type { Caller } from './permissions.ts';

/** Names `<service>/<method>` of a service. */
const callsOf = <S extends { typeName: string; method: Record<string, { name: string }> }>(
  service: S,
  ...methods: (keyof S['method'])[]
): string[] => methods.map((method) => `${service.typeName}/${service.method[method as string]?.name}`);

/** All that a run of a job may call. */
export const attemptCalls: ReadonlySet<string> = new Set(
  callsOf(RunnerService, 'reportJob', 'completeJob', 'failJob', 'confirmStop'),
);
/** All that an attempt may call once it is over: an answer that got lost is asked for again. */
const lastCalls: ReadonlySet<string> = new Set(callsOf(RunnerService, 'completeJob', 'failJob', 'confirmStop'));

/** All that the script of a custom job may call: it reads its dataset and packages. Readings belong to no dataset. */
export const scriptCalls: ReadonlySet<string> = new Set([
  ...callsOf(DataService, 'binaryDataByFilter', 'binaryDataByIDs', 'tagsByFilter', 'boundingBoxLabelsByFilter'),
  ...callsOf(DatasetService, 'listDatasetsByOrganizationID', 'listDatasetsByIDs'),
  ...callsOf(PackageService, 'getPackage', 'listPackages'),
  ...callsOf(AppService, 'getRegistryItem', 'listRegistryItems', 'listOrganizations', 'getOrganization'),
]);

/** Whether this caller may call this at all; what it sees then is up to its rights. @param call - `<service>/<method>`. */
export function mayCall(caller: Caller, call: string): boolean {
  if (caller.kind === 'attempt') return (caller.isOver ? lastCalls : attemptCalls).has(call);
  return caller.kind !== 'script' || scriptCalls.has(call);
}
