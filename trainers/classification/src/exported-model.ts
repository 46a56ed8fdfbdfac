/** Measures the exported files on held-out images. */
import type { Clock } from '@platform/trainer-engine/clock';
import type { OutputKind } from './head.ts';
import type { Sample } from './load-images.ts';
import type { PreparedDataset } from './prepare.ts';
import { argmax } from './score.ts';
import type { Session } from '@platform/trainer-engine/runtime';
import type { TfliteSession } from '@platform/trainer-engine/tflite/litert';
import { unlikeOutput } from '@platform/contract/job/model-output';

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
export interface TimedResults extends ExportedResults {
  medianMs: number;
}
/** Pixels of the samples by position. */
export const pixelsOf =
  ({ pixels }: Pick<PreparedDataset, 'pixels'>, samples: readonly Sample[]) =>
  (i: number): Uint8Array => {
    const sample = samples[i];
    return sample ? pixels(sample) : new Uint8Array();
  };

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
): Promise<TimedResults> {
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

/** Runs each image through the .tflite file. */
export async function runTfliteModel(
  session: TfliteSession,
  count: number,
  pixels: (i: number) => Uint8Array,
  { signal, hasUnlike }: Pick<HowToRun, 'signal' | 'hasUnlike'>,
): Promise<TimedResults> {
  const probabilities: Float32Array[] = [];
  const unlike: number[] = [];
  const times: number[] = [];
  for (let i = 0; i < count; i++) {
    signal.throwIfAborted();
    const { outputs, ms } = await session.run(pixels(i));
    const { probability: found, [unlikeOutput]: score } = outputs;
    times.push(ms);
    if (!found) throw new Error('the delivered .tflite file has no output "probability"');
    probabilities.push(found);
    if (hasUnlike) unlike.push(score?.[0] ?? Number.NaN);
  }
  const medianMs = times.toSorted((a, b) => a - b)[times.length >> 1] ?? 0;
  return { probabilities, unlike, medianMs };
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
