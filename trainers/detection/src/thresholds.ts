/** Score thresholds of the labels, and how well the boxes above them fit. */
import { modelKinds } from '@platform/contract/job/model-kinds';
import { boxesAbove } from '@platform/contract/job/model-output';
import { round } from '@platform/trainer-engine/progress';
import { rankDetections } from './average-precision.ts';
import type { EvaluatedImage } from './average-precision.ts';

/** Threshold of labels that no validation image shows. */
export const fallbackThreshold = modelKinds.object_detection.defaultThreshold;
/** Minimum IoU of a match, unless stated otherwise. */
export const minIou = 0.5;

export const f1Of = (hits: number, found: number, truths: number): number => (2 * hits) / Math.max(1, found + truths);

/** Score threshold of each label with the best F1 on the validation images. */
export function chooseThresholds(evaluated: readonly EvaluatedImage[], labels: number): number[] {
  return Array.from({ length: labels }, (_, label) => {
    const { order, truths } = rankDetections(evaluated, label, minIou);
    let [best, threshold, hits]: [number, number, number] = [0, fallbackThreshold, 0];
    for (const [i, { score, isRight }] of order.entries()) {
      if (isRight) hits++;
      const f1 = f1Of(hits, i + 1, truths);
      if (f1 <= best) continue;
      // Midway to the next score, so that similar boxes still pass.
      [best, threshold] = [f1, (score + (order[i + 1]?.score ?? 0)) / 2];
    }
    return round(Math.min(0.9, Math.max(0.05, threshold)), 3);
  });
}

/** F1 of the boxes in each image at the best thresholds; 1 if none are there and none are found. */
export function imageScores(evaluated: readonly EvaluatedImage[], labels: number): number[] {
  const thresholds = chooseThresholds(evaluated, labels);
  return evaluated.map(({ truth, found }) => {
    const above = boxesAbove(found, thresholds);
    if (truth.length + above.length === 0) return 1;
    const hits = thresholds.map((_, label) => {
      const { order } = rankDetections([{ truth, found: above }], label, minIou);
      return order.filter(({ isRight }) => isRight).length;
    });
    return f1Of(
      hits.reduce((a, b) => a + b, 0),
      above.length,
      truth.length,
    );
  });
}
