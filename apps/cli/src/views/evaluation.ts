import type { JsonObject } from '@bufbuild/protobuf';
import { cellText, predictedCount } from '@platform/contract/confidence';
import { percentText } from '../output.ts';

interface PerClass {
  readonly header: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

const number = (from: Record<string, unknown>, key: string): number | undefined =>
  typeof from[key] === 'number' ? from[key] : undefined;
const share = (value: number | undefined): string => (value === undefined ? '' : percentText(value));

/** With their intervals: both are shares of boxes or images that were counted. */
function precisionAndRecall(row: JsonObject): [string, string] {
  const [precision, recall, support] = [number(row, 'precision'), number(row, 'recall'), number(row, 'support')];
  if (precision === undefined || recall === undefined || support === undefined)
    return [share(precision), share(recall)];
  return [cellText(precision, predictedCount({ precision, recall, support })), cellText(recall, support)];
}

/** Figures per label: which ones depends on the kind of model. Undefined when the evaluation has none. */
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
      ...precisionAndRecall(row),
      share(number(row, 'f1')),
      ...shown.map(([key]) => (key === 'threshold' ? (number(row, key)?.toFixed(2) ?? '') : share(number(row, key)))),
      String(number(row, 'support') ?? ''),
    ]),
  };
}

/** What would help, as the trainer says it. */
export function adviceOf(evaluation: JsonObject | undefined): string[] {
  const advice = evaluation?.['advice'];
  return Array.isArray(advice) ? advice.filter((one) => typeof one === 'string') : [];
}
