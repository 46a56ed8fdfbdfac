/** Splits the images of a detector's dataset, so that near copies are in one split. */
import type { FoundBy } from '@platform/trainer-engine/near-copies';
import { splitWithCopies } from '@platform/trainer-engine/split-with-copies';
import type { DecodedImages } from '@platform/trainer-engine/split-with-copies';
import type { Training } from '@platform/trainer-engine/training';
import { requireSplit, withValidation } from './dataset.ts';
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
) {
  const { labels, ...decoded } = images;
  const isSame = sameBoxes();
  const haveSameBoxes = (a: Sample, b: Sample, by: FoundBy): boolean => isSame(a.boxes, b.boxes, by);
  const described: DecodedImages<Sample> = {
    ...decoded,
    classesOf: ({ boxes }) => (boxes.length === 0 ? [labels.length] : [...new Set(boxes.map(({ label }) => label))]),
    isNegative: ({ boxes }) => boxes.length === 0,
    mayBeCopies: haveSameBoxes,
    mayBeOneScene: haveSameBoxes,
    withValidation: (samples) => withValidation(samples, training.job.seed),
    requireSplit: (split) => requireSplit(labels, split),
  };
  return splitWithCopies(training, described, onDone);
}
