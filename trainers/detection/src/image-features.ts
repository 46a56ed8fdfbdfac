/** Features of training views and of images. */
import { renderAugmented } from './augmentations.ts';
import type { AugmentedImage } from './augmentations.ts';
import type { PreparedDataset } from './prepare.ts';
import type { Sample } from './split.ts';

interface Extractor<Features> {
  /** @param image - [side, side, 3], 0..255. */
  extract(image: Float32Array): Promise<Features>;
}

/** Draws views and extracts their features. A result is valid until the next call. */
export class ImageFeatures<Features> {
  readonly #extractor: Extractor<Features>;
  readonly #prepared: PreparedDataset;
  readonly #side: number;
  readonly #image: Float32Array;
  readonly #source: Uint8Array<ArrayBuffer>;
  constructor(extractor: Extractor<Features>, prepared: PreparedDataset, side: number) {
    this.#extractor = extractor;
    this.#prepared = prepared;
    this.#side = side;
    this.#image = new Float32Array(side * side * 3);
    this.#source = new Uint8Array(side * side * 3);
  }
  ofAugmented(view: AugmentedImage): Promise<Features> {
    const { train, pixels } = this.#prepared;
    const pixelsOf = (index: number): Uint8Array => {
      const sample = train[index];
      if (!sample) throw new Error(`there is no training image ${index}`);
      return pixels(sample, this.#source);
    };
    renderAugmented(view, { pixelsOf, from: this.#side, side: this.#side }, this.#image, 0);
    return this.#extractor.extract(this.#image);
  }
  ofSample(sample: Sample): Promise<Features> {
    this.#image.set(this.#prepared.pixels(sample, this.#source));
    return this.#extractor.extract(this.#image);
  }
}
