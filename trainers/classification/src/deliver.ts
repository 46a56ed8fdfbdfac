/** Writes the model file, and measures that very file on held-out pictures. */
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Clock } from '@platform/trainer-engine/clock';
import { best } from './score.ts';
import type { Session } from '@platform/trainer-engine/runtime';

export interface Delivered {
  file: string;
  size_bytes: number;
  sha256: string;
}
export async function writeModel(folder: string, name: string, model: Uint8Array): Promise<Delivered> {
  const file = `${name}.onnx`;
  await writeFile(path.join(folder, file), model);
  return { file, size_bytes: model.byteLength, sha256: createHash('sha256').update(model).digest('hex') };
}

/** Probabilities and milliseconds of each picture, one at a time, as a machine asks for them. */
export async function runDelivered(
  session: Session,
  side: number,
  count: number,
  pixels: (i: number) => Uint8Array,
  { clock, signal, onDone }: { clock: Clock; signal: AbortSignal; onDone?: (share: number) => void },
): Promise<{ probabilities: Float32Array[]; medianMs: number }> {
  const probabilities: Float32Array[] = [];
  const times: number[] = [];
  for (let i = 0; i < count; i++) {
    signal.throwIfAborted();
    const data = pixels(i);
    const started = clock.now();
    const results = await session.run({ image: { data, dims: [1, side, side, 3] } });
    times.push(clock.now() - started);
    probabilities.push(Float32Array.from(results('probability')));
    onDone?.((i + 1) / count);
  }
  const medianMs = times.toSorted((a, b) => a - b)[times.length >> 1] ?? 0;
  return { probabilities, medianMs };
}

/** The largest allowed difference of a probability between the trained and the delivered network. */
export const tolerance = 1e-4;

export interface Comparison {
  maxDifference: number;
  /** The predicted class differs somewhere, though not by a near tie. */
  differs: boolean;
}
export function compare(trained: readonly Float64Array[], delivered: readonly Float32Array[]): Comparison {
  let maxDifference = 0;
  let differs = trained.length !== delivered.length;
  for (const [i, a] of trained.entries()) {
    const b = delivered[i] ?? new Float32Array();
    for (const [k, p] of a.entries()) maxDifference = Math.max(maxDifference, Math.abs(p - (b[k] ?? Infinity)));
    const [x, y] = [best(a), best(b)];
    if (x !== y && Math.abs((a[x] ?? 0) - (a[y] ?? 0)) > tolerance) differs = true;
  }
  return { maxDifference, differs };
}
