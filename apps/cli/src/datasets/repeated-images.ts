import type { Box } from '@platform/client';
import { type Split, splits } from '@platform/contract/job/job';
import type { PlannedImage } from '@platform/dataset-files/planned-images';

/** A file with its hash. */
export type HashedImage = PlannedImage & { readonly sha256: string };

/** An image in the dataset. */
export interface PresentImage {
  readonly sha256: string;
  readonly labels: readonly string[];
  readonly split: string;
  readonly boxes: readonly Box[];
}

/** Tolerance for formats with integer pixels: they move box edges by up to half a pixel. */
const sameEdge = 0.01;
const isSameBox = (a: Box, b: Box): boolean =>
  a.label === b.label &&
  (['xMin', 'yMin', 'xMax', 'yMax'] as const).every((edge) => Math.abs(a[edge] - b[edge]) <= sameEdge);

export interface OneEach {
  readonly images: readonly HashedImage[];
  /** Files that equal an earlier one. */
  readonly copies: number;
  /** Images in several splits; they become held-out images, because a test image must not train. */
  readonly divided: readonly string[];
}

const later = (a: Split | undefined, b: Split | undefined): Split | undefined =>
  splits.findLast((split) => split === a || split === b);

/** Merges equal files into one image with the labels and boxes of all. */
export function oneEach(files: readonly HashedImage[]): OneEach {
  const bySha = new Map<string, HashedImage>();
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
  /** Images that the dataset lacks. */
  readonly added: readonly HashedImage[];
  /** Images that the dataset has without some label, box or the split. */
  readonly changed: readonly HashedImage[];
}

/** Which of these images the dataset lacks, completely or partly. */
export function neededUploads(images: readonly HashedImage[], present: readonly PresentImage[]): Needed {
  const bySha = Map.groupBy(present, ({ sha256 }) => sha256);
  const isWhole = (image: HashedImage, there: PresentImage): boolean =>
    image.labels.every((label) => there.labels.includes(label)) &&
    (image.split === undefined || image.split === there.split) &&
    image.boxes.every((box) => there.boxes.some((one) => isSameBox(one, box)));
  const added = images.filter(({ sha256 }) => !bySha.has(sha256));
  const changed = images.filter((image) => bySha.get(image.sha256)?.some((there) => !isWhole(image, there)));
  return { added, changed };
}
