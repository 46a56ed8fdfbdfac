import type { DescMethod, DescService } from '@bufbuild/protobuf';
import { AgentDeviceService } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { DataService } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { DatasetService } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import { DataSyncService } from '@platform/contract/gen/platform/app/datasync/v1/data_sync_pb';
import { PackageService } from '@platform/contract/gen/platform/app/packages/v1/packages_pb';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { RobotService } from '@platform/contract/gen/platform/app/v1/robot_pb';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { ReleaseService } from '@platform/contract/gen/platform/release/v1/release_pb';
import { RunnerService } from '@platform/contract/gen/platform/runner/v1/runner_pb';
import { AuthService } from '@platform/contract/gen/proto/rpc/v1/auth_pb';

/**
 * Limits of one message. `bytes` counts the decompressed size. `values` counts fields, list entries and JSON values.
 * Parsing one takes 0.2 to 2 µs and some 100 bytes of memory, however small it is on the wire. Decision 0021.
 */
export type MessageLimit = { bytes: number; values: number };

const kib = 2 ** 10;
const mib = 2 ** 20;

/** The largest limit of all methods. Clients of DataSyncService expect at least 32 MiB. */
export const largestMessage = 64 * mib;
/** Limit before the caller is authenticated. Such messages are never decompressed. */
const unproven: MessageLimit = { bytes: 16 * kib, values: 1_000 };
const usual: MessageLimit = { bytes: mib, values: 20_000 };
/** For lists of IDs and configurations. */
const long: MessageLimit = { bytes: 4 * mib, values: 50_000 };
/** For a call that names 100,000 images. */
const manyIds: MessageLimit = { bytes: 16 * mib, values: 200_000 };
/** For long texts: evaluations, documents, log lines. */
const text: MessageLimit = { bytes: 16 * mib, values: 50_000 };
/** For chunks of files. */
const upload: MessageLimit = { bytes: largestMessage, values: 1_000 };
/** For one file, or for sensor readings. */
const capture: MessageLimit = { bytes: largestMessage, values: 200_000 };

const ofMethods = <S extends DescService>(
  service: S,
  limits: Partial<Record<keyof S['method'], MessageLimit>>,
): [string, MessageLimit][] =>
  Object.entries(limits).flatMap(([name, limit]) => {
    const method = service.method[name];
    return method && limit ? [[keyOf(method), limit] as [string, MessageLimit]] : [];
  });
const keyOf = ({ parent, name }: DescMethod): string => `${parent.typeName}/${name}`;

const services: ReadonlyMap<string, MessageLimit> = new Map([
  [AuthService.typeName, unproven],
  [AgentDeviceService.typeName, usual],
  [DataService.typeName, long],
  [DatasetService.typeName, long],
]);
const methods: ReadonlyMap<string, MessageLimit> = new Map([
  ...ofMethods(DataService, {
    addBinaryDataToDatasetByIDs: manyIds,
    removeBinaryDataFromDatasetByIDs: manyIds,
    addTagsToBinaryDataByIDs: manyIds,
    removeTagsFromBinaryDataByIDs: manyIds,
    deleteBinaryDataByIDs: manyIds,
  }),
  ...ofMethods(RobotService, { log: text }),
  ...ofMethods(DataSyncService, { dataCaptureUpload: capture, fileUpload: upload, streamingDataCaptureUpload: upload }),
  ...ofMethods(PackageService, { createPackage: { ...upload, values: 20_000 } }),
  ...ofMethods(AppService, { updateRobotPart: long, createFragment: long, updateFragment: long, newRobotPart: long }),
  ...ofMethods(FleetService, { saveConfig: long, checkConfig: long, previewFragment: long }),
  ...ofMethods(ReleaseService, { submitMetadata: text }),
  ...ofMethods(RunnerService, { reportJob: text, completeJob: text, failJob: text }),
]);

export const messageLimitOf = (method: DescMethod): MessageLimit =>
  methods.get(keyOf(method)) ?? services.get(method.parent.typeName) ?? usual;
