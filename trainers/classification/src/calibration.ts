/**
 * Makes probabilities match how often the labels are right: a temperature divides the logits, and with one label per
 * image an offset per label is added before. A temperature changes no answer; offsets can.
 */
import type { OutputKind } from './head.ts';
import { argmax } from './score.ts';
import type { EvaluatedImage } from './score.ts';

/** Bounds a likelihood: one image that is wrong with certainty must not decide alone. */
const least = 1e-7;
/** Near the least float64 above 0, and the least distance from 1: logits are recovered without a visible difference. */
const [aboveZero, belowOne] = [1e-300, 1e-16];
const logit = (p: number): number => Math.log(Math.max(p, aboveZero) / Math.max(1 - p, belowOne));
const sigmoid = (z: number): number => 1 / (1 + Math.exp(-z));

export interface LogitCalibration {
  /** Divides the logits. */
  temperature: number;
  /** Added to the logits before, one per label; undefined: none. */
  offsets?: Float64Array | undefined;
}

/** The probabilities at this temperature: logits divided by it. */
export function atTemperature(
  probabilities: EvaluatedImage['probabilities'],
  output: OutputKind,
  temperature: number,
): Float64Array {
  if (output === 'sigmoid') return Float64Array.from(probabilities, (p) => sigmoid(logit(p) / temperature));
  const powers = Float64Array.from(probabilities, (p) => Math.max(p, aboveZero) ** (1 / temperature));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((x) => x / sum);
}

/** The calibrated probabilities. */
export const calibrated = (
  evaluated: readonly EvaluatedImage[],
  output: OutputKind,
  { temperature, offsets }: LogitCalibration,
): EvaluatedImage[] =>
  evaluated.map(({ classes, probabilities }) => ({
    classes,
    probabilities: atTemperature(offsets ? withOffsets(probabilities, offsets) : probabilities, output, temperature),
  }));

/** Sum of the negative log likelihoods of the true labels. */
function negativeLogLikelihood(
  evaluated: readonly EvaluatedImage[],
  output: OutputKind,
  temperature: number,
  dividedOffsets: Float64Array | undefined,
): number {
  let sum = 0;
  for (const { classes, probabilities } of evaluated) {
    const divided = atTemperature(probabilities, output, temperature);
    for (const [k, p] of (dividedOffsets ? withOffsets(divided, dividedOffsets) : divided).entries()) {
      if (classes.includes(k)) sum -= Math.log(Math.max(least, p));
      else if (output === 'sigmoid') sum -= Math.log(Math.max(least, 1 - p));
    }
  }
  return sum;
}

/**
 * Standard deviation of the prior on the logarithm of the temperature. With ten validation images that are all right,
 * likelihood alone would choose the lowest temperature.
 */
const priorSpread = 0.5;
const range = { lowest: 0.25, highest: 4 };
const steps = 80;
/** Largest distance of the temperature's logarithm from that of one that is near. */
const nearby = 0.12;

/** Probabilities with these offsets added to the logits. */
export function withOffsets(probabilities: EvaluatedImage['probabilities'], offsets: Float64Array): Float64Array {
  const powers = Float64Array.from(probabilities, (p, k) => p * Math.exp(offsets[k] ?? 0));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((x) => x / sum);
}

/** What calibrated probabilities were before. */
export function uncalibrated(
  evaluated: readonly EvaluatedImage[],
  output: OutputKind,
  { temperature, offsets }: LogitCalibration,
): EvaluatedImage[] {
  const negated = offsets?.map((one) => -one);
  return evaluated.map(({ classes, probabilities }) => {
    const multiplied = atTemperature(probabilities, output, 1 / temperature);
    return { classes, probabilities: negated ? withOffsets(multiplied, negated) : multiplied };
  });
}

/**
 * The most likely temperature for these images; 1 without images.
 *
 * @param known - offsets that are added to the divided logits, and a temperature that is near.
 */
export function chooseTemperature(
  evaluated: readonly EvaluatedImage[],
  output: OutputKind,
  known?: { dividedOffsets?: Float64Array; near?: number | undefined },
): number {
  if (evaluated.length === 0) return 1;
  const candidates = Array.from({ length: steps + 1 }, (_, i) =>
    Math.exp(Math.log(range.lowest) + (i / steps) * Math.log(range.highest / range.lowest)),
  ).filter((one) => known?.near === undefined || Math.abs(Math.log(one / known.near)) < nearby);
  const costs = candidates.map(
    (one) =>
      negativeLogLikelihood(evaluated, output, one, known?.dividedOffsets) +
      Math.log(one) ** 2 / (2 * priorSpread ** 2),
  );
  return candidates[costs.indexOf(Math.min(...costs))] ?? 1;
}

const bins = 10;
/**
 * Expected calibration error: mean difference between probability and share of right answers, in ten bins of the
 * probability. With one label per image of the highest probability, with several labels of each label's.
 */
export function calibrationError(evaluated: readonly EvaluatedImage[], output: OutputKind): number {
  const answers = evaluated.flatMap(({ classes, probabilities }) => {
    if (output === 'sigmoid') return Array.from(probabilities, (p, k) => ({ p, isRight: classes.includes(k) }));
    const best = argmax(probabilities);
    return [{ p: probabilities[best] ?? 0, isRight: classes.includes(best) }];
  });
  let sum = 0;
  for (const some of Map.groupBy(answers, ({ p }) => Math.min(bins - 1, Math.floor(p * bins))).values()) {
    const right = some.filter(({ isRight }) => isRight).length;
    sum += Math.abs(some.reduce((total, { p }) => total + p, 0) - right);
  }
  return answers.length === 0 ? 0 : sum / answers.length;
}
