/** From the values of the network to boxes, the plain way: the delivered graph does the same in its own operations. */
import { cellStride, distanceUnit } from '@platform/trainer-engine/pretrained/centernet';
import type { Found } from './average-precision.ts';
import { overlap } from './boxes.ts';

/** The surest peaks of all labels together become boxes. */
export const mostBoxes = 50;
/** A box is dropped when a surer one of its label overlaps it by more. */
export const mostOverlap = 0.5;
/** Surer than this, or it is not worth mentioning. */
export const leastScore = 0.02;

/**
 * A peak tells where about a thing is; the edges are told best from the middle of it. So the box that is seen from the peak
 * only says where its middle is, and the box that is seen from there counts.
 *
 * @param heat - [K,h,h] 0..1; a cell is a peak where no neighbour is higher.
 * @param edges - [4,h,h]: left, top, right, bottom in units of 16 px.
 * @returns mostBoxes of them at most, the surest first; dropped ones have score 0.
 */
export function boxesIn(
  heat: Float32Array,
  edges: Float32Array,
  { side, labels }: { side: number; labels: number },
): Found[] {
  const h = side / cellStride;
  const cells = h * h;
  const peaks: { at: number; score: number }[] = [];
  for (let at = 0; at < labels * cells; at++) {
    const score = heat[at] ?? 0;
    if (score >= leastScore && isPeak(heat, at, h)) peaks.push({ at, score });
  }
  peaks.sort((a, b) => b.score - a.score || a.at - b.at);
  const found = peaks.slice(0, mostBoxes).map(({ at, score }): Found => {
    const cell = at % cells;
    const box = boxAt(edges, centreSeenFrom(edges, [cell % h, Math.floor(cell / h)], h), h);
    const [left = 0, top = 0, right = 0, bottom = 0] = box.map((x) => Math.min(1, Math.max(0, x / h)));
    return { label: Math.floor(at / cells), score, left, top, right, bottom };
  });
  return found.map((one, i) => {
    const isCovered = found.slice(0, i).some((surer) => surer.label === one.label && overlap(surer, one) > mostOverlap);
    return isCovered ? { ...one, score: 0 } : one;
  });
}

type Point = readonly [x: number, y: number];
const cellsPerUnit = distanceUnit / cellStride;
/** Left, top, right, bottom in cells, as told by one cell. */
function reachOf(edges: Float32Array, [x, y]: Point, h: number): number[] {
  return [0, 1, 2, 3].map((k) => Math.max(0, edges[k * h * h + y * h + x] ?? 0) * cellsPerUnit);
}
/** Middle of the box that a cell tells, in cells; inside of the grid. */
function centreSeenFrom(edges: Float32Array, [x, y]: Point, h: number): Point {
  const [left = 0, top = 0, right = 0, bottom = 0] = reachOf(edges, [x, y], h);
  const inside = (at: number): number => Math.min(h - 1, Math.max(0, at));
  return [inside(x + (right - left) / 2), inside(y + (bottom - top) / 2)];
}
/** Corners in cells, as told by the four cells around a point. */
function boxAt(edges: Float32Array, [x, y]: Point, h: number): number[] {
  const [low, high] = [Math.floor, (at: number): number => Math.min(h - 1, Math.floor(at) + 1)];
  const reach = [0, 0, 0, 0];
  for (const [column, shareX] of [[low(x), 1 - x + low(x)] as const, [high(x), x - low(x)] as const]) {
    for (const [row, shareY] of [[low(y), 1 - y + low(y)] as const, [high(y), y - low(y)] as const]) {
      for (const [k, one] of reachOf(edges, [column, row], h).entries()) {
        reach[k] = (reach[k] ?? 0) + shareX * shareY * one;
      }
    }
  }
  const [left = 0, top = 0, right = 0, bottom = 0] = reach;
  return [x - left, y - top, x + right, y + bottom];
}

function isPeak(heat: Float32Array, at: number, h: number): boolean {
  const value = heat[at] ?? 0;
  const x = at % h;
  const y = Math.floor(at / h) % h;
  for (let dy = y === 0 ? 0 : -1; dy <= (y === h - 1 ? 0 : 1); dy++) {
    for (let dx = x === 0 ? 0 : -1; dx <= (x === h - 1 ? 0 : 1); dx++) {
      if ((heat[at + dy * h + dx] ?? 0) > value) return false;
    }
  }
  return true;
}

export const mentioned = (found: readonly Found[]): Found[] => found.filter(({ score }) => score >= leastScore);
