/** Figures of a classifier whose labels are there or not, each for itself. */
import type { MultiLabelEvaluation, MultiLabelScore } from '@platform/contract/evaluation';
import { modelKinds } from '@platform/contract/model-kinds';
import { labelsAbove } from '@platform/contract/model-output';
import type { Judged } from './score.ts';

interface Ranked {
  probability: number;
  isThere: boolean;
}
const rankedBy = (judged: readonly Judged[], k: number): Ranked[] =>
  judged
    .map(({ classes, probabilities }) => ({ probability: probabilities[k] ?? 0, isThere: classes.includes(k) }))
    .toSorted((a, b) => b.probability - a.probability);

/**
 * The mean, over the pictures with the label, of the precision among those ranked as high as it. Pictures of the same
 * probability share a rank. 0 where no picture has the label.
 */
export function averagePrecision(judged: readonly Judged[], k: number): number {
  const ranked = rankedBy(judged, k);
  let [seen, hits, sum] = [0, 0, 0];
  for (const group of Map.groupBy(ranked, ({ probability }) => probability).values()) {
    const found = group.filter(({ isThere }) => isThere).length;
    seen += group.length;
    hits += found;
    sum += found * (hits / seen);
  }
  return hits === 0 ? 0 : sum / hits;
}

const f1Of = (hits: number, wrong: number, missed: number): number =>
  hits === 0 ? 0 : (2 * hits) / (2 * hits + wrong + missed);

/** Thresholds that are tried, in hundredths. */
const candidates = Array.from({ length: 97 }, (_, i) => i + 2);
/**
 * Pictures with the label that all labels together stand for when the threshold of one is chosen: a label with few
 * validation pictures gets about the threshold that is best for all, one with many its own.
 */
const borrowed = 8;

/** How far, as a logit, a picture may lie from one that it is like. */
const spread = 0.5;
const logit = (p: number): number => Math.log(Math.max(p, 1e-7) / Math.max(1 - p, 1e-7));
const sigmoid = (z: number): number => 1 / (1 + Math.exp(-z));

interface Placed {
  there: ReadonlySet<number>;
  logits: readonly number[];
}

/**
 * From which probability on each label counts as there, for the best F1 that is to be expected of pictures like these: each
 * stands for those around it. Of the few that validate, one alone would otherwise move the threshold to its own place.
 */
export function thresholdsOf(judged: readonly Judged[], classes: number): number[] {
  const present = judged.reduce((sum, one) => sum + one.classes.length, 0);
  const share = present === 0 ? 0 : borrowed / present;
  const placed = judged.map((one) => ({ there: new Set(one.classes), logits: Array.from(one.probabilities, logit) }));
  const scores = candidates.map((hundredths) => {
    const own = expectedCounts(placed, classes, logit(hundredths / 100));
    const all = sumOf(own);
    return own.map(({ hits, wrong, missed }) =>
      f1Of(hits + share * all.hits, wrong + share * all.wrong, missed + share * all.missed),
    );
  });
  return Array.from({ length: classes }, (_, k) => bestOf(scores.map((of) => of[k] ?? 0)));
}

/** A half where none scores. */
function bestOf(scores: readonly number[]): number {
  const best = Math.max(...scores);
  return best === 0 ? 0.5 : (candidates[scores.indexOf(best)] ?? 50) / 100;
}

/** @param threshold - of every label, a logit. */
function expectedCounts(placed: readonly Placed[], classes: number, threshold: number): Counts[] {
  const counts = Array.from({ length: classes }, () => ({ hits: 0, wrong: 0, missed: 0 }));
  for (const { there, logits } of placed) {
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
function countsOf(judged: readonly Judged[], thresholds: readonly number[]): Counts[] {
  const counts = thresholds.map(() => ({ hits: 0, wrong: 0, missed: 0 }));
  for (const { classes, probabilities } of judged) {
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

/** Labels that no picture has do not count in the means. */
export function multiScoreOf(judged: readonly Judged[], thresholds: readonly number[]): MultiLabelScore {
  if (judged.length === 0) return { micro_f1: 0, macro_f1: 0, exact_match: 0, mean_average_precision: 0 };
  const counts = countsOf(judged, thresholds);
  const there = [...counts.keys()].filter((k) => judged.some(({ classes }) => classes.includes(k)));
  const total = sumOf(counts);
  const mean = (of: (k: number) => number): number =>
    there.length === 0 ? 0 : there.reduce((sum, k) => sum + of(k), 0) / there.length;
  const exact = judged.filter(
    ({ classes, probabilities }) =>
      labelsAbove(probabilities, thresholds).join() === classes.toSorted((a, b) => a - b).join(),
  );
  return {
    micro_f1: f1Of(total.hits, total.wrong, total.missed),
    macro_f1: mean((k) => {
      const { hits, wrong, missed } = counts[k] ?? { hits: 0, wrong: 0, missed: 0 };
      return f1Of(hits, wrong, missed);
    }),
    exact_match: exact.length / judged.length,
    mean_average_precision: mean((k) => averagePrecision(judged, k)),
  };
}

export function labelReports(
  judged: readonly Judged[],
  thresholds: readonly number[],
  labels: readonly string[],
): MultiLabelEvaluation['per_class'] {
  return countsOf(judged, thresholds).map(({ hits, wrong, missed }, k) => ({
    label: labels[k] ?? '',
    precision: hits + wrong === 0 ? 0 : hits / (hits + wrong),
    recall: hits + missed === 0 ? 0 : hits / (hits + missed),
    f1: f1Of(hits, wrong, missed),
    support: hits + missed,
    average_precision: averagePrecision(judged, k),
    threshold: thresholds[k] ?? modelKinds.multi_label_classification.defaultThreshold,
  }));
}
