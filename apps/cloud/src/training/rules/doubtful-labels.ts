/** Labels of users that a model disagrees with strongly. */
import { modelKind } from '@platform/contract/job/model-kinds';
import type { Predicted, PredictedBox } from '@platform/contract/job/predictions';

/** What an image has, and what a model gave it. */
export interface ReviewedImage {
  readonly modelType: string;
  readonly labels: readonly string[];
  readonly boxes: readonly { readonly label: string; readonly box: PredictedBox }[];
  readonly suggestions: readonly Predicted[];
  readonly scores: Readonly<Record<string, number>>;
}
export interface Doubt {
  /** The label that a user gave; '': none. */
  readonly label: string;
  readonly labelScore: number;
  /** What the model predicts instead; '': nothing. */
  readonly predicted: string;
  readonly predictedScore: number;
  readonly box: PredictedBox | undefined;
}

/** A model is sure of a label from here on … */
const sure = 0.8;
/** … and sure that a label is wrong below this. */
const unlikely = 0.2;
/** A box of a user and a box of a model show the same object from this overlap on. */
const sameObject = 0.5;
/** Boxes with less overlap have nothing to do with each other. */
const overlapping = 0.2;

/** How strongly the model disagrees, for the order of a list: 0 to 1. */
export const strengthOf = ({ label, labelScore, predicted, predictedScore }: Doubt): number =>
  label === '' ? predictedScore - unlikely : predicted === '' ? unlikely - labelScore : predictedScore - labelScore;

/** Leaves out images without any label, and labels that the model does not know. */
export function doubtsOf(image: ReviewedImage): Doubt[] {
  const kind = modelKind(image.modelType);
  if (!kind) return [];
  if (kind.labelSource === 'boxes') return image.boxes.length === 0 ? [] : boxDoubts(image);
  if (image.labels.length === 0) return [];
  return kind.labelsPerImage === 'one' ? singleDoubts(image) : multiDoubts(image);
}

function bestOf(scores: Readonly<Record<string, number>>): [label: string, score: number] {
  return Object.entries(scores).reduce((best, one) => (one[1] > best[1] ? one : best), ['', 0] as [string, number]);
}

function singleDoubts({ labels, scores }: ReviewedImage): Doubt[] {
  const [predicted, predictedScore] = bestOf(scores);
  if (predictedScore < sure || labels.includes(predicted)) return [];
  return labels.flatMap((label): Doubt[] => {
    const labelScore = scores[label];
    if (labelScore === undefined || labelScore > unlikely) return [];
    return [{ label, labelScore, predicted, predictedScore, box: undefined }];
  });
}

function multiDoubts({ labels, scores }: ReviewedImage): Doubt[] {
  return Object.entries(scores).flatMap(([name, score]): Doubt[] => {
    const isGiven = labels.includes(name);
    if (isGiven && score <= unlikely)
      return [{ label: name, labelScore: score, predicted: '', predictedScore: 0, box: undefined }];
    if (!isGiven && score >= sure)
      return [{ label: '', labelScore: 0, predicted: name, predictedScore: score, box: undefined }];
    return [];
  });
}

function boxDoubts({ boxes, suggestions, scores }: ReviewedImage): Doubt[] {
  const found = suggestions.flatMap(({ label, score, box }) => (box ? [{ label, score, box }] : []));
  const given = boxes.flatMap(({ label, box }): Doubt[] => {
    if (scores[label] === undefined) return [];
    const over = found.filter((one) => overlap(one.box, box) >= sameObject);
    if (over.some((one) => one.label === label)) return [];
    const other = over.toSorted((a, b) => b.score - a.score)[0];
    if (other) {
      const predicted = { predicted: other.label, predictedScore: other.score };
      return other.score >= sure ? [{ label, labelScore: 0, ...predicted, box }] : [];
    }
    const isMissed = found.every((one) => overlap(one.box, box) < overlapping);
    return isMissed ? [{ label, labelScore: 0, predicted: '', predictedScore: 0, box }] : [];
  });
  const missing = found.flatMap(({ label, score, box }): Doubt[] =>
    score >= sure && boxes.every((one) => overlap(one.box, box) < overlapping)
      ? [{ label: '', labelScore: 0, predicted: label, predictedScore: score, box }]
      : [],
  );
  return [...given, ...missing];
}

/** Intersection over union. */
function overlap(a: PredictedBox, b: PredictedBox): number {
  const width = Math.min(a[2], b[2]) - Math.max(a[0], b[0]);
  const height = Math.min(a[3], b[3]) - Math.max(a[1], b[1]);
  if (width <= 0 || height <= 0) return 0;
  const area = (box: PredictedBox): number => (box[2] - box[0]) * (box[3] - box[1]);
  return (width * height) / (area(a) + area(b) - width * height);
}
