/** Measures the exported files on held-out images. */
import type { Clock } from '@platform/trainer-engine/clock';
import type { OutputKind } from './head.ts';
import { argmax } from './score.ts';
import type { Session } from '@platform/trainer-engine/runtime';
import { runTflite } from '@platform/trainer-engine/tflite/interpreter';

export interface ModelBytes {
  onnx: Uint8Array;
  tflite: Uint8Array | undefined;
}

/** Probabilities and median time in ms, with one image per call as in production. */
export async function runOnnxModel(
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

/** Runs each image through the .tflite file. Yields to the event loop between images. */
export async function runTfliteModel(
  model: Uint8Array,
  count: number,
  pixels: (i: number) => Uint8Array,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Promise<{ probabilities: Float32Array[]; medianMs: number | undefined }> {
  const probabilities: Float32Array[] = [];
  const times: number[] = [];
  for (let i = 0; i < count; i++) {
    await new Promise((resolve) => setImmediate(resolve));
    signal.throwIfAborted();
    const image = pixels(i);
    const began = clock.now();
    const found = runTflite(model, image)['probability'];
    times.push(clock.now() - began);
    if (!found) throw new Error('the delivered .tflite file has no output "probability"');
    probabilities.push(found);
  }
  return { probabilities, medianMs: times.toSorted((a, b) => a - b)[times.length >> 1] };
}

/** Maximum difference of a probability between the trained and the exported network. */
export const tolerance = 1e-4;

export interface Comparison {
  maxDifference: number;
  /** The predicted class differs for an image, and not because of a near tie. */
  differs: boolean;
}
/** @param output - sigmoid has no single predicted class to compare. */
export function compareOutputs(
  trained: readonly Float64Array[],
  delivered: readonly Float32Array[],
  output: OutputKind = 'softmax',
): Comparison {
  let maxDifference = 0;
  let differs = trained.length !== delivered.length;
  for (const [i, a] of trained.entries()) {
    const b = delivered[i] ?? new Float32Array();
    for (const [k, p] of a.entries()) maxDifference = Math.max(maxDifference, Math.abs(p - (b[k] ?? Infinity)));
    const [x, y] = [argmax(a), argmax(b)];
    if (output === 'softmax' && x !== y && Math.abs((a[x] ?? 0) - (a[y] ?? 0)) > tolerance) differs = true;
  }
  return { maxDifference, differs };
}
