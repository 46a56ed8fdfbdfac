/**
 * Near copies by features of the frozen network and by thumbnails: other encodings, small crops and turns, and repeated
 * shots of one scene.
 */
import { renderAugmentation, identityAugmentation } from './images.ts';
import { emitOnnx } from './network/onnx.ts';
import { FLOAT, Graph } from './onnx/graph.ts';
import type { Backbone } from './pretrained/efficientnet.ts';
import { openSession } from './runtime.ts';
import type { FloatFeed, Session } from './runtime.ts';
import { maxDifference, meanDifference, thumbnailOf } from './thumbnails.ts';
import type { Thumbnail } from './thumbnails.ts';

/** Thresholds by `trainers/classification/bench/near-copies.ts`. */
const [minStandardized, minPlain] = [0.87, 0.8];
/** More images are compared by thumbnails alone: time and memory of the features would grow too much. */
export const mostCompared = 20_000;
/** Pixels per edge of what the network sees, whatever the model's own size. */
const side = 224;
/** Features are square roots of means of 0 to 6, stored in steps of 1/100. */
const steps = 100;
const leastVariance = 0.01;
/** Images per block of compared pairs. */
const block = 256;

export interface CopySource {
  count: number;
  side: number;
  /** RGB of image `i`; valid until the next call. */
  pixels(i: number): Uint8Array;
}
export interface CopyOptions {
  threads: number;
  signal: AbortSignal;
  onDone?(share: number): void;
}

function featureGraph({ layers }: Backbone): Buffer {
  const graph = new Graph();
  graph.inputs.push({ name: 'image', type: FLOAT, dims: [1, side, side, 3] });
  const values = new Map([[0, graph.op('Transpose', ['image'], { perm: [0, 3, 1, 2] })]]);
  emitOnnx(graph, layers, values);
  graph.op('ReduceMean', [values.get(layers.length) ?? ''], { axes: [2, 3], keepdims: 0 }, 'feature');
  graph.outputs.push({ name: 'feature', type: FLOAT });
  return graph.encode();
}
/** Products of each row of `a` with each of `b`: of plain and of standardized features. */
function productGraph(channels: number): Buffer {
  const graph = new Graph();
  for (const name of ['plain', 'standardized']) {
    for (const operand of ['a', 'b'])
      graph.inputs.push({ name: `${name} ${operand}`, type: FLOAT, dims: [block, channels] });
    graph.op('Gemm', [`${name} a`, `${name} b`], { transB: 1 }, name);
    graph.outputs.push({ name, type: FLOAT });
  }
  return graph.encode();
}

/** Cosines of two images' features: as they are, and standardized over the dataset. */
export interface Likeness {
  plain: number;
  standardized: number;
}
/** Features find shifted and cropped images, too; thumbnails find only those of which each object is in its place. */
export type FoundBy = 'features' | 'thumbnails';
/** How two images are found to be near copies; undefined: they are not. */
export function foundBy({ plain, standardized }: Likeness, thumbnailDifference: () => number): FoundBy | undefined {
  if (standardized > minStandardized) return 'features';
  return plain > minPlain && thumbnailDifference() <= maxDifference ? 'thumbnails' : undefined;
}

interface Block {
  images: readonly number[];
  plain: Float32Array;
  standardized: Float32Array;
}

/** The images of a dataset, described for comparisons. */
export class NearCopyFinder {
  readonly #features: Uint8Array;
  readonly #thumbnails: readonly Thumbnail[];
  readonly #mean: Float64Array;
  readonly #factor: Float64Array;
  readonly #products: Session;

  private constructor(features: Uint8Array, thumbnails: readonly Thumbnail[], products: Session) {
    const channels = features.length / thumbnails.length;
    this.#features = features;
    this.#thumbnails = thumbnails;
    this.#products = products;
    const [sums, squares] = [new Float64Array(channels), new Float64Array(channels)];
    for (let i = 0; i < features.length; i++) {
      const value = (features[i] ?? 0) / steps;
      sums[i % channels] = (sums[i % channels] ?? 0) + value;
      squares[i % channels] = (squares[i % channels] ?? 0) + value * value;
    }
    this.#mean = sums.map((sum) => sum / thumbnails.length);
    this.#factor = squares.map(
      (sum, c) => 1 / Math.sqrt(Math.max(0, sum / thumbnails.length - (this.#mean[c] ?? 0) ** 2) + leastVariance),
    );
  }

  static async open(
    backbone: Backbone,
    source: CopySource,
    { threads, signal, onDone }: CopyOptions,
  ): Promise<NearCopyFinder> {
    const session = await openSession(featureGraph(backbone), threads);
    const features = new Uint8Array(source.count * backbone.features);
    const thumbnails: Thumbnail[] = [];
    const image = new Float32Array(side * side * 3);
    try {
      for (let i = 0; i < source.count; i++) {
        signal.throwIfAborted();
        const pixels = source.pixels(i);
        thumbnails.push(thumbnailOf(pixels, source.side));
        renderAugmentation(pixels, source.side, identityAugmentation(source.side), image, 0, side);
        const results = await session.run({ image: { data: image, dims: [1, side, side, 3] } });
        const own = results('feature').map((value) => Math.min(255, Math.round(Math.sqrt(Math.max(0, value)) * steps)));
        features.set(own, i * backbone.features);
        onDone?.((i + 1) / source.count);
      }
    } finally {
      await session.release();
    }
    return new NearCopyFinder(features, thumbnails, await openSession(productGraph(backbone.features), threads));
  }

  /** Calls `visit` for near copies, `a` of `first` and `b` of `second`; once for each pair if both lists are the same. */
  eachPair(
    first: readonly number[],
    second: readonly number[],
    visit: (a: number, b: number, by: FoundBy) => void,
    signal?: AbortSignal,
  ): Promise<void> {
    const found = (a: number, b: number, likeness: Likeness): void => {
      const by = foundBy(likeness, () => this.thumbnailDifference(a, b));
      if (by) visit(a, b, by);
    };
    return this.eachLikeness(first, second, found, signal);
  }
  /** The same for all pairs. */
  async eachLikeness(
    first: readonly number[],
    second: readonly number[],
    visit: (a: number, b: number, likeness: Likeness) => void,
    signal?: AbortSignal,
  ): Promise<void> {
    for (let i = 0; i < first.length; i += block) {
      const a = this.#blockOf(first.slice(i, i + block));
      for (let j = first === second ? i : 0; j < second.length; j += block) {
        signal?.throwIfAborted();
        const b = first === second && j === i ? a : this.#blockOf(second.slice(j, j + block));
        await this.#compare(a, b, visit);
      }
    }
  }
  /** Mean difference of a channel, of 255. */
  thumbnailDifference(one: number, other: number): number {
    const [a, b] = [this.#thumbnails[one], this.#thumbnails[other]];
    return a && b ? meanDifference(a.pixels, b.pixels) : Infinity;
  }
  release(): Promise<void> {
    return this.#products.release();
  }

  async #compare(a: Block, b: Block, visit: (a: number, b: number, likeness: Likeness) => void): Promise<void> {
    const channels = this.#mean.length;
    const feed = (data: Float32Array): FloatFeed => ({ data, dims: [block, channels] });
    const results = await this.#products.run({
      'plain a': feed(a.plain),
      'plain b': feed(b.plain),
      'standardized a': feed(a.standardized),
      'standardized b': feed(b.standardized),
    });
    const [plain, standardized] = [results('plain'), results('standardized')];
    for (const [row, one] of a.images.entries()) {
      for (const [column, other] of b.images.entries()) {
        if (one === other || (a === b && column < row)) continue;
        const at = row * block + column;
        visit(one, other, { plain: plain[at] ?? 0, standardized: standardized[at] ?? 0 });
      }
    }
  }
  #blockOf(images: readonly number[]): Block {
    const channels = this.#mean.length;
    const plain = new Float32Array(block * channels);
    const standardized = new Float32Array(block * channels);
    for (const [row, image] of images.entries()) {
      const values = this.#features.subarray(image * channels, (image + 1) * channels);
      const [own, other] = [row * channels, (row + 1) * channels];
      for (const [c, step] of values.entries()) {
        plain[own + c] = step / steps;
        standardized[own + c] = (step / steps - (this.#mean[c] ?? 0)) * (this.#factor[c] ?? 0);
      }
      toUnit(plain.subarray(own, other));
      toUnit(standardized.subarray(own, other));
    }
    return { images, plain, standardized };
  }
}

function toUnit(values: Float32Array): void {
  let sum = 1e-9;
  for (const value of values) sum += value * value;
  const factor = 1 / Math.sqrt(sum);
  for (let i = 0; i < values.length; i++) values[i] = (values[i] ?? 0) * factor;
}
