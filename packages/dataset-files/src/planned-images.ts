import type { Split } from '@platform/contract/job/job';
import type { Box } from './boxes.ts';
import type { ImportFormat } from './formats.ts';
import type { ImageType } from './image-header.ts';
import type { Ledger } from './ledger.ts';

export interface PlannedImage {
  readonly path: string;
  readonly fileName: string;
  readonly sizeBytes: number;
  /** By content; without a dot. */
  readonly extension: ImageType;
  readonly labels: readonly string[];
  readonly split: Split | undefined;
  readonly boxes: readonly Box[];
}

/** Why nothing can be imported before the user decides. */
export interface Refusal {
  readonly problem: string;
  /** Formats to choose from. */
  readonly formats: readonly ImportFormat[];
}

export interface ImportPlan {
  /** For users: `COCO (_annotations.coco.json)`. */
  readonly format: string;
  readonly images: readonly PlannedImage[];
  /** Number of images and boxes per label. */
  readonly counts: ReadonlyMap<string, { readonly images: number; readonly boxes: number }>;
  /** Images that the files of annotations name and the folder has. */
  readonly annotated: number;
  readonly ledger: Ledger;
  readonly refusal?: Refusal;
}

/** Tags on the wire. */
export const tagsOf = ({ labels, split }: Pick<PlannedImage, 'labels' | 'split'>): string[] =>
  split === undefined ? [...labels] : [...labels, `split:${split}`];

/** Up to this many annotated images may be missing without a question. */
const fewMissing = 5;

/** Whether the folder may be the wrong one: more than 5 annotated images are missing, and more than a tenth of them. */
export const hasManyMissing = ({ ledger: { missing }, annotated }: ImportPlan): boolean =>
  missing.length > fewMissing && missing.length * 10 > annotated + missing.length;

export const isTyped = (labels: readonly string[] | undefined): labels is readonly string[] =>
  labels !== undefined && labels.length > 0;

/** The plan with these labels of all images in place of their own. */
export function withLabels(plan: ImportPlan, labels: readonly string[] | undefined): ImportPlan {
  if (!isTyped(labels)) return plan;
  const images = plan.images.map((image) => ({ ...image, labels: [...new Set(labels)] }));
  return { ...plan, images, counts: countLabels(images) };
}

export function countLabels(images: readonly PlannedImage[]): Map<string, { images: number; boxes: number }> {
  const counts = new Map<string, { images: number; boxes: number }>();
  const count = (label: string, kind: 'images' | 'boxes'): void => {
    const sum = counts.get(label) ?? { images: 0, boxes: 0 };
    sum[kind]++;
    counts.set(label, sum);
  };
  for (const { labels, boxes } of images) {
    for (const label of labels) count(label, 'images');
    for (const box of boxes) count(box.label, 'boxes');
  }
  return new Map([...counts].toSorted(([a], [b]) => a.localeCompare(b)));
}
