/** What the head should say about the pictures of one step. */
import type { LabelledBox } from './boxes.ts';
import { cellStride, distanceUnit } from '@platform/trainer-engine/pretrained/centernet';

export interface Targets {
  /** [N, labels, h, h]: 1 at the cell of a box's centre, falling off around it. */
  heatmap: Float32Array;
  /** [N, 4, h, h]: left, top, right, bottom in units of 16 px, where the mask is set. */
  distances: Float32Array;
  /** [N, 1, h, h] */
  mask: Float32Array;
  /** [1] */
  inverseCount: Float32Array;
}
export interface Grid {
  batch: number;
  /** Pixels of the picture. */
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

/** Fills `into` anew. A Gaussian of about half the box; distances count in the 3 × 3 cells around the centre. */
export function drawTargets(
  pictures: readonly (readonly LabelledBox[])[],
  { side, labels }: Grid,
  into: Targets,
): void {
  const h = side / cellStride;
  into.heatmap.fill(0);
  into.mask.fill(0);
  let count = 0;
  for (const [n, boxes] of pictures.entries()) {
    for (const box of boxes) {
      count++;
      const corners = [box.left, box.top, box.right, box.bottom].map((x) => x * side);
      const [left = 0, top = 0, right = 0, bottom = 0] = corners;
      const centreX = Math.min(h - 1, Math.round((left + right) / 2 / cellStride));
      const centreY = Math.min(h - 1, Math.round((top + bottom) / 2 / cellStride));
      const spread = (size: number): number => Math.max((size / cellStride) * 0.09 + 0.4, 0.7);
      const [spreadX, spreadY] = [spread(right - left), spread(bottom - top)];
      const reachX = Math.ceil(3 * spreadX);
      const reachY = Math.ceil(3 * spreadY);
      for (let y = Math.max(0, centreY - reachY); y <= Math.min(h - 1, centreY + reachY); y++) {
        for (let x = Math.max(0, centreX - reachX); x <= Math.min(h - 1, centreX + reachX); x++) {
          const away = ((x - centreX) / spreadX) ** 2 + ((y - centreY) / spreadY) ** 2;
          const at = ((n * labels + box.label) * h + y) * h + x;
          into.heatmap[at] = Math.max(into.heatmap[at] ?? 0, Math.exp(-away / 2));
          if (Math.abs(x - centreX) > 1 || Math.abs(y - centreY) > 1) continue;
          into.mask[(n * h + y) * h + x] = 1;
          const sides = [x * cellStride - left, y * cellStride - top, right - x * cellStride, bottom - y * cellStride];
          for (const [k, distance] of sides.entries()) {
            into.distances[((n * 4 + k) * h + y) * h + x] = distance / distanceUnit;
          }
        }
      }
    }
  }
  into.inverseCount[0] = 1 / Math.max(1, count);
}
