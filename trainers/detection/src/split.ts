/** Splits the images of a detector's dataset, so that near copies are in one split. */
import type { HeldOutReport } from '@platform/contract/job/evaluation';
import type { FoundBy } from '@platform/trainer-engine/near-copies';
import { splitWithCopies } from '@platform/trainer-engine/split-with-copies';
import type { DecodedImages, SamplesBySplit } from '@platform/trainer-engine/split-with-copies';
import type { Training } from '@platform/trainer-engine/training';
import { ofSplit, requireSplit, withValidation } from './dataset.ts';
import type { Example } from './dataset.ts';
import { sameBoxes } from './same-boxes.ts';

/** An example whose pixels are stored under `index`. */
export interface Sample extends Example {
  index: number;
}

/** @throws PlatformError when the images are not enough to train on. */
export function splitImages(
  training: Training,
  images: Pick<DecodedImages<Sample>, 'samples' | 'side' | 'pixels'> & { labels: readonly string[] },
  onDone: (share: number) => void,
): Promise<SamplesBySplit<Sample> & { heldOut: HeldOutReport }> {
  const { labels, ...decoded } = images;
  const isSame = sameBoxes();
  const haveSameBoxes = (a: Sample, b: Sample, by: FoundBy): boolean => isSame(a.boxes, b.boxes, by);
  const described: DecodedImages<Sample> = {
    ...decoded,
    classesOf: ({ boxes }) => (boxes.length === 0 ? [labels.length] : [...new Set(boxes.map(({ label }) => label))]),
    isNegative: ({ boxes }) => boxes.length === 0,
    mayBeCopies: haveSameBoxes,
    mayBeOneScene: haveSameBoxes,
    divide: (samples) => splitSamples(samples, training.job.seed, labels),
  };
  return splitWithCopies(training, described, onDone);
}

/** Takes validation images from the training images if the dataset has none. */
function splitSamples(samples: readonly Sample[], seed: number, labels: readonly string[]): SamplesBySplit<Sample> {
  const hasValidation = ofSplit(samples, 'validation').length > 0;
  const all = hasValidation ? samples : withValidation(samples, seed);
  const split = {
    train: ofSplit(all, 'train'),
    validation: ofSplit(all, 'validation'),
    test: ofSplit(all, 'test'),
  };
  requireSplit(labels, split);
  return split;
}
