import type { Box } from '@platform/client';
import { type Split, splits } from '@platform/contract/job';
import type { PlannedPicture } from './upload-plan.ts';

/** A file with the hash of its bytes. */
export type HashedPicture = PlannedPicture & { readonly sha256: string };

/** An image as the dataset has it. */
export interface PresentImage {
  readonly sha256: string;
  readonly labels: readonly string[];
  readonly split: string;
  readonly boxes: readonly Box[];
}

/** Formats that store whole pixels move the edges of boxes by half a pixel. */
const sameEdge = 0.01;
const isSameBox = (a: Box, b: Box): boolean =>
  a.label === b.label &&
  (['xMin', 'yMin', 'xMax', 'yMax'] as const).every((edge) => Math.abs(a[edge] - b[edge]) <= sameEdge);

export interface OneEach {
  readonly images: readonly HashedPicture[];
  /** Files that are equal to an earlier one. */
  readonly copies: number;
  /** Images that lie in several splits: they are held out, because what is tested must not be learnt. */
  readonly divided: readonly string[];
}

const later = (a: Split | undefined, b: Split | undefined): Split | undefined =>
  splits.findLast((split) => split === a || split === b);

/** Equal files are one image with the labels and boxes of all. */
export function oneEach(files: readonly HashedPicture[]): OneEach {
  const bySha = new Map<string, HashedPicture>();
  const divided = new Set<string>();
  for (const file of files) {
    const first = bySha.get(file.sha256);
    if (!first) {
      bySha.set(file.sha256, file);
      continue;
    }
    if (first.split && file.split && first.split !== file.split) divided.add(first.path);
    bySha.set(file.sha256, {
      ...first,
      labels: [...new Set([...first.labels, ...file.labels])],
      split: later(first.split, file.split),
      boxes: [...first.boxes, ...file.boxes.filter((box) => !first.boxes.some((one) => isSameBox(one, box)))],
    });
  }
  const images = [...bySha.values()];
  return { images, copies: files.length - images.length, divided: [...divided] };
}

export interface Needed {
  /** The dataset does not have these bytes. */
  readonly added: readonly HashedPicture[];
  /** It has them, but not every label, the split or every box. */
  readonly changed: readonly HashedPicture[];
}

/** What a dataset lacks of these images. */
export function neededUploads(images: readonly HashedPicture[], present: readonly PresentImage[]): Needed {
  const bySha = Map.groupBy(present, ({ sha256 }) => sha256);
  const isWhole = (image: HashedPicture, there: PresentImage): boolean =>
    image.labels.every((label) => there.labels.includes(label)) &&
    (image.split === undefined || image.split === there.split) &&
    image.boxes.every((box) => there.boxes.some((one) => isSameBox(one, box)));
  const added = images.filter(({ sha256 }) => !bySha.has(sha256));
  const changed = images.filter((image) => bySha.get(image.sha256)?.some((there) => !isWhole(image, there)));
  return { added, changed };
}
