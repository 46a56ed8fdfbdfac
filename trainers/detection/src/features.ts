/** What the frozen part of the network makes of pictures, kept in a file: it is most of the work of a step. */
import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import { needed } from '@platform/trainer-engine/network/layers';
import { emitOnnx } from '@platform/trainer-engine/network/onnx';
import { FLOAT, Graph } from '@platform/trainer-engine/onnx/graph';
import { cellStride, deepChannels, deepStride, neckChannels } from '@platform/trainer-engine/pretrained/centernet';
import type { Detector } from '@platform/trainer-engine/pretrained/centernet';
import type { Session } from '@platform/trainer-engine/runtime';

/** Reads image [1,S,S,3] 0..255 float32; gives neck [1,128,h,h] and deep [1,480,S/32,S/32]. */
export function featureGraph({ layers, taps }: Detector, side: number): Buffer {
  const g = new Graph();
  g.inputs.push({ name: 'image', type: FLOAT, dims: [1, side, side, 3] });
  const values = new Map([[0, g.op('Transpose', ['image'], { perm: [0, 3, 1, 2] })]]);
  emitOnnx(g, needed(layers, [taps.neck, taps.deep]), values);
  g.op('Identity', [values.get(taps.neck) ?? ''], {}, 'neck');
  g.op('Identity', [values.get(taps.deep) ?? ''], {}, 'deep');
  for (const name of ['neck', 'deep']) g.outputs.push({ name, type: FLOAT });
  return g.encode();
}

export interface Features {
  neck: Float32Array;
  deep: Float32Array;
}
/** Looks at pictures of one size. */
export class Lens {
  readonly #session: Session;
  readonly #side: number;
  readonly #features: Features;
  constructor(session: Session, side: number) {
    this.#session = session;
    this.#side = side;
    this.#features = {
      neck: new Float32Array(neckChannels * (side / cellStride) ** 2),
      deep: new Float32Array(deepChannels * (side / deepStride) ** 2),
    };
  }
  /** The same arrays each time: thousands of new ones would take memory until they are collected. */
  async look(image: Float32Array): Promise<Features> {
    const [h, d] = [this.#side / cellStride, this.#side / deepStride];
    const { neck, deep } = this.#features;
    await this.#session.run(
      { image: { data: image, dims: [1, this.#side, this.#side, 3] } },
      { neck: { data: neck, dims: [1, neckChannels, h, h] }, deep: { data: deep, dims: [1, deepChannels, d, d] } },
    );
    return this.#features;
  }
}

/** Value of one step of a byte, per channel, so that a little more than the greatest of these values fits. */
export function neckSteps(neck: Float32Array): Float32Array {
  const greatest = new Float32Array(neckChannels).fill(1e-3);
  const cells = neck.length / neckChannels;
  for (const [i, value] of neck.entries()) {
    const channel = Math.floor(i / cells);
    greatest[channel] = Math.max(greatest[channel] ?? 0, value);
  }
  return greatest.map((value) => (1.1 * value) / 255);
}

/** Bytes of one picture's features. */
export function featureBytes(side: number): number {
  return neckChannels * (side / cellStride) ** 2 + 2 * deepChannels * (side / deepStride) ** 2;
}

/** Features by number: the neck as bytes, the few deep ones in half precision. Neither is ever below the byte's zero. */
export class FeatureFile {
  readonly #file: number;
  readonly #bytes: number;
  readonly #steps: Float32Array;
  readonly #neck: Uint8ClampedArray;
  readonly #deep: Float16Array;
  /** @param steps - of `neckSteps`. */
  constructor(path: string, side: number, steps: Float32Array) {
    this.#file = openSync(path, 'w+');
    this.#bytes = featureBytes(side);
    this.#steps = steps;
    this.#neck = new Uint8ClampedArray(neckChannels * (side / cellStride) ** 2);
    this.#deep = new Float16Array(deepChannels * (side / deepStride) ** 2);
  }
  write(index: number, { neck, deep }: Features): void {
    const cells = neck.length / neckChannels;
    for (let channel = 0; channel < neckChannels; channel++) {
      const scale = 1 / (this.#steps[channel] ?? 1);
      for (let i = channel * cells; i < (channel + 1) * cells; i++) this.#neck[i] = (neck[i] ?? 0) * scale;
    }
    this.#deep.set(deep);
    writeSync(this.#file, this.#neck, 0, this.#neck.byteLength, index * this.#bytes);
    const after = index * this.#bytes + this.#neck.byteLength;
    writeSync(this.#file, new Uint8Array(this.#deep.buffer), 0, this.#deep.byteLength, after);
  }
  /** Puts the features of `index` into row `row` of a step's inputs. */
  read(index: number, row: number, neck: Uint8Array, deep: Float32Array): void {
    const { byteLength, length } = this.#deep;
    const neckBytes = this.#bytes - byteLength;
    const read =
      readSync(this.#file, neck, row * neckBytes, neckBytes, index * this.#bytes) +
      readSync(this.#file, new Uint8Array(this.#deep.buffer), 0, byteLength, index * this.#bytes + neckBytes);
    if (read !== this.#bytes) throw new Error(`the features of view ${index} are not in the file`);
    deep.set(this.#deep, row * length);
  }
  close(): void {
    closeSync(this.#file);
  }
}
