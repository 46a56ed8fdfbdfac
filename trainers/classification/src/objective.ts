/** What differs between the two kinds of classifier: targets, loss and validation score. */
import type { OutputKind } from './head.ts';
import { classWeights, labelWeights } from './dataset.ts';
import type { Example, Task } from './dataset.ts';
import { multiLabelScoreOf, chooseThresholds } from './multi-score.ts';
import { crossEntropy, scoreOf, softmax } from './score.ts';
import type { EvaluatedImage } from './score.ts';

export interface Validation {
  loss: number;
  /** Standard error of the loss: large with few images. */
  lossError: number;
  /** Selects the model, higher is better: accuracy, or the mean average precision of the labels. */
  score: number;
  /** Score for users: accuracy, or the micro F1 at the best thresholds. */
  shown: number;
}
/**
 * Whether to deliver the probe instead of the fine-tuned network: if its score is higher by more than the sampling
 * error. With few images the default decides, and fine-tuning nearly always helps.
 *
 * @param images - number of validation images of both.
 */
export function isProbeBetter(probe: Validation, tuned: Validation, images: number): boolean {
  // Add one right and one wrong image: ten of ten do not prove that the model is never wrong.
  const share = (tuned.score * images + 1) / (images + 2);
  return probe.score - tuned.score > Math.sqrt((share * (1 - share)) / images);
}

export interface Objective {
  task: Task;
  output: OutputKind;
  /** Target of an image, one number per class. */
  target(classes: readonly number[], smoothing: number): number[];
  /** Weights of the loss: one number, or one per class. */
  weights(classes: readonly number[]): readonly number[];
  probabilities(logits: Float32Array): Float64Array;
  /** Loss of one image. */
  lossOf(evaluated: EvaluatedImage): number;
  validation(evaluated: readonly EvaluatedImage[]): Validation;
}

export const outputOf = (task: Task): OutputKind => (task === 'single_label_classification' ? 'softmax' : 'sigmoid');

/** @param examples - the training examples: rare classes get a higher weight. */
export function objectiveOf(task: Task, examples: readonly Example[], labels: readonly string[]): Objective {
  return task === 'single_label_classification' ? singleLabel(examples, labels) : multiLabel(examples, labels);
}

export function meanLoss(losses: readonly number[]): { loss: number; lossError: number } {
  const n = losses.length;
  const loss = losses.reduce((a, b) => a + b, 0) / n;
  const variance = losses.reduce((sum, one) => sum + (one - loss) ** 2, 0) / Math.max(1, n - 1);
  return { loss, lossError: Math.sqrt(variance / n) };
}

function singleLabel(examples: readonly Example[], labels: readonly string[]): Objective {
  const perClass = classWeights(examples, labels.length);
  return {
    task: 'single_label_classification',
    output: 'softmax',
    target: ([label], smoothing) => labels.map((_, k) => (k === label ? 1 - smoothing : 0) + smoothing / labels.length),
    weights: ([label = -1]) => [perClass[label] ?? 1],
    probabilities: softmax,
    lossOf: crossEntropy,
    validation: (evaluated) => {
      const { accuracy } = scoreOf(evaluated, labels);
      return { ...meanLoss(evaluated.map(crossEntropy)), score: accuracy, shown: accuracy };
    },
  };
}

const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));
const highestOf = 1e-7;

function binaryCrossEntropy({ classes, probabilities }: EvaluatedImage): number {
  let sum = 0;
  for (const [k, p] of probabilities.entries()) sum -= Math.log(Math.max(highestOf, classes.includes(k) ? p : 1 - p));
  return sum / probabilities.length;
}

function multiLabel(examples: readonly Example[], labels: readonly string[]): Objective {
  const positive = labelWeights(examples, labels.length);
  return {
    task: 'multi_label_classification',
    output: 'sigmoid',
    // Label smoothing as with one label: moves the target towards 0.5.
    target: (classes, smoothing) => labels.map((_, k) => (classes.includes(k) ? 1 - smoothing / 2 : smoothing / 2)),
    weights: (classes) => positive.map((weight, k) => (classes.includes(k) ? weight : 1)),
    probabilities: (logits) => Float64Array.from(logits, sigmoid),
    lossOf: binaryCrossEntropy,
    validation: (evaluated) => {
      const { micro_f1, mean_average_precision } = multiLabelScoreOf(
        evaluated,
        chooseThresholds(evaluated, labels.length),
      );
      return { ...meanLoss(evaluated.map(binaryCrossEntropy)), score: mean_average_precision, shown: micro_f1 };
    },
  };
}
