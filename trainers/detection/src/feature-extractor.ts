/** Computes the features of the frozen layers once and stores them in a file: they are most of the work of a step. */
import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import { needed } from '@platform/trainer-engine/network/layers';
import { emitOnnx } from '@platform/trainer-engine/network/onnx';
import { FLOAT, Graph } from '@platform/trainer-engine/onnx/graph';
import { neckChannels } from '@platform/trainer-engine/pretrained/centernet';
import type { FloatFeed, Session } from '@platform/trainer-engine/runtime';
import { dimsOf, emptyCells, emptyFeatures, featureNames, sizeOf } from './feature-maps.ts';
import type { CellMap, Detector, Features, FeatureName, FrozenFeatures } from './feature-maps.ts';

const cellName = (index: number): string => `cells_${index}`;
const cellTaps = ({ cells }: Detector): [string, number][] => cells.map(({ value }, i) => [cellName(i), value]);

/** Input: image [1,S,S,3] 0..255 float32. Output: the feature maps by name, and the cells. */
export function featureGraph(detector: Detector, side: number): Buffer {
  const features = featureNames.map((name): [string, number] => [name, detector.taps[name]]);
  return graphOf(detector, side, [...features, ...cellTaps(detector)]);
}
/** The same with the cells alone, and only the layers that they need. */
export const cellGraph = (detector: Detector, side: number): Buffer => graphOf(detector, side, cellTaps(detector));

function graphOf({ layers }: Detector, side: number, outputs: readonly [string, number][]): Buffer {
  const g = new Graph();
  g.inputs.push({ name: 'image', type: FLOAT, dims: [1, side, side, 3] });
  const values = new Map([[0, g.op('Transpose', ['image'], { perm: [0, 3, 1, 2] })]]);
  const wanted = outputs.map(([, value]) => value);
  emitOnnx(g, needed(layers, wanted), values);
  for (const [name, value] of outputs) {
    g.op('Identity', [values.get(value) ?? ''], {}, name);
    g.outputs.push({ name, type: FLOAT });
  }
  return g.encode();
}

type Buffers = Readonly<Record<string, FloatFeed>>;
const cellBuffers = (cells: readonly CellMap[]): Buffers =>
  Object.fromEntries(
    cells.map(({ values, channels, edge }, i) => [cellName(i), { data: values, dims: [1, channels, edge, edge] }]),
  );

/** Extracts features from images of one size. */
export class FeatureExtractor {
  readonly #session: Session;
  readonly #side: number;
  readonly #features: FrozenFeatures;
  readonly #results: Buffers;
  /** @param session - of `featureGraph`. */
  constructor(session: Session, detector: Detector, side: number) {
    this.#session = session;
    this.#side = side;
    const features = emptyFeatures(side);
    const cells = emptyCells(detector.cells, side);
    this.#features = { ...features, cells };
    this.#results = {
      ...Object.fromEntries(
        featureNames.map((name) => [name, { data: features[name], dims: dimsOf(name, 1, side) }] as const),
      ),
      ...cellBuffers(cells),
    };
  }
  /** Returns the same arrays each time: thousands of new ones would occupy memory until garbage collection. */
  async extract(image: Float32Array): Promise<FrozenFeatures> {
    await this.#session.run({ image: { data: image, dims: [1, this.#side, this.#side, 3] } }, this.#results);
    return this.#features;
  }
}

/** Extracts the cells alone. */
export class CellExtractor {
  readonly #session: Session;
  readonly #side: number;
  readonly #cells: readonly CellMap[];
  readonly #results: Buffers;
  /** @param session - of `cellGraph`. */
  constructor(session: Session, detector: Detector, side: number) {
    this.#session = session;
    this.#side = side;
    this.#cells = emptyCells(detector.cells, side);
    this.#results = cellBuffers(this.#cells);
  }
  /** Returns the same arrays each time. */
  async extract(image: Float32Array): Promise<readonly CellMap[]> {
    await this.#session.run({ image: { data: image, dims: [1, this.#side, this.#side, 3] } }, this.#results);
    return this.#cells;
  }
}

/** Quantization step per channel: 255 steps cover 1.1 times the largest of these values. */
export function quantizationSteps(neck: Float32Array): Float32Array {
  const greatest = new Float32Array(neckChannels).fill(1e-3);
  const cells = neck.length / neckChannels;
  for (const [i, value] of neck.entries()) {
    const channel = Math.floor(i / cells);
    greatest[channel] = Math.max(greatest[channel] ?? 0, value);
  }
  return greatest.map((value) => (1.1 * value) / 255);
}

/** These maps are small and stored in half precision. The neck is stored as uint8, because it is never negative. */
const halfPrecisionNames = featureNames.filter((name): name is Exclude<FeatureName, 'neck'> => name !== 'neck');

/** Size of one image's features in bytes. */
export function featureBytes(side: number): number {
  return halfPrecisionNames.reduce((sum, name) => sum + 2 * sizeOf(name, side), sizeOf('neck', side));
}
/** Features of one or more images, in the format of a step's inputs. */
export type StoredFeatures = Record<Exclude<FeatureName, 'neck'>, Float32Array> & { neck: Uint8Array };

/** Features in a file, by index. */
export class FeatureCache {
  readonly #file: number;
  readonly #bytes: number;
  readonly #steps: Float32Array;
  readonly #neck: Uint8ClampedArray;
  /** The half-precision maps, concatenated. */
  readonly #halves: Float16Array;
  readonly #side: number;
  /** @param steps - from `quantizationSteps`. */
  constructor(path: string, side: number, steps: Float32Array) {
    this.#file = openSync(path, 'w+');
    this.#bytes = featureBytes(side);
    this.#steps = steps;
    this.#side = side;
    this.#neck = new Uint8ClampedArray(sizeOf('neck', side));
    this.#halves = new Float16Array(halfPrecisionNames.reduce((sum, name) => sum + sizeOf(name, side), 0));
  }
  write(index: number, features: Features): void {
    const { neck } = features;
    const cells = neck.length / neckChannels;
    for (let channel = 0; channel < neckChannels; channel++) {
      const scale = 1 / (this.#steps[channel] ?? 1);
      for (let i = channel * cells; i < (channel + 1) * cells; i++) this.#neck[i] = (neck[i] ?? 0) * scale;
    }
    let at = 0;
    for (const name of halfPrecisionNames) {
      this.#halves.set(features[name], at);
      at += features[name].length;
    }
    writeSync(this.#file, this.#neck, 0, this.#neck.byteLength, index * this.#bytes);
    const after = index * this.#bytes + this.#neck.byteLength;
    writeSync(this.#file, new Uint8Array(this.#halves.buffer), 0, this.#halves.byteLength, after);
  }
  /** Writes the features of `index` into row `row` of a step's inputs. */
  read(index: number, row: number, into: StoredFeatures): void {
    const { byteLength } = this.#halves;
    const neckBytes = this.#bytes - byteLength;
    const read =
      readSync(this.#file, into.neck, row * neckBytes, neckBytes, index * this.#bytes) +
      readSync(this.#file, new Uint8Array(this.#halves.buffer), 0, byteLength, index * this.#bytes + neckBytes);
    if (read !== this.#bytes) throw new Error(`the features of view ${index} are not in the file`);
    let at = 0;
    for (const name of halfPrecisionNames) {
      const length = sizeOf(name, this.#side);
      into[name].set(this.#halves.subarray(at, at + length), row * length);
      at += length;
    }
  }
  close(): void {
    closeSync(this.#file);
  }
}
