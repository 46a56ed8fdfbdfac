import type { Any, Timestamp } from '@bufbuild/protobuf/wkt';
import type { ConnectRouter } from '@connectrpc/connect';
import { PlatformError } from '@platform/contract/errors/errors';
import type { Annotations } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import {
  type DataCaptureUploadRequest,
  DataSyncService,
  MimeType,
  type SensorMetadata,
  type UploadMetadata,
} from '@platform/contract/gen/platform/app/datasync/v1/data_sync_pb';
import type { Clock } from '@platform/kit';
import { callerOf } from '../access/caller.ts';
import { type Caller, requireMember, requirePart } from '../access/rules/permissions.ts';
import type { BlobStore } from '../blobs/blob-store.ts';
import type { OrganizationUsage } from '../blobs/organization-usage.ts';
import type { Database } from '../database/database.ts';
import type { Images } from '../images/images.ts';
import type { ImageContent } from '../images/rules/image-content.ts';
import { findPart } from '../machines/store/machines.ts';
import { requireDatasets } from '../registry/rules/named-resources.ts';
import { namedByPart } from '../registry/store/named-resources.ts';
import { microsecondsOf } from '../rpc/protobuf-times.ts';
import * as check from '../rpc/rules/field-checks.ts';
import { boxOf, confidenceOf } from './rules/boxes.ts';
import { dotted, extensionOf, mimeOf } from './rules/file-kind.ts';
import { binaryDataId } from './rules/manifest.ts';
import { findDataset } from './store/datasets.ts';
import type { Origin, Upload } from './store/upload-rows.ts';
import { firstLocation, uploadTargets, writeReadings, writeUpload } from './store/uploads.ts';
import { invalidArgument } from '../rpc/rules/invalid-argument.ts';

type UploadDeps = {
  db: Database;
  blobs: BlobStore;
  clock: Clock;
  usage: OrganizationUsage;
  images: Pick<Images, 'measure'>;
};

/** Limit of one streamed file. */
const fileLimitBytes = 4 * 1024 ** 3;

export const dataSyncRoutes =
  (deps: UploadDeps) =>
  (router: ConnectRouter): void => {
    router.service(DataSyncService, {
      dataCaptureUpload: (request, context) => capture(deps, request, callerOf(context)),

      async fileUpload(messages, context) {
        const stream = messages[Symbol.asyncIterator]();
        const first = (await stream.next()).value?.uploadPacket;
        if (first?.case !== 'metadata') throw noMetadata();
        const upload = await uploadOf(deps, first.value, undefined, callerOf(context));
        const bytes = contents(stream, ({ uploadPacket: packet }) =>
          packet.case === 'fileContents' ? packet.value.data : undefined,
        );
        return store(deps, upload, bytes);
      },

      async streamingDataCaptureUpload(messages, context) {
        const stream = messages[Symbol.asyncIterator]();
        const first = (await stream.next()).value?.uploadPacket;
        if (first?.case !== 'metadata' || !first.value.uploadMetadata) throw noMetadata();
        const { uploadMetadata, sensorMetadata } = first.value;
        const upload = await uploadOf(deps, uploadMetadata, sensorMetadata, callerOf(context));
        const bytes = contents(stream, ({ uploadPacket: packet }) =>
          packet.case === 'data' ? packet.value : undefined,
        );
        return store(deps, upload, bytes);
      },
    });
  };

const noMetadata = (): PlatformError => invalidArgument('upload_packet', '', 'the first message carries the metadata');

/** Yields the contents of the messages after the first. Any other packet is an error of the sender. */
async function* contents<M>(
  stream: AsyncIterator<M>,
  bytesOf: (message: M) => Uint8Array | undefined,
): AsyncGenerator<Uint8Array> {
  for (let next = await stream.next(); !next.done; next = await stream.next()) {
    const bytes = bytesOf(next.value);
    if (!bytes) {
      throw invalidArgument('upload_packet', '', 'only contents after the first message');
    }
    yield bytes;
  }
}

type Answer = { fileId: string; binaryDataId: string; existed: boolean };

async function store(
  { db, blobs, usage, images }: UploadDeps,
  upload: Upload,
  bytes: AsyncIterable<Uint8Array>,
  announced = 0,
): Promise<Answer> {
  using admission = await usage.admit([upload.orgId], announced);
  const blob = await blobs.put(admission.counted(bytes), { limitBytes: fileLimitBytes });
  const content = upload.isImagesOnly ? usable(await images.measure(blob), upload) : undefined;
  const { existed, ...key } = await writeUpload(db, { ...upload, ...(content && { content }) }, blob);
  admission.keep();
  return { fileId: key.id, binaryDataId: binaryDataId(key), existed };
}

/** @throws PlatformError IMAGE_NOT_USABLE */
function usable(content: ImageContent, { fileName }: Upload): ImageContent {
  if (content.kind === 'image') return content;
  throw new PlatformError('IMAGE_NOT_USABLE', { name: fileName || 'The file', problem: content.problem });
}

async function capture(deps: UploadDeps, request: DataCaptureUploadRequest, caller: Caller): Promise<Answer> {
  const { metadata, sensorContents } = request;
  if (!metadata)
    throw new PlatformError('INVALID_ARGUMENT', { field: 'metadata', value: '', limit: 'it must not be empty' });
  if (sensorContents.length === 0) {
    throw new PlatformError('INVALID_ARGUMENT', { field: 'sensor_contents', value: '', limit: 'it must not be empty' });
  }
  const origin = await originOf(deps, metadata, caller);
  const nowUs = deps.clock.wall() * 1000;
  const readings = sensorContents.flatMap(({ metadata: sensor, data }) =>
    data.case === 'struct' ? [{ ...origin, payload: data.value, ...times(sensor, undefined, nowUs) }] : [],
  );
  if (readings.length > 0 && origin.partId === null)
    throw new PlatformError('PART_NOT_FOUND', { partId: metadata.partId });
  await writeReadings(deps.db, readings);
  let answer: Answer = { fileId: '', binaryDataId: '', existed: false };
  for (const [index, { metadata: sensor, data }] of sensorContents.entries()) {
    if (data.case !== 'binary') continue;
    const upload = uploadFrom(origin, metadata, sensor, caller, nowUs);
    // Several contents of one call are separate data.
    if (upload.repeats?.is === 'upload' && index > 0) upload.repeats.id += `\0${index}`;
    await requireTargets(deps, upload, caller);
    answer = await store(deps, upload, whole(data.value), data.value.length);
  }
  return answer;
}

async function* whole(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(bytes);
}

async function uploadOf(
  deps: UploadDeps,
  metadata: UploadMetadata,
  sensor: SensorMetadata | undefined,
  caller: Caller,
): Promise<Upload> {
  const origin = await originOf(deps, metadata, caller);
  const upload = uploadFrom(origin, metadata, sensor, caller, deps.clock.wall() * 1000);
  // Fails before a gigabyte arrives for a dataset that does not exist.
  await requireTargets(deps, upload, caller);
  return upload;
}

/** @throws PlatformError DATASET_NOT_FOUND, DATASET_TYPE_MISMATCH, RESOURCE_NOT_NAMED */
async function requireTargets({ db }: UploadDeps, upload: Upload, caller: Caller): Promise<void> {
  const { orgId, datasetIds, partId } = upload;
  await uploadTargets(db, orgId, datasetIds);
  // Without a part, the caller's right on the dataset suffices.
  if (partId !== null) await requireDatasets(caller, { orgId, datasetIds }, () => namedByPart(db, partId));
}

/** The origin of a datum: from its part or, without a part, from its dataset. */
async function originOf({ db }: UploadDeps, metadata: UploadMetadata, caller: Caller): Promise<Origin> {
  const rest = {
    componentType: metadata.componentType,
    componentName: metadata.componentName,
    methodName: metadata.methodName,
    methodParameters: parameters(metadata.methodParameters),
    // A machine cannot correct its tags, and must not lose an image by them.
    tags: metadata.tags.map((tag, index) =>
      caller.kind === 'part' ? check.newName(`tags[${index}]`, tag) : check.newTag(`tags[${index}]`, tag),
    ),
  };
  const { partId } = metadata;
  const [datasetId] = metadata.datasetIds;
  if (partId === '' && datasetId !== undefined) {
    const absent = () => new PlatformError('DATASET_NOT_FOUND', { datasetId });
    const dataset = await findDataset(db, datasetId);
    if (!dataset) throw absent();
    requireMember(caller, dataset.orgId, absent);
    const { orgId } = dataset;
    return {
      ...rest,
      orgId,
      locationId: await firstLocation(db, orgId),
      machineId: null,
      machineName: '',
      partId: null,
      partName: '',
    };
  }
  const absent = () => new PlatformError('PART_NOT_FOUND', { partId });
  const part = await findPart(db, check.filled('part_id', partId));
  if (!part) throw absent();
  const { orgId, locationId, machineId, machineName } = part;
  requirePart(caller, part.id, { orgId, locationId, machineId }, absent);
  return { ...rest, orgId, locationId, machineId, machineName, partId: part.id, partName: part.name };
}

function uploadFrom(
  origin: Origin,
  metadata: UploadMetadata,
  sensor: SensorMetadata | undefined,
  caller: Caller,
  nowUs: number,
): Upload {
  const fileName = metadata.fileName.replaceAll('\0', '');
  const fileExt = dotted(metadata.fileExtension) || extensionOf(fileName);
  return {
    ...origin,
    ...annotations(sensor?.annotations),
    ...times(sensor, metadata.fileCreateTime, nowUs),
    fileName,
    fileExt: fileExt.replaceAll('\0', ''),
    mimeType: (metadata.mimeType || mimeOfEnum(sensor) || mimeOf(fileExt)).replaceAll('\0', ''),
    datasetIds: metadata.datasetIds,
    // A user chose the tags of the folder that a file without a component comes from, so they are labels.
    captureTags: caller.kind === 'part' && origin.componentName !== '' ? origin.tags : [],
    isMerged: caller.kind !== 'part',
    isImagesOnly: metadata.imagesOnly,
    repeats: repeatsOf(metadata, sensor, caller),
  };
}

function repeatsOf(metadata: UploadMetadata, sensor: SensorMetadata | undefined, caller: Caller): Upload['repeats'] {
  if (metadata.uploadId !== '') return { is: 'upload', id: metadata.uploadId };
  const hasTime = (sensor?.timeRequested ?? metadata.fileCreateTime) !== undefined;
  return caller.kind === 'part' && hasTime ? { is: 'capture' } : undefined;
}

const times = (sensor: SensorMetadata | undefined, created: Timestamp | undefined, nowUs: number) => {
  const requested = sensor?.timeRequested ?? created;
  return {
    timeRequestedUs: requested ? microsecondsOf(requested) : nowUs,
    timeReceivedUs: sensor?.timeReceived ? microsecondsOf(sensor.timeReceived) : nowUs,
  };
};

const mimeTypes = new Map<MimeType, string>([
  [MimeType.IMAGE_JPEG, 'image/jpeg'],
  [MimeType.IMAGE_PNG, 'image/png'],
  [MimeType.APPLICATION_PCD, 'pointcloud/pcd'],
  [MimeType.VIDEO_MP4, 'video/mp4'],
]);
const mimeOfEnum = (sensor: SensorMetadata | undefined): string => (sensor && mimeTypes.get(sensor.mimeType)) ?? '';

/** @throws PlatformError INVALID_ARGUMENT */
const annotations = (of: Annotations | undefined): Pick<Upload, 'boxes' | 'classifications'> => ({
  boxes: (of?.bboxes ?? []).map((box) => boxOf(box)),
  classifications: (of?.classifications ?? []).map(({ label, confidence }) => ({
    label: check.newName('annotations.classifications.label', label),
    confidence: confidenceOf(confidence),
  })),
});

/** Stored as received, type URL and bytes, because only the sender knows the types. */
function parameters(values: { [key: string]: Any }): { [key: string]: unknown } | null {
  const entries = Object.entries(values);
  if (entries.length === 0) return null;
  return Object.fromEntries(
    entries.map(([key, { typeUrl, value }]) => [
      key,
      { type_url: typeUrl, value: Buffer.from(value).toString('base64') },
    ]),
  );
}
