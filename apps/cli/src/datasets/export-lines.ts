import { toJson } from '@bufbuild/protobuf';
import { type BinaryMetadata, BinaryMetadataSchema } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { splitOf, withoutExtension } from '@platform/dataset-files/file-names';

const pad = (n: number, digits: number): string => String(n).padStart(digits, '0');

/** Date, time in seconds and fraction without trailing zeros, all UTC. */
function partsOf(time: { seconds: bigint; nanos: number } | undefined): {
  day: string;
  clock: string;
  fraction: string;
} {
  const iso = new Date(Number(time?.seconds ?? 0n) * 1000).toISOString();
  const fraction = pad(time?.nanos ?? 0, 9).replace(/0+$/, '');
  return { day: iso.slice(0, 10), clock: iso.slice(11, 19), fraction: fraction === '' ? '' : `.${fraction}` };
}

/** Unique file names for an export: time and original name; for some formats also unique without the extension. */
export function fileNames({ isStemUnique = false } = {}): (of: BinaryMetadata) => string {
  const taken = new Set<string>();
  return (of) => {
    const { day, clock, fraction } = partsOf(of.timeRequested);
    const id = of.binaryDataId.split('/').at(-1) ?? '';
    const own = of.fileName.split('/').at(-1) || `${id}${of.fileExt}`;
    const name = `${day}T${clock}${fraction}Z_${own}`.replace(/[\p{Cc}<>:"/\\|?*]/gu, '_');
    const keyOf = (file: string): string => (isStemUnique ? withoutExtension(file) : file).toLowerCase();
    const free = taken.has(keyOf(name)) ? `${id}_${name}` : name;
    taken.add(keyOf(free));
    return free;
  };
}

const filled = (entries: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(entries).filter(([, value]) => value !== ''));

/** Labels of the whole image, from users or predicted. */
export const labelsOf = ({ labels, annotations }: BinaryMetadata): string[] => [
  ...new Set([...labels, ...(annotations?.classifications ?? []).map(({ label }) => label)]),
];

/** The fields of an image that every format stores. */
export const imageOf = (of: BinaryMetadata) => ({
  labels: labelsOf(of),
  split: splitOf(of.split),
  boxes: (of.annotations?.bboxes ?? []).map((box) => ({
    label: box.label,
    xMin: box.xMinNormalized,
    yMin: box.yMinNormalized,
    xMax: box.xMaxNormalized,
    yMax: box.yMaxNormalized,
    confidence: box.confidence,
  })),
});

/** One line of dataset.jsonl for training scripts. `imagePath`: path of the image. */
export function datasetLine(of: BinaryMetadata, imagePath: string): string {
  const { captureMetadata: from, annotations, split } = of;
  const { day, clock, fraction } = partsOf(of.timeRequested);
  const classified = annotations?.classifications ?? [];
  const labels = labelsOf(of);
  return JSON.stringify({
    image_path: imagePath,
    classification_annotations: labels.map((label) => {
      const confidence = classified.find((one) => one.label === label)?.confidence;
      return { annotation_label: label, ...(confidence !== undefined && { confidence }) };
    }),
    bounding_box_annotations: (annotations?.bboxes ?? []).map((box) => ({
      id: box.id,
      annotation_label: box.label,
      x_min_normalized: box.xMinNormalized,
      x_max_normalized: box.xMaxNormalized,
      y_min_normalized: box.yMinNormalized,
      y_max_normalized: box.yMaxNormalized,
      ...(box.confidence !== undefined && { confidence: box.confidence }),
    })),
    timestamp: `${day} ${clock}${fraction} +0000 UTC`,
    part_id: from?.partId ?? '',
    component_name: from?.componentName ?? '',
    ...filled({
      split,
      binary_data_id: of.binaryDataId,
      organization_id: from?.organizationId ?? '',
      robot_id: from?.robotId ?? '',
      location_id: from?.locationId ?? '',
    }),
  });
}

/** All metadata of an image, as JSON text. */
export const metadataJson = (of: BinaryMetadata): string =>
  `${JSON.stringify(toJson(BinaryMetadataSchema, of), null, 2)}\n`;
