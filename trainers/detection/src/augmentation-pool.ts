/**
 * The views that the head learns from, as features in a file of bounded size. It holds several views of each picture where
 * there are few pictures and the views of some where there are many; views are made anew, the oldest first.
 */
import { seeded, shuffled } from '@platform/trainer-engine/random';
import type { Random } from '@platform/trainer-engine/random';
import type { LabelledBox } from './boxes.ts';
import type { FeatureFile } from './feature-extractor.ts';
import type { Features } from './feature-maps.ts';
import { viewOf } from './augmentations.ts';
import type { Labelled, View } from './augmentations.ts';

export interface PoolOptions {
  pictures: readonly Labelled[];
  slots: number;
  file: FeatureFile;
  /** Of a view, drawn and looked at by the frozen part. */
  features(view: View): Promise<Features>;
  seed: number;
}

export class Pool {
  readonly #options: PoolOptions;
  readonly #order: readonly number[];
  readonly #boxes: (readonly LabelledBox[])[] = [];
  readonly #random: Random;
  #made = 0;
  #left: number[] = [];

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#order = shuffled([...options.pictures.keys()], seeded('pool', options.seed));
    this.#random = seeded('draw', options.seed);
  }
  get size(): number {
    return this.#boxes.length;
  }
  /** Makes one more view: of all pictures in turn, first the pictures themselves. */
  async grow(): Promise<void> {
    const { pictures, slots, file, features, seed } = this.#options;
    const number = this.#made++;
    const picture = this.#order[number % this.#order.length] ?? 0;
    const round = Math.floor(number / this.#order.length);
    const view = viewOf(pictures, picture, round, seeded('view', seed, picture, round));
    const slot = number % slots;
    file.write(slot, await features(view));
    this.#boxes[slot] = view.boxes;
  }
  /** Slots in random order; each comes once before any comes again. */
  draw(count: number): number[] {
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
