/** Splits the images of a classifier's dataset, so that near copies are in one split. */
import { splitWithCopies } from '@platform/trainer-engine/split-with-copies';
import type { DecodedImages } from '@platform/trainer-engine/split-with-copies';
import type { Training } from '@platform/trainer-engine/training';
import { requireSplit, withValidation } from './dataset.ts';
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
) {
  const { labels, ...decoded } = images;
  const described: DecodedImages<Sample> = {
    ...decoded,
    classesOf: ({ classes }) => classes,
    isNegative: () => false,
    mayBeCopies: isSameLabel,
    mayBeOneScene: () => true,
    // The probe alone needs no validation images: with test images, it can train on all others.
    needsValidation: recipe !== 'probe',
    withValidation: (samples) => withValidation(samples, training.job.seed),
    requireSplit: (split) => requireSplit(labels, split),
  };
  return splitWithCopies(training, described, onDone);
}
