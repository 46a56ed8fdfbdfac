import type { Box } from './manifest.ts';

export type NewBox = Omit<Box, 'id'>;
export interface MergedBoxes {
  readonly added: readonly NewBox[];
  /** Predicted boxes that the upload confirms: they get the uploaded edges and lose their confidence. */
  readonly confirmed: readonly { readonly id: string; readonly box: NewBox }[];
}

/** Formats with integer pixels shift the edges of small boxes; two objects of one label never overlap this much. */
const sameOverlap = 0.8;

const areaOf = (box: NewBox): number => (box.xMax - box.xMin) * (box.yMax - box.yMin);

function overlap(a: NewBox, b: NewBox): number {
  const width = Math.min(a.xMax, b.xMax) - Math.max(a.xMin, b.xMin);
  const height = Math.min(a.yMax, b.yMax) - Math.max(a.yMin, b.yMin);
  if (width <= 0 || height <= 0) return 0;
  return (width * height) / (areaOf(a) + areaOf(b) - width * height);
}

const isSame = (a: NewBox, b: NewBox): boolean => a.label === b.label && overlap(a, b) >= sameOverlap;

/** The changes that an upload of the same bytes makes to an image's boxes. Repeating the upload changes nothing. */
export function mergedBoxes(existing: readonly Box[], sent: readonly NewBox[]): MergedBoxes {
  const added: NewBox[] = [];
  const confirmed: { id: string; box: NewBox }[] = [];
  for (const box of sent) {
    const before = existing.find((one) => isSame(one, box));
    if (!before) {
      if (!added.some((one) => isSame(one, box))) added.push(box);
    } else if (before.confidence !== null && box.confidence === null) confirmed.push({ id: before.id, box });
  }
  return { added, confirmed };
}
