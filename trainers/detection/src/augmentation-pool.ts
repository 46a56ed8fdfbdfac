/**
 * The training views of the head, as features in a file of limited size. It holds several views per image if there are
 * few images, and views of some images if there are many. New views replace the oldest ones.
 */
import { seeded, shuffled } from '@platform/trainer-engine/random';
import type { Random } from '@platform/trainer-engine/random';
import type { LabelledBox } from './boxes.ts';
import type { FeatureCache } from './feature-extractor.ts';
import type { Features } from './feature-maps.ts';
import { augment } from './augmentations.ts';
import type { LabelledImage, AugmentedImage } from './augmentations.ts';

export interface PoolOptions {
  images: readonly LabelledImage[];
  slots: number;
  file: FeatureCache;
  /** Draws a view and computes its features in the frozen layers. */
  features(view: AugmentedImage): Promise<Features>;
  seed: number;
}

export class AugmentationPool {
  readonly #options: PoolOptions;
  readonly #order: readonly number[];
  readonly #boxes: (readonly LabelledBox[])[] = [];
  readonly #random: Random;
  #made = 0;
  #left: number[] = [];

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#order = shuffled([...options.images.keys()], seeded('pool', options.seed));
    this.#random = seeded('draw', options.seed);
  }
  get size(): number {
    return this.#boxes.length;
  }
  /** Adds one view: all images in turn, the unchanged images first. */
  async grow(): Promise<void> {
    const { images, slots, file, features, seed } = this.#options;
    const number = this.#made++;
    const image = this.#order[number % this.#order.length] ?? 0;
    const round = Math.floor(number / this.#order.length);
    const view = augment(images, image, round, seeded('view', seed, image, round));
    const slot = number % slots;
    file.write(slot, await features(view));
    this.#boxes[slot] = view.boxes;
  }
  /** Slots in random order without replacement; reshuffles when all are used. */
  sample(count: number): number[] {
    const drawn: number[] = [];
    while (drawn.length < count) {
      if (this.#left.length === 0) this.#left = shuffled([...this.#boxes.keys()], this.#random);
      drawn.push(this.#left.pop() ?? 0);
    }
    return drawn;
  }
  boxes(slot: number): readonly LabelledBox[] {
    return this.#boxes[slot] ?? [];
  }
}
