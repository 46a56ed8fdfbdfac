/** Figures of a classifier whose labels are there or not, each for itself. */
import type { MultiLabelEvaluation, MultiLabelScore } from '@platform/contract/evaluation';
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

/**
 * From which probability on each label counts as there, for the best F1 on these pictures. Where many thresholds do
 * equally well, the one in their middle: new pictures are a little different on either side.
 */
export function thresholdsOf(judged: readonly Judged[], classes: number): number[] {
  const present = judged.reduce((sum, one) => sum + one.classes.length, 0);
  const share = present === 0 ? 0 : borrowed / present;
  const scores = candidates.map((hundredths) => {
    const own = countsOf(
      judged,
      Array.from({ length: classes }, () => hundredths / 100),
    );
    const all = sumOf(own);
    return own.map(({ hits, wrong, missed }) =>
      f1Of(hits + share * all.hits, wrong + share * all.wrong, missed + share * all.missed),
    );
  });
  return Array.from({ length: classes }, (_, k) => middleOfBest(scores.map((of) => of[k] ?? 0)));
}

/** Of the longest run of candidates with the best score; a half where none scores. */
function middleOfBest(scores: readonly number[]): number {
  const best = Math.max(...scores);
  if (best === 0) return 0.5;
  let [length, end, run] = [0, 0, 0];
  for (const [i, score] of scores.entries()) {
    run = score > best - 1e-9 ? run + 1 : 0;
    if (run > length) [length, end] = [run, i];
  }
  return Math.round(((candidates[end - length + 1] ?? 50) + (candidates[end] ?? 50)) / 2) / 100;
}

/** Classes whose probability reaches their threshold. */
export function predictedOf(probabilities: Float64Array | Float32Array, thresholds: readonly number[]): number[] {
  return [...thresholds.keys()].filter((k) => (probabilities[k] ?? 0) >= (thresholds[k] ?? 0.5));
}

interface Counts {
  hits: number;
  wrong: number;
  missed: number;
}
function countsOf(judged: readonly Judged[], thresholds: readonly number[]): Counts[] {
  const counts = thresholds.map(() => ({ hits: 0, wrong: 0, missed: 0 }));
  for (const { classes, probabilities } of judged) {
    const predicted = new Set(predictedOf(probabilities, thresholds));
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
      predictedOf(probabilities, thresholds).join() === classes.toSorted((a, b) => a - b).join(),
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
    threshold: thresholds[k] ?? 0.5,
  }));
}
