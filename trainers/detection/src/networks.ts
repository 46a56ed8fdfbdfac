/** Whether a second network is trained, by the recipe and the size of the files. */
import { conflictWith } from '@platform/trainer-engine/choose-network';
import { hasSecondNetwork } from '@platform/trainer-engine/job-arguments';
import { modelBytesOf, requireSmallEnough } from '@platform/trainer-engine/model-size';
import { addSecondNetwork } from './feature-maps.ts';
import type { Detector } from './feature-maps.ts';
import { detectorNetwork, initialWeights } from './head.ts';
import type { HeadShape } from './head.ts';
import { regionScales } from './rescoring.ts';
import { shapeOf } from './training-run.ts';
import type { TrainingRun } from './training-run.ts';

/** Upper estimate of the size of a model file, with rescoring. */
export function estimateModelBytes(detector: Detector, shape: HeadShape): number {
  const rows = regionScales.length * shape.labels;
  const rescoring = {
    weights: detector.cells.map(({ channels }) => new Float32Array(rows * channels)),
    bias: new Float32Array(shape.labels),
  };
  const { layers } = detectorNetwork(detector, initialWeights(shape, 0), shape, rescoring);
  return modelBytesOf(
    layers.reduce((sum, one) => sum + (one.is === 'conv' ? one.weights.length + one.bias.length : 0), 0),
  );
}

export interface SecondNetworkPlan {
  /** The recipe is `accurate`, not `auto`. */
  isRequested: boolean;
  /** Why the second network cannot be chosen; undefined: it is trained. */
  conflict: string | undefined;
}

/**
 * Lite2 is read for its size, and read again when it is needed: the training of the head has no use for it.
 *
 * @returns undefined if the recipe has one network.
 * @throws PlatformError if the files of the recipe would be larger than the job allows.
 */
export function planSecondNetwork(run: TrainingRun): SecondNetworkPlan | undefined {
  const { recipe, detector, prepared } = run;
  const isRequested = recipe.recipe === 'accurate';
  const bytes = hasSecondNetwork(recipe) ? estimateModelBytes(addSecondNetwork(detector), shapeOf(run)) : 0;
  requireSmallEnough(isRequested ? bytes : estimateModelBytes(detector, shapeOf(run)), recipe);
  if (!hasSecondNetwork(recipe)) return undefined;
  return { isRequested, conflict: isRequested ? undefined : conflictWith(recipe, prepared.validation.length, bytes) };
}
