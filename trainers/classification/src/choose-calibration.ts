/**
 * Chooses the calibration of a classifier with one label per image by its validation images. Class weights and chance
 * move the balance between the labels in training; the validation images have the dataset's balance.
 */
import { crossEntropy } from './score.ts';
import type { EvaluatedImage } from './score.ts';
import { atTemperature, calibrated, chooseTemperature } from './calibration.ts';
import type { LogitCalibration } from './calibration.ts';

/**
 * Standard deviation of the prior on each offset, in units of the divided logits. By development sets (decision 0102).
 */
const offsetSpread = 0.5;
/** Both are chosen in turns. Each offset changes by less than 1 at once: Newton's step can overshoot. */
const [rounds, sweeps, largestChange, smallestChange] = [6, 30, 1, 1e-4];
const folds = 5;

/**
 * The most likely temperature, and offsets if images that did not choose them become more likely. With few validation
 * images per label offsets would be chance. A standard error is not asked for: offsets cost nothing, and the prior
 * keeps small what chance can do.
 */
export function chooseCalibration(evaluated: readonly EvaluatedImage[]): LogitCalibration {
  const temperature = chooseTemperature(evaluated, 'softmax');
  return gainOfOffsets(evaluated, temperature) > 0 ? likeliestCalibration(evaluated, temperature) : { temperature };
}

/** What offsets add to the log likelihood, cross-validated. */
function gainOfOffsets(evaluated: readonly EvaluatedImage[], near: number): number {
  let gain = 0;
  for (let fold = 0; fold < Math.min(folds, evaluated.length); fold++) {
    const choosing = evaluated.filter((_, i) => i % folds !== fold);
    const others = evaluated.filter((_, i) => i % folds === fold);
    const costAt = (calibration: LogitCalibration): number =>
      calibrated(others, 'softmax', calibration).reduce((sum, one) => sum + crossEntropy(one), 0);
    gain += costAt({ temperature: chooseTemperature(choosing, 'softmax', { near }) });
    gain -= costAt(likeliestCalibration(choosing, near));
  }
  return gain;
}

function likeliestCalibration(evaluated: readonly EvaluatedImage[], start: number): LogitCalibration {
  let dividedOffsets: Float64Array = new Float64Array(evaluated[0]?.probabilities.length ?? 0);
  let temperature = start;
  for (let round = 0; round < rounds; round++) {
    const near = temperature;
    const divided = evaluated.map(({ classes, probabilities }) => ({
      classes,
      probabilities: atTemperature(probabilities, 'softmax', near),
    }));
    dividedOffsets = likeliestOffsets(divided);
    temperature = chooseTemperature(evaluated, 'softmax', { dividedOffsets, near });
    if (temperature === near) break;
  }
  return { temperature, offsets: dividedOffsets.map((one) => one * temperature) };
}

/** Coordinate descent by Newton's steps: the cost is convex. */
function likeliestOffsets(evaluated: readonly EvaluatedImage[]): Float64Array {
  const labels = evaluated[0]?.probabilities.length ?? 0;
  const offsets = new Float64Array(labels);
  const shares = evaluated.map(({ probabilities }) => Float64Array.from(probabilities));
  const sums = shares.map((own) => own.reduce((a, b) => a + b, 0));
  const counts = Array.from({ length: labels }, (_, k) => evaluated.filter(({ classes }) => classes[0] === k).length);
  for (let sweep = 0; sweep < sweeps; sweep++) {
    let largest = 0;
    for (const [k, offset] of offsets.entries()) {
      let slope = offset / offsetSpread ** 2 - (counts[k] ?? 0);
      let curvature = 1 / offsetSpread ** 2;
      for (const [i, own] of shares.entries()) {
        const p = (own[k] ?? 0) / (sums[i] ?? 1);
        slope += p;
        curvature += p * (1 - p);
      }
      const change = Math.max(-largestChange, Math.min(largestChange, -slope / curvature));
      for (const [i, own] of shares.entries()) {
        const before = own[k] ?? 0;
        own[k] = before * Math.exp(change);
        sums[i] = (sums[i] ?? 0) + (own[k] ?? 0) - before;
      }
      offsets[k] = offset + change;
      largest = Math.max(largest, Math.abs(change));
    }
    if (largest < smallestChange) break;
  }
  return offsets;
}
