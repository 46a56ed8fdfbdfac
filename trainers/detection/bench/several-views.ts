/** Boxes of one image from several views of it. */
import { cellStride } from '@platform/trainer-engine/pretrained/centernet';
import type { Detection } from '../src/average-precision.ts';
import { iou } from '../src/boxes.ts';
import { aboveMinScore, decodePeaks, suppressCovered } from '../src/decode.ts';
import type { Item, StoredFeatures } from './stored-features.ts';

/** A box of a tile whose edge is this near to the tile's border may be cut there, unless the image ends there, too. */
const cutMargin = 0.01;

/** Boxes of a view in coordinates of the whole image, without those that a tile cuts. */
export function inImage({ kind, part }: Item, boxes: readonly Detection[]): Detection[] {
  const isCut = ({ left, top, right, bottom }: Detection): boolean =>
    (left < cutMargin && part.left > 0) ||
    (top < cutMargin && part.top > 0) ||
    (right > 1 - cutMargin && part.left + part.width < 1) ||
    (bottom > 1 - cutMargin && part.top + part.height < 1);
  const placed = (one: Detection): Detection => ({
    ...one,
    left: part.left + one.left * part.width,
    top: part.top + one.top * part.height,
    right: part.left + one.right * part.width,
    bottom: part.top + one.bottom * part.height,
  });
  if (kind !== 'mirrored') return boxes.filter((one) => !isCut(one)).map(placed);
  return boxes.map((one) => ({ ...one, left: 1 - one.right, right: 1 - one.left }));
}

/** Least IoU of boxes of one object in different views. */
const fusedIou = 0.55;

/**
 * Weighted box fusion. A list has the boxes of a view after non-maximum suppression. mean: a box that a view lacks
 * counts as one with the score 0.
 */
export function fuseBoxes(lists: readonly (readonly Detection[])[], score: 'mean' | 'highest' = 'mean'): Detection[] {
  interface Cluster {
    fused: Detection;
    /** With the number of the list. */
    members: { box: Detection; list: number }[];
  }
  const clusters: Cluster[] = [];
  const all = lists.flatMap((boxes, list) => boxes.map((box) => ({ box, list })));
  for (const one of all.toSorted((a, b) => b.box.score - a.box.score)) {
    const near = clusters
      .filter(({ fused }) => fused.label === one.box.label && iou(fused, one.box) > fusedIou)
      .toSorted((a, b) => iou(b.fused, one.box) - iou(a.fused, one.box))[0];
    if (!near) {
      clusters.push({ fused: one.box, members: [one] });
      continue;
    }
    near.members.push(one);
    const total = near.members.reduce((sum, { box }) => sum + box.score, 0);
    const mean = (key: 'left' | 'top' | 'right' | 'bottom'): number =>
      near.members.reduce((sum, { box }) => sum + box[key] * box.score, 0) / total;
    near.fused = { ...near.fused, left: mean('left'), top: mean('top'), right: mean('right'), bottom: mean('bottom') };
  }
  const scored = clusters.map(({ fused, members }) => {
    const byList = lists.map((_, list) =>
      Math.max(0, ...members.filter((one) => one.list === list).map(({ box }) => box.score)),
    );
    const sum = byList.reduce((a, b) => a + b, 0);
    return { ...fused, score: score === 'mean' ? sum / lists.length : Math.max(...byList) };
  });
  return aboveMinScore(scored.toSorted((a, b) => b.score - a.score));
}

/**
 * The same with operations that a graph has: each box becomes the mean of the boxes of its label that overlap it,
 * weighted by their scores. Its score is the mean over the views of the highest one of these. Then non-maximum
 * suppression.
 */
export function voteBoxes(lists: readonly (readonly Detection[])[]): Detection[] {
  const all = lists.flatMap((boxes, list) => boxes.map((box) => ({ box, list })));
  const voted = all.map(({ box }) => {
    const near = all.filter((one) => one.box.label === box.label && iou(one.box, box) > fusedIou);
    const total = near.reduce((sum, one) => sum + one.box.score, 0);
    const mean = (key: 'left' | 'top' | 'right' | 'bottom'): number =>
      near.reduce((sum, one) => sum + one.box[key] * one.box.score, 0) / total;
    const highest = lists.map((_, list) =>
      Math.max(0, ...near.filter((one) => one.list === list).map((one) => one.box.score)),
    );
    const score = highest.reduce((a, b) => a + b, 0) / lists.length;
    return { ...box, score, left: mean('left'), top: mean('top'), right: mean('right'), bottom: mean('bottom') };
  });
  return aboveMinScore(suppressCovered(voted.toSorted((a, b) => b.score - a.score)));
}

/** Boxes at the peaks of the mean of an image's maps and of those of its mirror image. */
export function averageMirrored(stored: StoredFeatures, item: Item, mirrored: Item): Detection[] {
  const h = item.side / cellStride;
  const turned = (values: Float32Array, sourceOf: (channel: number) => number): Float32Array =>
    values.map((_, i) => {
      const [x, row, channel] = [i % h, Math.floor(i / h) % h, Math.floor(i / (h * h))];
      // A cell's position is its left edge: column 0 has no counterpart.
      return values[(sourceOf(channel) * h + row) * h + Math.min(h - 1, h - x)] ?? 0;
    });
  const mean = (a: Float32Array, b: Float32Array): Float32Array => a.map((x, i) => (x + (b[i] ?? 0)) / 2);
  const heat = mean(
    stored.read(item, 'heat'),
    turned(stored.read(mirrored, 'heat'), (channel) => channel),
  );
  const swapped = [2, 1, 0, 3];
  const edges = mean(
    stored.read(item, 'edges'),
    turned(stored.read(mirrored, 'edges'), (channel) => swapped[channel] ?? channel),
  );
  return decodePeaks(heat, edges, { side: item.side, labels: item.labels });
}
