/** The size of model files, and the largest one that a job allows. */
import { PlatformError } from '@platform/contract/errors/errors';
import type { JobArguments } from './job-arguments.ts';

/** Names, shapes and operators of a file, as a share of its weights. */
const overhead = 1.02;

/** Upper estimate of the size of a model file. @param weights - number of its float32 values. */
export const modelBytesOf = (weights: number): number => Math.ceil(weights * 4 * overhead);

export const megabytesOf = (bytes: number): number => Math.ceil(bytes / 1e5) / 10;

/** @throws PlatformError INVALID_ARGUMENT if the files of the network are larger than the job allows. */
export function requireSmallEnough(
  bytes: number,
  { recipe, maxModelMegabytes }: Pick<JobArguments, 'recipe' | 'maxModelMegabytes'>,
): void {
  if (maxModelMegabytes === undefined || bytes <= maxModelMegabytes * 1e6) return;
  throw new PlatformError('INVALID_ARGUMENT', {
    field: 'arguments.max_model_megabytes',
    value: String(maxModelMegabytes),
    limit: `the model files of the recipe ${recipe} have ${megabytesOf(bytes)} MB`,
  });
}
