/** Splits the images of a classifier's dataset, so that near copies are in one split. */
import type { HeldOutReport } from '@platform/contract/job/evaluation';
import { splitWithCopies } from '@platform/trainer-engine/split-with-copies';
import type { DecodedImages, SamplesBySplit } from '@platform/trainer-engine/split-with-copies';
import type { Training } from '@platform/trainer-engine/training';
import { ofSplit, requireSplit, withValidation } from './dataset.ts';
import type { Sample } from './load-images.ts';
import type { Recipe } from './recipe.ts';

/** Only of the same labels: images that are alike and have different labels are what the model must tell apart. */
const isSameLabel = (a: Sample, b: Sample): boolean => a.classes.join() === b.classes.join();

/** @throws PlatformError when the images are not enough to train on. */
export function splitImages(
  training: Training,
  images: Pick<DecodedImages<Sample>, 'samples' | 'side' | 'pixels'> & { labels: readonly string[] },
  { recipe }: Recipe,
  onDone: (share: number) => void,
): Promise<SamplesBySplit<Sample> & { heldOut: HeldOutReport }> {
  const { labels, ...decoded } = images;
  const described: DecodedImages<Sample> = {
    ...decoded,
    classesOf: ({ classes }) => classes,
    isNegative: () => false,
    mayBeCopies: isSameLabel,
    mayBeOneScene: () => true,
    divide: (samples) => splitSamples(samples, recipe, training.job.seed, labels),
  };
  return splitWithCopies(training, described, onDone);
}

/** Takes validation images from the training images if the dataset has none. */
function splitSamples(
  samples: readonly Sample[],
  recipe: Recipe['recipe'],
  seed: number,
  labels: readonly string[],
): SamplesBySplit<Sample> {
  const own = { validation: ofSplit(samples, 'validation'), test: ofSplit(samples, 'test') };
  // The probe alone needs no validation images: with test images, it can train on all others.
  const needed = own.validation.length === 0 && (recipe !== 'probe' || own.test.length === 0);
  const all = needed ? withValidation(samples, seed) : samples;
  const split = { train: ofSplit(all, 'train'), validation: ofSplit(all, 'validation'), test: own.test };
  requireSplit(labels, split);
  return split;
}
