import type { BoxAnnotation, DatasetLine, LabelAnnotation, Split } from '@platform/contract/job/job';
import { isUuid } from '@platform/contract/text/names';
import { chosenSplit, groupOf, labelsOf, type Labelled } from './dataset-rules.ts';

/** A stored image with all data that a line of a manifest contains. */
export interface DatasetImage extends Labelled {
  readonly id: string;
  readonly orgId: string;
  readonly locationId: string;
  readonly machineId: string | null;
  readonly partId: string | null;
  readonly componentName: string;
  readonly sizeBytes: number;
  readonly fileName: string;
  readonly fileExt: string;
  /** µs since 1970. */
  readonly timeRequestedUs: number;
  readonly classifications: readonly { readonly label: string; readonly confidence: number | null }[];
  readonly boxes: readonly Box[];
}
export interface Box {
  readonly id: string;
  readonly label: string;
  readonly xMin: number;
  readonly yMin: number;
  readonly xMax: number;
  readonly yMax: number;
  readonly confidence: number | null;
}

export const binaryDataId = (of: { orgId: string; locationId: string; id: string }): string =>
  `${of.orgId}/${of.locationId}/${of.id}`;

/** Parses `<organization>/<location>/<file>`; undefined if the text has another form. */
export function parseBinaryDataId(text: string): { orgId: string; locationId: string; id: string } | undefined {
  const [orgId, locationId, id, ...more] = text.split('/');
  return isUuid(orgId) && locationId !== undefined && isUuid(id) && more.length === 0
    ? { orgId, locationId, id }
    : undefined;
}

/**
 * One line of the frozen dataset. Lines are ordered by content, then ID: the same images always produce the same bytes.
 */
export const manifestLine = (image: DatasetImage, split: Split): string => `${JSON.stringify(lineOf(image, split))}\n`;

function lineOf(image: DatasetImage, split: Split): DatasetLine {
  const group = groupOf(image.tags);
  const fileName = image.fileName || `${image.id}${image.fileExt}`;
  return {
    image_path: fileName,
    sha256: image.sha256,
    size_bytes: image.sizeBytes,
    file_name: fileName,
    split,
    classification_annotations: annotations(image),
    bounding_box_annotations: image.boxes.map(boxOf),
    timestamp: goTime(image.timeRequestedUs),
    part_id: image.partId ?? '',
    component_name: image.componentName,
    binary_data_id: binaryDataId(image),
    organization_id: image.orgId,
    ...(image.machineId ? { robot_id: image.machineId } : {}),
    ...(image.locationId ? { location_id: image.locationId } : {}),
    ...(group === undefined ? {} : { group }),
    ...(chosenSplit(image.tags) === undefined ? {} : { split_chosen: true }),
  };
}

/** The union of tags and classifications, with the confidence of classifications that have one. */
function annotations(image: DatasetImage): LabelAnnotation[] {
  const confidences = new Map(image.classifications.map((one) => [one.label, one.confidence]));
  return labelsOf(image).map((label) => {
    const confidence = confidences.get(label) ?? undefined;
    return { annotation_label: label, ...(confidence === undefined ? {} : { confidence }) };
  });
}

const boxOf = (box: Box): BoxAnnotation => ({
  id: box.id,
  annotation_label: box.label,
  x_min_normalized: box.xMin,
  y_min_normalized: box.yMin,
  x_max_normalized: box.xMax,
  y_max_normalized: box.yMax,
  ...(box.confidence === null ? {} : { confidence: box.confidence }),
});

/** Formats a time like Go: `2024-01-02 15:04:05.999 +0000 UTC`, the fraction without trailing zeros. */
export function goTime(us: number): string {
  const seconds = new Date(Math.floor(us / 1e6) * 1000).toISOString().slice(0, 19).replace('T', ' ');
  const fraction = String(((us % 1e6) + 1e6) % 1e6)
    .padStart(6, '0')
    .replace(/0+$/, '');
  return `${seconds}${fraction && `.${fraction}`} +0000 UTC`;
}
