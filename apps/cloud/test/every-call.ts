import {
  type DescField,
  type DescMessage,
  type DescMethod,
  type DescService,
  fromJson,
  type JsonObject,
  type JsonValue,
  ScalarType,
  toJsonString,
} from '@bufbuild/protobuf';
import { createClient, type Transport } from '@connectrpc/connect';
import { AgentDeviceService } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { DataService } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { DatasetService } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import { DataSyncService } from '@platform/contract/gen/platform/app/datasync/v1/data_sync_pb';
import { MLTrainingService } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { PackageService } from '@platform/contract/gen/platform/app/packages/v1/packages_pb';
import { AuditService } from '@platform/contract/gen/platform/audit/v1/audit_pb';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { RobotService } from '@platform/contract/gen/platform/app/v1/robot_pb';
import { BulkService } from '@platform/contract/gen/platform/bulk/v1/bulk_pb';
import { ConditionService } from '@platform/contract/gen/platform/conditions/v1/conditions_pb';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { InstallationService } from '@platform/contract/gen/platform/installation/v1/installation_pb';
import { LiveService } from '@platform/contract/gen/platform/live/v1/live_pb';
import { LogService } from '@platform/contract/gen/platform/logs/v1/logs_pb';
import { ReleaseService } from '@platform/contract/gen/platform/release/v1/release_pb';
import { RunnerService } from '@platform/contract/gen/platform/runner/v1/runner_pb';
import { SuggestionService } from '@platform/contract/gen/platform/suggestions/v1/suggestions_pb';
import { TimelineService } from '@platform/contract/gen/platform/timeline/v1/timeline_pb';
import { SessionService } from '@platform/contract/gen/platform/session/v1/session_pb';

/** Every service that this server offers to signed-in callers. */
export const services: readonly DescService[] = [
  AgentDeviceService,
  AppService,
  AuditService,
  BulkService,
  ConditionService,
  DataService,
  DatasetService,
  DataSyncService,
  FleetService,
  InstallationService,
  LiveService,
  LogService,
  MLTrainingService,
  PackageService,
  ReleaseService,
  RobotService,
  RunnerService,
  SessionService,
  SuggestionService,
  TimelineService,
];

/** Ids of an organization's objects, and a word that all its data contains. */
export type Victim = {
  orgId: string;
  locationId: string;
  machineId: string;
  partId: string;
  keyId: string;
  datasetId: string;
  dataId: string;
  jobId: string;
  fragmentId: string;
  /** The ID of a change of many machines. */
  operationId: string;
};
export const mark = 'victim';

const wellKnown: Readonly<Record<string, JsonValue>> = {
  'google.protobuf.Timestamp': '2026-01-01T00:00:00Z',
  'google.protobuf.Duration': '0s',
  'google.protobuf.Struct': { a: 1 },
  'google.protobuf.FieldMask': 'sequenceTags',
};

/** Builds a request with the victim's ids in every field that fits. */
export function requestFor(message: DescMessage, victim: Victim, id: string, depth = 0): JsonObject {
  const request: JsonObject = {};
  const taken = new Set<string>();
  for (const field of message.fields) {
    if (field.oneof && taken.has(field.oneof.name)) continue;
    const value = valueFor(field, victim, id, depth);
    if (value === undefined) continue;
    if (field.oneof) taken.add(field.oneof.name);
    request[field.name] = value;
  }
  return request;
}

function valueFor(field: DescField, victim: Victim, id: string, depth: number): JsonValue | undefined {
  if (field.fieldKind === 'map') return undefined;
  const one = (): JsonValue | undefined => {
    if (field.message)
      return (
        wellKnown[field.message.typeName] ?? (depth < 3 ? requestFor(field.message, victim, id, depth + 1) : undefined)
      );
    if (field.enum) return field.enum.values[1]?.number ?? 0;
    if (field.scalar === ScalarType.STRING) return textFor(field.name, victim, id);
    if (field.scalar === ScalarType.BOOL) return false;
    if (field.scalar === ScalarType.BYTES) return Buffer.alloc(32).toString('base64');
    return 1;
  };
  const value = one();
  return field.fieldKind === 'list' ? (value === undefined ? undefined : [value]) : value;
}

function textFor(name: string, victim: Victim, id: string): string {
  const known: [RegExp, string][] = [
    [/^(organization_id|org_id|organization_ids|organization_owner)$/, victim.orgId],
    [/^(location_id|location_ids|location|parent_location_id)$/, victim.locationId],
    [/^(robot_id|machine_id|robot)$/, victim.machineId],
    [/^(part_id|part)$/, victim.partId],
    [/^(dataset_id|dataset_ids)$/, victim.datasetId],
    [/^(binary_data_id|binary_data_ids|binary_ids|file_id)$/, victim.dataId],
    [/^(job_id)$/, victim.jobId],
    [/^(fragment_id|additional_fragment_ids)$/, victim.fragmentId],
    [/^(authorization_id)$/, 'organization_owner'],
    [/^(resource_type)$/, 'organization'],
    [/^(resource_id)$/, victim.orgId],
    [/^(item_id|package_id|registry_item_id)$/, `${victim.orgId}/${mark}-model`],
    [/json/, '{"changed":1}'],
    [/page_token|last/, ''],
  ];
  return known.find(([pattern]) => pattern.test(name))?.[1] ?? (/(^|_)ids?$/.test(name) ? id : 'x');
}

/** Makes the call. @returns its answer as JSON; for a stream, the first message. */
export async function callAs(transport: Transport, method: DescMethod, request: JsonObject): Promise<string> {
  const message = fromJson(method.input, request);
  const signal = AbortSignal.timeout(20_000);
  const client = createClient(method.parent, transport) as Record<string, (input: unknown, options: object) => unknown>;
  const run = client[method.localName];
  if (!run) throw new Error(`no ${method.name}`);
  const input =
    method.methodKind === 'client_streaming'
      ? (async function* () {
          yield message;
        })()
      : message;
  const answer = run.call(client, input, { signal });
  if (method.methodKind !== 'server_streaming') return toJsonString(method.output, (await answer) as never);
  for await (const piece of answer as AsyncIterable<never>) return toJsonString(method.output, piece);
  return '';
}
