/** Reference decoder from network outputs to boxes; the exported graph computes the same with its own operators. */
import { cellStride, distanceUnit } from '@platform/trainer-engine/pretrained/centernet';
import type { Detection } from './average-precision.ts';
import { iou } from './boxes.ts';

/** Number of highest-scored peaks of all labels that become boxes. */
export const maxBoxes = 50;
/** Non-maximum suppression: drops a box if a higher-scored box of its label overlaps it by a larger IoU. */
export const maxIou = 0.5;
/** Detections with a lower score are dropped. */
const minScore = 0.02;
/** Peaks with a lower value become no boxes. Rescoring raises scores, so this limit is lower than `minScore`. */
const minPeak = 0.002;

/**
 * @param heat - [K,h,h] 0..1; a cell is a peak if no neighbour is higher.
 * @param edges - [4,h,h]: left, top, right, bottom in units of 16 px.
 * @returns at most `maxBoxes` boxes, the highest score first.
 */
export function decodePeaks(
  heat: Float32Array,
  edges: Float32Array,
  { side, labels }: { side: number; labels: number },
): Detection[] {
  const h = side / cellStride;
  const cells = h * h;
  const peaks: { at: number; score: number }[] = [];
  for (let at = 0; at < labels * cells; at++) {
    const score = heat[at] ?? 0;
    if (score >= minPeak && isPeak(heat, at, h)) peaks.push({ at, score });
  }
  peaks.sort((a, b) => b.score - a.score || a.at - b.at);
  return peaks.slice(0, maxBoxes).map(({ at, score }): Detection => {
    const cell = at % cells;
    const [x, y] = [(cell % h) * cellStride, Math.floor(cell / h) * cellStride];
    const edge = (k: number): number => Math.max(0, edges[k * cells + cell] ?? 0) * distanceUnit;
    const unit = (px: number): number => Math.min(1, Math.max(0, px / side));
    const [left, top, right, bottom] = [unit(x - edge(0)), unit(y - edge(1)), unit(x + edge(2)), unit(y + edge(3))];
    return { label: Math.floor(at / cells), score, left, top, right, bottom };
  });
}

/**
 * Non-maximum suppression.
 *
 * @param found - the highest score first.
 * @returns the same boxes; suppressed ones have score 0.
 */
export function suppressCovered(found: readonly Detection[]): Detection[] {
  return found.map((one, i) => {
    const isCovered = found.slice(0, i).some((surer) => surer.label === one.label && iou(surer, one) > maxIou);
    return isCovered ? { ...one, score: 0 } : one;
  });
}

/** Peaks with non-maximum suppression; arguments as in `decodePeaks`. */
export const decodeBoxes = (...peaks: Parameters<typeof decodePeaks>): Detection[] =>
  suppressCovered(decodePeaks(...peaks));

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

export const aboveMinScore = (found: readonly Detection[]): Detection[] =>
  found.filter(({ score }) => score >= minScore);
