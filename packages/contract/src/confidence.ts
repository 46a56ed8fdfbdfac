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

/** Of fewer cases a share is shown as a count: "3 of 4". */
export const fewestForShare = 20;

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
/** Scores that are shares of images: each image is right or wrong. The others are means over labels. */
const shares: ReadonlySet<string> = new Set(['accuracy', 'exact_match']);

const countText = (share: number, count: number): string => `${Math.round(share * count)} of ${count}`;

/**
 * A score with its interval: "96.0 % (92.3 to 98.0 %)", of fewer than 20 images "19 of 19". For means such as F1 and mAP the
 * interval is that of a share of as many images, which is about right.
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
  const { low, high } = wilson(share, count);
  return `${(100 * share).toFixed(0)} % (${(100 * low).toFixed(0)}–${(100 * high).toFixed(0)})`;
}

/** How often a label was predicted: the right ones are `recall` of the true ones and `precision` of these. */
export const predictedCount = (of: { precision: number; recall: number; support: number }): number =>
  of.precision > 0 ? Math.round((of.recall * of.support) / of.precision) : 0;
