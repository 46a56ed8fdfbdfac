/** Measures the exported files on held-out images. */
import type { Clock } from '@platform/trainer-engine/clock';
import type { OutputKind } from './head.ts';
import { argmax } from './score.ts';
import type { Session } from '@platform/trainer-engine/runtime';
import { runTflite } from '@platform/trainer-engine/tflite/interpreter';
import { unlikeOutput } from '@platform/contract/model-output';

export interface ModelBytes {
  onnx: Uint8Array;
  tflite: Uint8Array | undefined;
}

/** Results of a model file. */
export interface ExportedResults {
  probabilities: Float32Array[];
  /** Empty if the file has no output `unlike`. */
  unlike: number[];
}
interface HowToRun {
  clock: Clock;
  signal: AbortSignal;
  /** Whether the file has the output. */
  hasUnlike: boolean;
}

/** Results and median time in ms, with one image per call as in production. */
export async function runOnnxModel(
  session: Session,
  side: number,
  count: number,
  pixels: (i: number) => Uint8Array,
  { clock, signal, hasUnlike, onDone }: HowToRun & { onDone?: (share: number) => void },
): Promise<ExportedResults & { medianMs: number }> {
  const probabilities: Float32Array[] = [];
  const unlike: number[] = [];
  const times: number[] = [];
  for (let i = 0; i < count; i++) {
    signal.throwIfAborted();
    const data = pixels(i);
    const started = clock.now();
    const results = await session.run({ image: { data, dims: [1, side, side, 3] } });
    times.push(clock.now() - started);
    probabilities.push(Float32Array.from(results('probability')));
    if (hasUnlike) unlike.push(results(unlikeOutput)[0] ?? Number.NaN);
    onDone?.((i + 1) / count);
  }
  const medianMs = times.toSorted((a, b) => a - b)[times.length >> 1] ?? 0;
  return { probabilities, unlike, medianMs };
}

/** Runs each image through the .tflite file. Yields to the event loop between images. */
export async function runTfliteModel(
  model: Uint8Array,
  count: number,
  pixels: (i: number) => Uint8Array,
  { clock, signal, hasUnlike }: HowToRun,
): Promise<ExportedResults & { medianMs: number | undefined }> {
  const probabilities: Float32Array[] = [];
  const unlike: number[] = [];
  const times: number[] = [];
  for (let i = 0; i < count; i++) {
    await new Promise((resolve) => setImmediate(resolve));
    signal.throwIfAborted();
    const image = pixels(i);
    const began = clock.now();
    const { probability: found, [unlikeOutput]: score } = runTflite(model, image);
    times.push(clock.now() - began);
    if (!found) throw new Error('the delivered .tflite file has no output "probability"');
    probabilities.push(found);
    if (hasUnlike) unlike.push(score?.[0] ?? Number.NaN);
  }
  return { probabilities, unlike, medianMs: times.toSorted((a, b) => a - b)[times.length >> 1] };
}

/** Maximum difference of a probability between the trained and the exported network. */
export const tolerance = 1e-4;

/** @throws when a score differs by more than the tolerance. */
export function requireEqualUnlike(trained: readonly number[], delivered: readonly number[]): void {
  for (const [i, score] of trained.entries()) {
    const difference = Math.abs(score - (delivered[i] ?? Number.NaN));
    if (!(difference <= tolerance)) {
      throw new Error(`the score "unlike" of a model file differs by ${difference}, more than ${tolerance}`);
    }
  }
}

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
