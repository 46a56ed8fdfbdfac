/** From the outputs of a model to suggestions for an image. */
import { UNKNOWN_LABEL } from '@platform/contract/job/job';
import { boxesAbove, boxesOf, type DetectedBox, labelsAbove, unlikeOutput } from '@platform/contract/job/model-output';
import { type Predicted, predictionLimits, type PredictionLine } from '@platform/contract/job/predictions';
import type { Results } from '@platform/trainer-engine/runtime';
import type { PredictingModel } from './model.ts';

export type Suggested = Pick<PredictionLine, 'suggestions' | 'scores'>;
type Reader = Pick<PredictingModel, 'description' | 'labels' | 'thresholds'>;

/** Scores in files have this many digits: more say nothing. */
const digits = 4;
const score = (value: number): number => Number(Math.min(1, Math.max(0, value)).toFixed(digits));
const corner = (value: number): number => Number(Math.min(1, Math.max(0, value)).toFixed(6));

/** Nothing is suggested for an image that is unlike anything the model has seen, nor the class of images without a label. */
export function suggestionsOf(outputs: Results, reader: Reader): Suggested {
  const { description } = reader;
  if (description.task === 'object_detection') return boxesIn(outputs, reader);
  const { unlikeThreshold } = description;
  if (unlikeThreshold !== undefined && (outputs(unlikeOutput)[0] ?? 0) > unlikeThreshold)
    return { suggestions: [], scores: {} };
  const probability = outputs('probability');
  const all = reader.labels.flatMap((label, k) =>
    label === UNKNOWN_LABEL ? [] : [{ label, score: score(probability[k] ?? 0) }],
  );
  const best = probability.indexOf(Math.max(...probability));
  const chosen =
    description.task === 'single_label_classification' ? [best] : labelsAbove(probability, reader.thresholds);
  const names = new Set(chosen.map((k) => reader.labels[k]));
  return {
    suggestions: ordered(all.filter(({ label }) => names.has(label))),
    scores: Object.fromEntries(all.map((one) => [one.label, one.score])),
  };
}

function boxesIn(outputs: Results, { labels, thresholds }: Reader): Suggested {
  const boxes = boxesOf(outputs('location'), outputs('category'), outputs('score'));
  const scores: Record<string, number> = Object.fromEntries(labels.map((label) => [label, 0]));
  for (const box of boxes) {
    const label = labels[box.label];
    if (label !== undefined) scores[label] = Math.max(scores[label] ?? 0, score(box.score));
  }
  return { suggestions: ordered(boxesAbove(boxes, thresholds).flatMap((box) => predictedBox(box, labels))), scores };
}

function predictedBox(box: DetectedBox, labels: readonly string[]): Predicted[] {
  const label = labels[box.label];
  const [left, top, right, bottom] = [corner(box.left), corner(box.top), corner(box.right), corner(box.bottom)];
  if (label === undefined || left >= right || top >= bottom) return [];
  return [{ label, score: score(box.score), box: [left, top, right, bottom] }];
}

const ordered = (all: readonly Predicted[]): Predicted[] =>
  all.toSorted((a, b) => b.score - a.score).slice(0, predictionLimits.suggestions);
