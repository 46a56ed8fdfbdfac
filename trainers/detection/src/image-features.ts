/** Features of training views and of images. */
import type { Session } from '@platform/trainer-engine/runtime';
import { renderAugmented } from './augmentations.ts';
import type { AugmentedImage } from './augmentations.ts';
import { FeatureExtractor } from './feature-extractor.ts';
import type { Detector, FrozenFeatures } from './feature-maps.ts';
import type { PreparedDataset, Sample } from './prepare.ts';
import type { FeatureSource } from './train-rescoring.ts';

/** Draws views and extracts their features. A result is valid until the next call. */
export class ImageFeatures implements FeatureSource {
  readonly #extractor: FeatureExtractor;
  readonly #prepared: PreparedDataset;
  readonly #side: number;
  /** The image of the last call. */
  readonly image: Float32Array;
  readonly #source: Uint8Array<ArrayBuffer>;
  constructor(session: Session, detector: Detector, prepared: PreparedDataset, side: number) {
    this.#extractor = new FeatureExtractor(session, detector, side);
    this.#prepared = prepared;
    this.#side = side;
    this.image = new Float32Array(side * side * 3);
    this.#source = new Uint8Array(side * side * 3);
  }
  ofAugmented(view: AugmentedImage): Promise<FrozenFeatures> {
    const { train, pixels } = this.#prepared;
    const pixelsOf = (index: number): Uint8Array => {
      const sample = train[index];
      if (!sample) throw new Error(`there is no training image ${index}`);
      return pixels(sample, this.#source);
    };
    renderAugmented(view, { pixelsOf, from: this.#side, side: this.#side }, this.image, 0);
    return this.#extractor.extract(this.image);
  }
  ofSample(sample: Sample): Promise<FrozenFeatures> {
    this.image.set(this.#prepared.pixels(sample, this.#source));
    return this.#extractor.extract(this.image);
  }
}
