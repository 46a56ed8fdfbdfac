/**
 * Recipe `accurate` delivers a second network, `compact` does not. Recipe `auto` trains both and delivers the better
 * one. Trainers of all kinds choose by the same rules.
 */
import type { NetworkChoice } from '@platform/contract/job/evaluation';
import type { JobArguments } from './job-arguments.ts';
import { megabytesOf } from './model-size.ts';
import { round } from './progress.ts';

/** Fewer validation images decide by chance. */
export const fewestImages = 20;
/** Images for the latency of a network. */
export const timedImages = 20;

export type Gain = NonNullable<NetworkChoice['gain']>;

/**
 * Mean difference of the scores and its standard error. One image that is better and one that is worse are added: the
 * only two images that differ do not prove that the difference is always the same.
 *
 * @param before - scores of the validation images, 0 to 1.
 */
export function pairedGain(before: readonly number[], after: readonly number[]): Gain {
  const differences = [...after.map((score, i) => score - (before[i] ?? 0)), 1, -1];
  const mean = differences.reduce((a, b) => a + b, 0) / differences.length;
  const variance = differences.reduce((sum, one) => sum + (one - mean) ** 2, 0) / (differences.length - 1);
  const error = Math.sqrt(variance / differences.length);
  return { mean: round(mean, 4), standard_error: round(error, 4), images: after.length };
}

export const meanScore = (scores: readonly number[]): number =>
  round(scores.reduce((a, b) => a + b, 0) / Math.max(1, scores.length), 4);

/**
 * Why the accurate network cannot be chosen; undefined if it can.
 *
 * @param images - number of validation images.
 * @param bytes - size of its file.
 */
export function conflictWith(
  { maxModelMegabytes }: Pick<JobArguments, 'maxModelMegabytes'>,
  images: number,
  bytes: number,
): string | undefined {
  if (images < fewestImages) {
    return `${images} validation images are too few to choose a network by; ${fewestImages} are needed.`;
  }
  if (maxModelMegabytes !== undefined && bytes > maxModelMegabytes * 1e6) {
    return `The accurate network needs ${megabytesOf(bytes)} MB, the job allows ${maxModelMegabytes} MB.`;
  }
  return undefined;
}

/** Chooses between two trained networks. */
export function choiceBy({ mean, standard_error: error, images }: Gain, isRequested: boolean) {
  const isBetter = mean > error;
  const compared = `On ${images} validation images the accurate network is ${isBetter ? '' : 'not '}better by more than one standard error.`;
  return {
    chosen: isRequested || isBetter ? ('accurate' as const) : ('compact' as const),
    reason: isRequested ? `The job requests the accurate network. ${compared}` : compared,
  };
}
