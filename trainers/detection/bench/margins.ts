/** Four numbers that enlarge all boxes: a correction of edges that is too small on average. */
import type { Detection } from '../src/average-precision.ts';
import { iou } from '../src/boxes.ts';
import type { LabelledBox } from '../src/boxes.ts';

/** Least IoU of a detection with a true box that the margins are fitted to. */
const minMarginIou = 0.5;
/** Smallest size of a detection for the margins, as a share of the image. */
const minMarginSize = 1e-3;
/** The mean distances from the edges of detections to those of the true boxes, in shares of the detection's size. */
export class MarginFit {
  readonly #sums = new Float64Array(4);
  #count = 0;
  add(truth: readonly LabelledBox[], found: readonly Detection[]): void {
    for (const one of found) {
      const nearest = truth.toSorted((a, b) => iou(one, b) - iou(one, a))[0];
      if (!nearest || iou(one, nearest) < minMarginIou) continue;
      const width = Math.max(minMarginSize, one.right - one.left);
      const height = Math.max(minMarginSize, one.bottom - one.top);
      const distances = [
        (nearest.left - one.left) / width,
        (nearest.top - one.top) / height,
        (nearest.right - one.right) / width,
        (nearest.bottom - one.bottom) / height,
      ];
      for (const [k, distance] of distances.entries()) this.#sums[k] = (this.#sums[k] ?? 0) + distance;
      this.#count++;
    }
  }
  /** No margins without detections. */
  get margins(): Float32Array {
    return Float32Array.from(this.#sums, (sum) => sum / Math.max(1, this.#count));
  }
}

/** The box with moved edges, within the image. */
export function withMargins(one: Detection, margins: Float32Array): Detection {
  const [width, height] = [one.right - one.left, one.bottom - one.top];
  const [left = 0, top = 0, right = 0, bottom = 0] = margins;
  const unit = (x: number): number => Math.min(1, Math.max(0, x));
  return {
    ...one,
    left: unit(one.left + left * width),
    top: unit(one.top + top * height),
    right: unit(one.right + right * width),
    bottom: unit(one.bottom + bottom * height),
  };
}
