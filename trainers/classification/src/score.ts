/** Metrics of a classifier, from its probabilities. */
import type { ClassReport, Score } from '@platform/contract/job/evaluation';

export interface EvaluatedImage {
  /** Indices of the true classes; exactly one for single-label classification. */
  classes: readonly number[];
  probabilities: Float64Array | Float32Array;
}

export function softmax(logits: Float32Array): Float64Array {
  const max = logits.reduce((a, b) => Math.max(a, b), -Infinity);
  const powers = Float64Array.from(logits, (x) => Math.exp(x - max));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((x) => x / sum);
}
export function argmax(probabilities: Float64Array | Float32Array): number {
  let at = 0;
  for (let k = 1; k < probabilities.length; k++) if ((probabilities[k] ?? 0) > (probabilities[at] ?? 0)) at = k;
  return at;
}

/** Rows: true class, columns: predicted class. */
export function confusionOf(evaluated: readonly EvaluatedImage[], classes: number): number[][] {
  const counts = Array.from({ length: classes }, () => Array.from({ length: classes }, () => 0));
  for (const {
    classes: [label = -1],
    probabilities,
  } of evaluated) {
    const row = counts[label];
    const column = argmax(probabilities);
    if (row) row[column] = (row[column] ?? 0) + 1;
  }
  return counts;
}
export function classReports(confusion: readonly (readonly number[])[], labels: readonly string[]): ClassReport[] {
  return labels.map((label, k) => {
    const hits = confusion[k]?.[k] ?? 0;
    const support = (confusion[k] ?? []).reduce((a, b) => a + b, 0);
    const predicted = confusion.reduce((sum, row) => sum + (row[k] ?? 0), 0);
    const precision = predicted === 0 ? 0 : hits / predicted;
    const recall = support === 0 ? 0 : hits / support;
    const f1 = precision + recall === 0 ? 0 : (2 * precision * recall) / (precision + recall);
    return { label, precision, recall, f1, support };
  });
}
/** The mean F1 excludes classes without held-out images. */
export function scoreOf(evaluated: readonly EvaluatedImage[], labels: readonly string[]): Score {
  if (evaluated.length === 0) return { accuracy: 0, macro_f1: 0 };
  const hits = evaluated.filter(({ classes: [label], probabilities }) => argmax(probabilities) === label).length;
  const reports = classReports(confusionOf(evaluated, labels.length), labels).filter(({ support }) => support > 0);
  const macro = reports.reduce((sum, { f1 }) => sum + f1, 0) / reports.length;
  return { accuracy: hits / evaluated.length, macro_f1: macro };
}
/** −log p(true class). */
export function crossEntropy({ classes: [label = -1], probabilities }: EvaluatedImage): number {
  return -Math.log(Math.max(1e-9, probabilities[label] ?? 0));
}
