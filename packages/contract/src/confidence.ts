/** How much a score is worth that was measured on few images. */

export interface Interval {
  readonly low: number;
  readonly high: number;
}

/** Quantile of the normal distribution for 95 %. */
const z = 1.959963984540054;

/**
 * Wilson's 95 % interval of a share that was measured on `count` cases.
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

/** On fewer cases a share is shown as a count: "3 of 4". */
export const fewestForShare = 20;

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
/** Scores that are shares of images: each image is right or wrong. The others are means over labels. */
const shares: ReadonlySet<string> = new Set(['accuracy', 'exact_match']);

const countText = (share: number, count: number): string => `${Math.round(share * count)} of ${count}`;

/**
 * A score with its interval: "96.0 % (92.3 to 98.0 %)", on fewer than 20 images "19 of 19". For means such as F1 and mAP the
 * interval is that of a share of the same number of images, which is about right.
 *
 * @param name - as in evaluation.json.
 * @param count - held-out images; 0: not known.
 */
export function scoreText(name: string, score: number, count: number): string {
  if (!(count > 0)) return percent(score);
  if (shares.has(name) && count < fewestForShare) return countText(score, count);
  const { low, high } = wilson(score, count);
  return `${percent(score)} (${(100 * low).toFixed(1)} to ${percent(high)})`;
}

/** As `scoreText`, short enough for a cell of a table: "96 % (92–98)". */
export function cellText(share: number, count: number): string {
  if (!(count > 0)) return percent(share);
  if (count < fewestForShare) return countText(share, count);
  return figureText(share, wilson(share, count));
}

/** A figure with its interval for a cell of a table: "64 % (44–80)". */
const figureText = (value: number, { low, high }: Interval): string =>
  `${(100 * value).toFixed(0)} % (${(100 * low).toFixed(0)}–${(100 * high).toFixed(0)})`;

/** The figures of one label that have an interval, by their names in evaluation.json. */
export const classFigures = ['precision', 'recall', 'f1', 'average_precision', 'ap50', 'ap75'] as const;
export type ClassFigure = (typeof classFigures)[number];
export type ClassIntervals = { readonly [F in ClassFigure]?: Interval };

/** What a row of `per_class` holds; rows of other programs may lack figures. */
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

/** The numbers of a row: custom scripts write evaluations, too, so that any figure may be missing or no number. */
function figuresIn(row: object): ClassFigures {
  const numbers = Object.entries(row).filter(([, value]) => typeof value === 'number');
  const stored: unknown = 'intervals_95' in row ? row.intervals_95 : undefined;
  const intervals = Object.entries(stored ?? {}).filter(([, value]) => isInterval(value));
  return { ...(Object.fromEntries(numbers) as ClassFigures), intervals_95: Object.fromEntries(intervals) };
}

/** How often a label was predicted: the right ones are `recall` of the true ones and `precision` of these. */
export const predictedCount = (of: { precision: number; recall: number; support: number }): number =>
  of.precision > 0 ? Math.round((of.recall * of.support) / of.precision) : 0;

/**
 * Wilson's interval of F1, by way of the share F* = hits / (hits + wrong + missed): F1 = 2 F* / (1 + F*).
 *
 * @source Lam, Gopal, Qian, "Confidence intervals for the F1 score: a comparison of four methods", 2023 ("Wilson indirect").
 */
function f1Interval(precision: number, recall: number, support: number): Interval {
  const hits = Math.round(recall * support);
  const cases = support + predictedCount({ precision, recall, support }) - hits;
  const { low, high } = wilson(hits / cases, cases);
  const f1Of = (share: number): number => (2 * share) / (1 + share);
  return { low: f1Of(low), high: f1Of(high) };
}

/**
 * The interval of one figure of a label; undefined where nothing was counted. Average precision is taken as a share of the
 * true cases: a bootstrap over images is too sure where few are wrong (it held the true value in 57 % of the samples of 10
 * cases with an average precision of 0.98; this interval in 98 %).
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

/** A row of `per_class` together with the intervals of its figures. */
export function withIntervals<R extends ClassFigures>(row: R): R & { intervals_95: ClassIntervals } {
  const found = classFigures.flatMap((figure) => {
    const interval = classInterval(row, figure);
    return interval ? [[figure, rounded(interval)]] : [];
  });
  return { ...row, intervals_95: Object.fromEntries(found) as ClassIntervals };
}

/** One figure of a label for a cell of a table: "64 % (44–80)"; precision and recall of few cases as a count: "3 of 4". */
export function classText(row: object, figure: ClassFigure): string {
  const figures = figuresIn(row);
  const { precision, recall, support = 0, [figure]: value } = figures;
  if (value === undefined) return '';
  if (figure === 'recall') return cellText(value, support);
  if (figure === 'precision' && precision !== undefined && recall !== undefined)
    return cellText(value, predictedCount({ precision, recall, support }));
  const interval = classInterval(figures, figure);
  return interval ? figureText(value, interval) : percent(value);
}
