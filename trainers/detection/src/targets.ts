/** Training targets of the head for the images of one step. */
import type { LabelledBox } from './boxes.ts';
import { cellStride, distanceUnit } from '@platform/trainer-engine/pretrained/centernet';

export interface Targets {
  /** [N, labels, h, h]: 1 at the cell of a box's centre, decreasing around it. */
  heatmap: Float32Array;
  /** [N, 4, h, h]: left, top, right, bottom in units of 16 px, where the mask is above 0. */
  distances: Float32Array;
  /** [N, 1, h, h]: weight of the distances of a cell. */
  mask: Float32Array;
  /** [1] */
  inverseCount: Float32Array;
}
export interface Grid {
  batch: number;
  /** Width and height of the image in pixels. */
  side: number;
  labels: number;
}

export function emptyTargets({ batch, side, labels }: Grid): Targets {
  const cells = (side / cellStride) ** 2;
  return {
    heatmap: new Float32Array(batch * labels * cells),
    distances: new Float32Array(batch * 4 * cells),
    mask: new Float32Array(batch * cells),
    inverseCount: new Float32Array(1),
  };
}

/** Cells around the centre train the distances, up to this share of the way to the edges. */
const learnedShare = 0.3;
/** Total weight of the cells of one box, for any size: that of the nine cells of a small box. */
const cellsOfBox = 9;

/**
 * Overwrites `into`. A Gaussian of about half the box; where boxes overlap, a cell has the distances of the smaller
 * one.
 */
export function drawTargets(
  images: readonly (readonly LabelledBox[])[],
  grid: Pick<Grid, 'side' | 'labels'>,
  into: Targets,
): void {
  into.heatmap.fill(0);
  into.mask.fill(0);
  let count = 0;
  for (const [n, boxes] of images.entries()) {
    count += boxes.length;
    const placed = boxes.map((box) => toPixels(box, grid.side)).toSorted((a, b) => areaOf(b) - areaOf(a));
    for (const one of placed) {
      drawPeak(one, n, grid, into);
      drawEdges(one, n, grid, into);
    }
  }
  into.inverseCount[0] = 1 / Math.max(1, count);
}

/** A box in pixels, and the cell of its centre. */
interface PixelBox extends LabelledBox {
  x: number;
  y: number;
}
function toPixels({ label, ...box }: LabelledBox, side: number): PixelBox {
  const [left, top, right, bottom] = [box.left * side, box.top * side, box.right * side, box.bottom * side];
  const cell = (low: number, high: number): number =>
    Math.min(side / cellStride - 1, Math.round((low + high) / 2 / cellStride));
  return { label, left, top, right, bottom, x: cell(left, right), y: cell(top, bottom) };
}
const areaOf = ({ left, top, right, bottom }: PixelBox): number => (right - left) * (bottom - top);

/** Cells around (x, y) inside the grid. */
function* cellsAround({ x, y }: PixelBox, reachX: number, reachY: number, h: number): Generator<[number, number]> {
  for (let row = Math.max(0, y - reachY); row <= Math.min(h - 1, y + reachY); row++) {
    for (let column = Math.max(0, x - reachX); column <= Math.min(h - 1, x + reachX); column++) yield [column, row];
  }
}
function drawPeak(
  box: PixelBox,
  n: number,
  { side, labels }: Pick<Grid, 'side' | 'labels'>,
  { heatmap }: Targets,
): void {
  const h = side / cellStride;
  const spread = (size: number): number => Math.max((size / cellStride) * 0.09 + 0.4, 0.7);
  const [spreadX, spreadY] = [spread(box.right - box.left), spread(box.bottom - box.top)];
  for (const [x, y] of cellsAround(box, Math.ceil(3 * spreadX), Math.ceil(3 * spreadY), h)) {
    const away = ((x - box.x) / spreadX) ** 2 + ((y - box.y) / spreadY) ** 2;
    const at = ((n * labels + box.label) * h + y) * h + x;
    heatmap[at] = Math.max(heatmap[at] ?? 0, Math.exp(-away / 2));
  }
}
function drawEdges(box: PixelBox, n: number, { side }: Pick<Grid, 'side'>, { mask, distances }: Targets): void {
  const h = side / cellStride;
  const reach = (size: number): number => Math.max(1, Math.floor((size / 2 / cellStride) * learnedShare));
  const [reachX, reachY] = [reach(box.right - box.left), reach(box.bottom - box.top)];
  const weight = cellsOfBox / ((2 * reachX + 1) * (2 * reachY + 1));
  for (const [x, y] of cellsAround(box, reachX, reachY, h)) {
    mask[(n * h + y) * h + x] = weight;
    const [left, top] = [x * cellStride, y * cellStride];
    const sides = [left - box.left, top - box.top, box.right - left, box.bottom - top];
    for (const [k, distance] of sides.entries()) distances[((n * 4 + k) * h + y) * h + x] = distance / distanceUnit;
  }
}
