/**
 * Whether two images have the same boxes, but for what a small crop or shift changes. Images of a fixed camera look alike
 * though the objects moved: only equal boxes make them near copies.
 */
import type { FoundBy } from '@platform/trainer-engine/near-copies';
import type { LabelledBox } from './boxes.ts';

export interface BoxTolerance {
  /** Maximum distance of the centres along each axis, as a share of the image's edge. */
  centre: number;
  /** Maximum ratio of the widths and of the heights. */
  ratio: number;
}
export type BoxTolerances = Readonly<Record<FoundBy, BoxTolerance>>;
/**
 * By `trainers/detection/bench/near-copies.ts`. Thumbnails find no shifted images, so what they find has shifted boxes
 * only if the objects moved.
 */
const delivered: BoxTolerances = {
  features: { centre: 0.05, ratio: 1.25 },
  thumbnails: { centre: 0.02, ratio: 1.25 },
};

interface Layout {
  /** Sorted by label and centre. */
  label: Int32Array;
  x: Float64Array;
  y: Float64Array;
  width: Float64Array;
  height: Float64Array;
  /** y, sorted by label and y. */
  sortedY: Float64Array;
}
function layoutOf(boxes: readonly LabelledBox[]): Layout {
  const described = boxes.map(({ label, left, top, right, bottom }) => ({
    label,
    x: (left + right) / 2,
    y: (top + bottom) / 2,
    width: right - left,
    height: bottom - top,
  }));
  const byX = described.toSorted((a, b) => a.label - b.label || a.x - b.x || a.y - b.y);
  const byY = described.toSorted((a, b) => a.label - b.label || a.y - b.y);
  return {
    label: Int32Array.from(byX, ({ label }) => label),
    x: Float64Array.from(byX, ({ x }) => x),
    y: Float64Array.from(byX, ({ y }) => y),
    width: Float64Array.from(byX, ({ width }) => width),
    height: Float64Array.from(byX, ({ height }) => height),
    sortedY: Float64Array.from(byY, ({ y }) => y),
  };
}
const at = (values: Float64Array, i: number): number => values[i] ?? 0;
const isWithin = (a: Float64Array, i: number, b: Float64Array, j: number, most: number): boolean =>
  Math.abs(at(a, i) - at(b, j)) <= most;
const isLike = (a: Float64Array, i: number, b: Float64Array, j: number, ratio: number): boolean =>
  at(a, i) <= at(b, j) * ratio && at(b, j) <= at(a, i) * ratio;

/** Necessary for a matching: sorted values match in their order, or not at all. */
function mayMatch(a: Layout, b: Layout, { centre }: BoxTolerance): boolean {
  const count = a.label.length;
  if (count !== b.label.length) return false;
  for (let i = 0; i < count; i++) {
    if (a.label[i] !== b.label[i]) return false;
    if (!isWithin(a.x, i, b.x, i, centre) || !isWithin(a.sortedY, i, b.sortedY, i, centre)) return false;
  }
  return true;
}

/** Whether each box of one image has its own box of the other: augmenting paths (Kuhn's algorithm). */
function doMatch(a: Layout, b: Layout, { centre, ratio }: BoxTolerance): boolean {
  const count = a.label.length;
  const isPair = (i: number, j: number): boolean =>
    a.label[i] === b.label[j] &&
    isWithin(a.x, i, b.x, j, centre) &&
    isWithin(a.y, i, b.y, j, centre) &&
    isLike(a.width, i, b.width, j, ratio) &&
    isLike(a.height, i, b.height, j, ratio);
  const owners = new Int32Array(count).fill(-1);
  const seen = new Int32Array(count).fill(-1);
  const place = (i: number, start: number): boolean => {
    if (owners[i] === -1 && isPair(i, i)) {
      owners[i] = i;
      return true;
    }
    for (let j = 0; j < count; j++) {
      if (owners[j] !== -1 || !isPair(i, j)) continue;
      owners[j] = i;
      return true;
    }
    for (let j = 0; j < count; j++) {
      if (seen[j] === start || !isPair(i, j)) continue;
      seen[j] = start;
      if (!place(owners[j] ?? -1, start)) continue;
      owners[j] = i;
      return true;
    }
    return false;
  };
  for (let i = 0; i < count; i++) if (!place(i, i)) return false;
  return true;
}

/** Compares images by their lists of boxes, and remembers what it sorted. */
export function sameBoxes(
  tolerances: BoxTolerances = delivered,
): (a: readonly LabelledBox[], b: readonly LabelledBox[], by: FoundBy) => boolean {
  const known = new WeakMap<readonly LabelledBox[], Layout>();
  const layout = (boxes: readonly LabelledBox[]): Layout => {
    const found = known.get(boxes);
    if (found) return found;
    const sorted = layoutOf(boxes);
    known.set(boxes, sorted);
    return sorted;
  };
  return (a, b, by) => {
    const [one, other] = [layout(a), layout(b)];
    return mayMatch(one, other, tolerances[by]) && doMatch(one, other, tolerances[by]);
  };
}
