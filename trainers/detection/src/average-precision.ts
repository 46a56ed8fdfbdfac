/** Metrics of detected boxes against the ground truth. */
import { iou } from './boxes.ts';
import type { LabelledBox } from './boxes.ts';

export interface Detection extends LabelledBox {
  score: number;
}
/** The true and the detected boxes of one image. */
export interface EvaluatedImage {
  truth: readonly LabelledBox[];
  found: readonly Detection[];
}
/** One detected box, ranked by score over all images. */
export interface RankedDetection {
  score: number;
  isRight: boolean;
}

/**
 * Matches the detections of a label in the order of their scores. Each takes the free true box of its image with the
 * largest overlap. It is right if their IoU is at least `least`.
 */
export function rankDetections(
  images: readonly EvaluatedImage[],
  label: number,
  least: number,
): { order: RankedDetection[]; truths: number } {
  let truths = 0;
  const found: { score: number; at: Detection; among: readonly { box: LabelledBox; taken: boolean }[] }[] = [];
  for (const image of images) {
    const among = image.truth.filter((one) => one.label === label).map((box) => ({ box, taken: false }));
    truths += among.length;
    for (const at of image.found) if (at.label === label) found.push({ score: at.score, at, among });
  }
  const order = found
    .toSorted((a, b) => b.score - a.score)
    .map(({ score, at, among }) => {
      let best: { box: LabelledBox; taken: boolean } | undefined;
      let most = least;
      for (const one of among) {
        const common = one.taken ? 0 : iou(at, one.box);
        if (common >= most) [best, most] = [one, common];
      }
      if (best) best.taken = true;
      return { score, isRight: best !== undefined };
    });
  return { order, truths };
}

/** Area under the precision-recall curve, with each precision raised to the maximum at a higher recall. 0..1. */
export function averagePrecision({ order, truths }: { order: readonly RankedDetection[]; truths: number }): number {
  let hits = 0;
  const points = order.map(({ isRight }, rank) => {
    if (isRight) hits++;
    return { isRight, precision: hits / (rank + 1) };
  });
  let [area, highest] = [0, 0];
  for (const { isRight, precision } of points.toReversed()) {
    highest = Math.max(highest, precision);
    if (isRight) area += highest / truths;
  }
  return area;
}

/** Average precision per label; undefined if no image has a true box of the label. */
export function averagePrecisions(
  images: readonly EvaluatedImage[],
  labels: number,
  least: number,
): (number | undefined)[] {
  return Array.from({ length: labels }, (_, label) => {
    const found = rankDetections(images, label, least);
    return found.truths === 0 ? undefined : averagePrecision(found);
  });
}
export function mean(values: readonly (number | undefined)[]): number {
  const known = values.filter((value) => value !== undefined);
  return known.reduce((sum, value) => sum + value, 0) / Math.max(1, known.length);
}
export const meanAveragePrecision = (images: readonly EvaluatedImage[], labels: number, least: number): number =>
  mean(averagePrecisions(images, labels, least));

/** 0.5, 0.55 … 0.95 */
export const cocoThresholds = Array.from({ length: 10 }, (_, i) => (50 + 5 * i) / 100);
