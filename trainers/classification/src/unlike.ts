/**
 * "Unlike anything seen": the cosine distance of an image's features to the nearest mean of a label. 0: like the mean
 * of a label. Near 1: like none. At most 2.
 */

/** What the score is computed with; part of the model files. */
export interface UnlikeReference {
  /** By channel: a feature is standardized as (x − mean) × factor. */
  mean: Float32Array;
  factor: Float32Array;
  /** By label: the mean of the training images, of length 1. [classes, channels] */
  directions: readonly Float32Array[];
}

/** Features of one training image and its label. */
export interface TrainingFeature {
  label: number;
  feature: Float32Array;
}

const leastVariance = 1e-4;
/** Keeps the length of a feature above 0. */
export const leastSquare = 1e-6;

function unit(values: Float32Array): Float32Array {
  let sum = leastSquare;
  for (const value of values) sum += value * value;
  const factor = 1 / Math.sqrt(sum);
  return values.map((value) => value * factor);
}
function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += (a[i] ?? 0) * (b[i] ?? 0);
  return sum;
}
function addTo(sum: Float32Array, values: Float32Array, factor = 1): void {
  for (let i = 0; i < sum.length; i++) sum[i] = (sum[i] ?? 0) + factor * (values[i] ?? 0);
}

const direction = (feature: Float32Array, { mean, factor }: Pick<UnlikeReference, 'mean' | 'factor'>): Float32Array =>
  unit(feature.map((value, c) => (value - (mean[c] ?? 0)) * (factor[c] ?? 0)));

function sumsByLabel(directions: readonly Float32Array[], labels: readonly number[], classes: number): Float32Array[] {
  const sums = Array.from({ length: classes }, () => new Float32Array(directions[0]?.length ?? 0));
  for (const [i, label] of labels.entries()) {
    const sum = sums[label];
    if (sum) addTo(sum, directions[i] ?? new Float32Array());
  }
  return sums;
}

export function unlikeReferenceOf(images: readonly TrainingFeature[], classes: number): UnlikeReference {
  const channels = images[0]?.feature.length ?? 0;
  const mean = new Float32Array(channels);
  for (const { feature } of images) addTo(mean, feature, 1 / images.length);
  const variance = new Float32Array(channels);
  for (const { feature } of images) {
    const squares = feature.map((value, c) => (value - (mean[c] ?? 0)) ** 2);
    addTo(variance, squares, 1 / images.length);
  }
  const factor = variance.map((value) => 1 / Math.sqrt(value + leastVariance));
  return { mean, factor, directions: meanDirections(images, { mean, factor }, classes) };
}

/** The mean of the images of each label, of length 1. */
export function meanDirections(
  images: readonly TrainingFeature[],
  standard: Pick<UnlikeReference, 'mean' | 'factor'>,
  classes: number,
): Float32Array[] {
  const own = images.map(({ feature }) => direction(feature, standard));
  const labels = images.map(({ label }) => label);
  return sumsByLabel(own, labels, classes).map(unit);
}

export function unlikeScore(reference: UnlikeReference, feature: Float32Array): number {
  const own = direction(feature, reference);
  return 1 - Math.max(...reference.directions.map((one) => dot(one, own)));
}

/** The score of each training image, left out of the mean of its own label. */
export function leaveOneOutScores(reference: UnlikeReference, images: readonly TrainingFeature[]): number[] {
  const own = images.map(({ feature }) => direction(feature, reference));
  const labels = images.map(({ label }) => label);
  const sums = sumsByLabel(own, labels, reference.directions.length);
  return images.map(({ label }, i) => {
    const mine = own[i] ?? new Float32Array();
    const cosines = reference.directions.map((one, k) => {
      if (k !== label) return dot(one, mine);
      const rest = Float32Array.from(sums[k] ?? []);
      addTo(rest, mine, -1);
      return dot(unit(rest), mine);
    });
    return 1 - Math.max(...cosines);
  });
}

/** Share of images of the labels that are to lie at or below the threshold. */
const knownShare = 0.95;

/** The threshold for these scores of images of the labels: with fewer than 19, the highest. Undefined without scores. */
export function unlikeThreshold(scores: readonly number[]): number | undefined {
  const rank = Math.min(scores.length, Math.ceil((scores.length + 1) * knownShare));
  return scores.toSorted((a, b) => a - b)[rank - 1];
}
