/** Stores the best weights in a file: in memory they would take as much as the network itself. */
import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import type { Weights } from './head.ts';

export class WeightSnapshot {
  readonly #file: number;
  constructor(path: string) {
    this.#file = openSync(path, 'w+');
  }
  /** Replaces the previous snapshot. */
  save(weights: Weights): void {
    let at = 0;
    for (const values of weights.values()) at += writeSync(this.#file, bytesOf(values), 0, values.byteLength, at);
  }
  /** @param into - arrays with the same names, order and sizes. Throws if the file has fewer values. */
  readInto(into: Weights): void {
    let at = 0;
    for (const [name, values] of into) {
      const read = readSync(this.#file, bytesOf(values), 0, values.byteLength, at);
      if (read !== values.byteLength) throw new Error(`the weights ${name} were not kept whole`);
      at += read;
    }
  }
  close(): void {
    closeSync(this.#file);
  }
}

const bytesOf = (values: Float32Array): Uint8Array =>
  new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
