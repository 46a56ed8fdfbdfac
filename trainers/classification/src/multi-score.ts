/** Metrics of multi-label classification. */
import type { MultiLabelEvaluation, MultiLabelScore } from '@platform/contract/job/evaluation';
import { modelKinds } from '@platform/contract/job/model-kinds';
import { labelsAbove } from '@platform/contract/job/model-output';
import type { EvaluatedImage } from './score.ts';

interface Ranked {
  probability: number;
  isPresent: boolean;
}
const rankedBy = (evaluated: readonly EvaluatedImage[], k: number): Ranked[] =>
  evaluated
    .map(({ classes, probabilities }) => ({ probability: probabilities[k] ?? 0, isPresent: classes.includes(k) }))
    .toSorted((a, b) => b.probability - a.probability);

/**
 * Average precision of label `k`: mean precision at the rank of each image that has the label. Images with equal
 * probability share a rank. 0 if no image has the label.
 */
export function averagePrecision(evaluated: readonly EvaluatedImage[], k: number): number {
  const ranked = rankedBy(evaluated, k);
  let [seen, hits, sum] = [0, 0, 0];
  for (const group of Map.groupBy(ranked, ({ probability }) => probability).values()) {
    const found = group.filter(({ isPresent: isThere }) => isThere).length;
    seen += group.length;
    hits += found;
    sum += found * (hits / seen);
  }
  return hits === 0 ? 0 : sum / hits;
}

const f1Of = (hits: number, wrong: number, missed: number): number =>
  hits === 0 ? 0 : (2 * hits) / (2 * hits + wrong + missed);

/** Candidate thresholds, in hundredths. */
const candidates = Array.from({ length: 97 }, (_, i) => i + 2);
/**
 * Weight of the prior, in images with the label. A label with few validation images gets about the threshold that is
 * best for all labels; one with many gets its own.
 */
const priorPositives = 8;

/** Width of the smoothing kernel, in logits. */
const spread = 0.5;
const logit = (p: number): number => Math.log(Math.max(p, 1e-7) / Math.max(1 - p, 1e-7));
const sigmoid = (z: number): number => 1 / (1 + Math.exp(-z));

interface ImageLogits {
  present: ReadonlySet<number>;
  logits: readonly number[];
}

/**
 * Chooses each label's threshold for the best expected F1 on similar images. Each validation image represents its
 * neighbourhood in logit space: otherwise a single image could determine the threshold.
 */
export function chooseThresholds(evaluated: readonly EvaluatedImage[], classes: number): number[] {
  const present = evaluated.reduce((sum, one) => sum + one.classes.length, 0);
  const share = present === 0 ? 0 : priorPositives / present;
  const placed = evaluated.map((one) => ({
    present: new Set(one.classes),
    logits: Array.from(one.probabilities, logit),
  }));
  const scores = candidates.map((hundredths) => {
    const own = expectedCounts(placed, classes, logit(hundredths / 100));
    const all = sumOf(own);
    return own.map(({ hits, wrong, missed }) =>
      f1Of(hits + share * all.hits, wrong + share * all.wrong, missed + share * all.missed),
    );
  });
  return Array.from({ length: classes }, (_, k) => bestThreshold(scores.map((of) => of[k] ?? 0)));
}

/** 0.5 if every score is 0. */
function bestThreshold(scores: readonly number[]): number {
  const best = Math.max(...scores);
  return best === 0 ? 0.5 : (candidates[scores.indexOf(best)] ?? 50) / 100;
}

/** @param threshold - for every label, a logit. */
function expectedCounts(placed: readonly ImageLogits[], classes: number, threshold: number): Counts[] {
  const counts = Array.from({ length: classes }, () => ({ hits: 0, wrong: 0, missed: 0 }));
  for (const { present: there, logits } of placed) {
    for (const [k, count] of counts.entries()) {
      const predicted = sigmoid(((logits[k] ?? -Infinity) - threshold) / spread);
      if (there.has(k)) {
        count.hits += predicted;
        count.missed += 1 - predicted;
      } else count.wrong += predicted;
    }
  }
  return counts;
}

interface Counts {
  hits: number;
  wrong: number;
  missed: number;
}
function countsOf(evaluated: readonly EvaluatedImage[], thresholds: readonly number[]): Counts[] {
  const counts = thresholds.map(() => ({ hits: 0, wrong: 0, missed: 0 }));
  for (const { classes, probabilities } of evaluated) {
    const predicted = new Set(labelsAbove(probabilities, thresholds));
    for (const [k, count] of counts.entries()) {
      const isThere = classes.includes(k);
      if (predicted.has(k)) count[isThere ? 'hits' : 'wrong']++;
      else if (isThere) count.missed++;
    }
  }
  return counts;
}

function sumOf(counts: readonly Counts[]): Counts {
  const total = { hits: 0, wrong: 0, missed: 0 };
  for (const { hits, wrong, missed } of counts) {
    total.hits += hits;
    total.wrong += wrong;
    total.missed += missed;
  }
  return total;
}

/** The means exclude labels without images. */
export function multiLabelScoreOf(
  evaluated: readonly EvaluatedImage[],
  thresholds: readonly number[],
): MultiLabelScore {
  if (evaluated.length === 0) return { micro_f1: 0, macro_f1: 0, exact_match: 0, mean_average_precision: 0 };
  const counts = countsOf(evaluated, thresholds);
  const there = [...counts.keys()].filter((k) => evaluated.some(({ classes }) => classes.includes(k)));
  const total = sumOf(counts);
  const mean = (of: (k: number) => number): number =>
    there.length === 0 ? 0 : there.reduce((sum, k) => sum + of(k), 0) / there.length;
  const exact = evaluated.filter(
    ({ classes, probabilities }) =>
      labelsAbove(probabilities, thresholds).join() === classes.toSorted((a, b) => a - b).join(),
  );
  return {
    micro_f1: f1Of(total.hits, total.wrong, total.missed),
    macro_f1: mean((k) => {
      const { hits, wrong, missed } = counts[k] ?? { hits: 0, wrong: 0, missed: 0 };
      return f1Of(hits, wrong, missed);
    }),
    exact_match: exact.length / evaluated.length,
    mean_average_precision: mean((k) => averagePrecision(evaluated, k)),
  };
}

export function labelReports(
  evaluated: readonly EvaluatedImage[],
  thresholds: readonly number[],
  labels: readonly string[],
): MultiLabelEvaluation['per_class'] {
  return countsOf(evaluated, thresholds).map(({ hits, wrong, missed }, k) => ({
    label: labels[k] ?? '',
    precision: hits + wrong === 0 ? 0 : hits / (hits + wrong),
    recall: hits + missed === 0 ? 0 : hits / (hits + missed),
    f1: f1Of(hits, wrong, missed),
    support: hits + missed,
    average_precision: averagePrecision(evaluated, k),
    threshold: thresholds[k] ?? modelKinds.multi_label_classification.defaultThreshold,
  }));
}
