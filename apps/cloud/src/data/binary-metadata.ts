import type { MessageInitShape } from '@bufbuild/protobuf';
import type { BinaryMetadataSchema } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { dataPath } from './data-downloads.ts';
import { chosenSplit, labelTags } from './rules/dataset-rules.ts';
import { binaryDataId } from './rules/manifest.ts';
import type { FullDatum } from './store/binary-data.ts';
import { timeOfUs } from '../rpc/protobuf-times.ts';

type Captured = Pick<
  FullDatum,
  'orgId' | 'locationId' | 'machineName' | 'partName' | 'componentType' | 'componentName' | 'methodName'
> &
  Pick<FullDatum, 'machineId' | 'partId' | 'methodParameters' | 'mimeType'> & { tags: readonly string[] };

/** Origin of captured data in the form of the public protocol. */
export const captureMetadata = (captured: Captured) => ({
  organizationId: captured.orgId,
  locationId: captured.locationId,
  robotName: captured.machineName,
  robotId: captured.machineId ?? '',
  partName: captured.partName,
  partId: captured.partId ?? '',
  componentType: captured.componentType,
  componentName: captured.componentName,
  methodName: captured.methodName,
  methodParameters: parameters(captured.methodParameters),
  tags: [...captured.tags],
  mimeType: captured.mimeType,
});

/** The public metadata of a datum, without its bytes. */
export function binaryMetadata(datum: FullDatum, baseUrl: string): MessageInitShape<typeof BinaryMetadataSchema> {
  const id = binaryDataId(datum);
  return {
    id: datum.id,
    binaryDataId: id,
    captureMetadata: captureMetadata(datum),
    timeRequested: timeOfUs(datum.timeRequestedUs),
    timeReceived: timeOfUs(datum.timeReceivedUs),
    fileName: datum.fileName,
    fileExt: datum.fileExt,
    uri: `${baseUrl}${dataPath(id)}`,
    annotations: {
      bboxes: datum.boxes.map((box) => ({
        id: box.id,
        label: box.label,
        xMinNormalized: box.xMin,
        yMinNormalized: box.yMin,
        xMaxNormalized: box.xMax,
        yMaxNormalized: box.yMax,
        ...(box.confidence === null ? {} : { confidence: box.confidence }),
      })),
      classifications: datum.classifications.map(({ id: classificationId, label, confidence }) => ({
        id: classificationId,
        label,
        ...(confidence === null ? {} : { confidence }),
      })),
    },
    datasetIds: datum.datasetIds,
    fileSizeBytes: BigInt(datum.sizeBytes),
    labels: labelTags(datum),
    split: chosenSplit(datum.tags) ?? '',
    fileSha256: datum.sha256,
    imageProblem: datum.imageProblem ?? '',
    imageWidth: datum.imageWidth ?? 0,
    imageHeight: datum.imageHeight ?? 0,
  };
}

type StoredParameter = { type_url: string; value: string };

function parameters(stored: { [key: string]: unknown } | null) {
  const entries = Object.entries((stored ?? {}) as { [key: string]: StoredParameter });
  return Object.fromEntries(
    entries.map(([key, parameter]) => [
      key,
      { typeUrl: parameter.type_url, value: new Uint8Array(Buffer.from(parameter.value, 'base64')) },
    ]),
  );
}
