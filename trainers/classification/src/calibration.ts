/** Temperature scaling: one number makes probabilities match how often the labels are right. It changes no ranking. */
import type { OutputKind } from './head.ts';
import { argmax } from './score.ts';
import type { EvaluatedImage } from './score.ts';

/** Bounds a likelihood: one image that is wrong with certainty must not decide alone. */
const least = 1e-7;
/** Near the least float64 above 0, and the least distance from 1: logits are recovered without a visible difference. */
const [aboveZero, belowOne] = [1e-300, 1e-16];
const logit = (p: number): number => Math.log(Math.max(p, aboveZero) / Math.max(1 - p, belowOne));
const sigmoid = (z: number): number => 1 / (1 + Math.exp(-z));

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

/** Sum of the negative log likelihoods of the true labels. */
function negativeLogLikelihood(evaluated: readonly EvaluatedImage[], output: OutputKind, temperature: number): number {
  let sum = 0;
  for (const { classes, probabilities } of evaluated) {
    for (const [k, p] of atTemperature(probabilities, output, temperature).entries()) {
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

/** The most likely temperature for these images; 1 without images. */
export function chooseTemperature(evaluated: readonly EvaluatedImage[], output: OutputKind): number {
  if (evaluated.length === 0) return 1;
  const candidates = Array.from({ length: steps + 1 }, (_, i) =>
    Math.exp(Math.log(range.lowest) + (i / steps) * Math.log(range.highest / range.lowest)),
  );
  const costs = candidates.map(
    (one) => negativeLogLikelihood(evaluated, output, one) + Math.log(one) ** 2 / (2 * priorSpread ** 2),
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
