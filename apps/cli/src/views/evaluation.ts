import type { JsonObject } from '@bufbuild/protobuf';
import { classText } from '@platform/contract/job/confidence';

interface PerClass {
  readonly header: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

const number = (from: Record<string, unknown>, key: string): number | undefined =>
  typeof from[key] === 'number' ? from[key] : undefined;
/** Metrics per label; the kind of model determines which. Undefined if the evaluation has none. */
export function perClassTable(evaluation: JsonObject | undefined): PerClass | undefined {
  const classes = evaluation?.['per_class'];
  if (!Array.isArray(classes) || classes.length === 0) return undefined;
  const optional = [
    ['ap50', 'AP50'],
    ['ap75', 'AP75'],
    ['average_precision', 'avg. precision'],
    ['threshold', 'threshold'],
  ] as const;
  const rows = classes.filter((one): one is JsonObject => typeof one === 'object' && one !== null);
  const shown = optional.filter(([key]) => rows.some((row) => typeof row[key] === 'number'));
  return {
    header: ['label', 'precision', 'recall', 'F1', ...shown.map(([, title]) => title), 'held out'],
    rows: rows.map((row) => [
      typeof row['label'] === 'string' ? row['label'] : '',
      ...(['precision', 'recall', 'f1'] as const).map((figure) => classText(row, figure)),
      ...shown.map(([key]) => (key === 'threshold' ? (number(row, key)?.toFixed(2) ?? '') : classText(row, key))),
      String(number(row, 'support') ?? ''),
    ]),
  };
}

/** The trainer's suggestions. */
export function adviceOf(evaluation: JsonObject | undefined): string[] {
  const advice = evaluation?.['advice'];
  return Array.isArray(advice) ? advice.filter((one) => typeof one === 'string') : [];
}
