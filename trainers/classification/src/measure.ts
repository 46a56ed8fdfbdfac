/** The delivered files against the trained network, and every stage on the held-out pictures. */
import { openSession } from '@platform/trainer-engine/runtime';
import { compare, runDelivered, runDeliveredTflite, tolerance } from './exported-model.ts';
import type { ModelBytes } from './exported-model.ts';
import type { Sample } from './load-images.ts';
import type { Learned, Pupil, Stage } from './train-model.ts';
import { thresholdsOf } from './multi-score.ts';
import type { Prepared } from './prepare.ts';
import type { Judged } from './score.ts';

export interface Measured {
  heldOut: readonly Sample[];
  /** On the held-out pictures, by stage; that of the chosen stage by the delivered ONNX file. */
  judged: ReadonlyMap<Stage, readonly Judged[]>;
  medianMs: number;
  maxDifference: number;
  /** Absent: no .tflite file was asked for. */
  tfliteDifference: number | undefined;
  tfliteMs: number | undefined;
  seconds: number;
}

/** From which probability on a label counts as there; undefined where one label is right. */
export async function thresholdsByStage(
  learned: Learned,
  { validation, labels }: Prepared,
): Promise<ReadonlyMap<Stage, readonly number[]> | undefined> {
  if (learned.objective.output === 'softmax') return undefined;
  const thresholds = new Map<Stage, readonly number[]>();
  for (const stage of learned.weights.keys()) {
    thresholds.set(stage, thresholdsOf(await learned.judge(stage, validation), labels.length));
  }
  return thresholds;
}

/** Throws where a delivered file does not say what the trained network says. */
export async function measure(
  { training: { clock, threads, signal }, recipe, prepared, progress }: Pupil,
  learned: Learned,
  models: ModelBytes,
): Promise<Measured> {
  const started = clock.now();
  const heldOut = prepared.test.length > 0 ? prepared.test : prepared.validation;
  const checked = prepared.validation.length > 0 ? prepared.validation : heldOut;
  const session = await openSession(models.onnx, threads);
  const pixelsOf = (samples: readonly Sample[]) => (i: number) => {
    const sample = samples[i];
    return sample ? prepared.pixels(sample) : new Uint8Array();
  };
  const trained = await learned.judge(learned.chosen, checked);
  const same = await runDelivered(session, recipe.side, checked.length, pixelsOf(checked), { clock, signal });
  const { output } = learned.objective;
  const { maxDifference, differs } = compare(
    trained.map(({ probabilities }) => Float64Array.from(probabilities)),
    same.probabilities,
    output,
  );
  if (differs || !(maxDifference <= tolerance)) {
    throw new Error(`the delivered model differs from the trained one by ${maxDifference}, more than ${tolerance}`);
  }
  const tflite =
    models.tflite &&
    (await checkTflite(models.tflite, same.probabilities, pixelsOf(checked), output, { clock, signal }));
  const onDone = (share: number): void => progress.at('evaluate', share * 0.6);
  const results =
    checked === heldOut
      ? same
      : await runDelivered(session, recipe.side, heldOut.length, pixelsOf(heldOut), { clock, signal, onDone });
  await session.release();
  const judged = new Map<Stage, readonly Judged[]>();
  for (const stage of learned.weights.keys()) {
    const isDelivered = stage === learned.chosen;
    const own = (): Judged[] =>
      heldOut.map(({ classes }, i) => ({ classes, probabilities: results.probabilities[i] ?? new Float32Array() }));
    judged.set(stage, isDelivered ? own() : await learned.judge(stage, heldOut));
  }
  progress.at('evaluate', 1);
  const seconds = (clock.now() - started) / 1000;
  const { medianMs } = results;
  const ofTflite = { tfliteDifference: tflite?.maxDifference, tfliteMs: tflite?.medianMs };
  return { heldOut, judged, medianMs, maxDifference, ...ofTflite, seconds };
}

/** The .tflite file is checked on so many pictures: it runs slowly here. */
const tflitePictures = 3;

/** The largest difference of the .tflite file to the ONNX file, and its median time. */
async function checkTflite(
  model: Uint8Array,
  probabilities: readonly Float32Array[],
  pixels: (i: number) => Uint8Array,
  output: Learned['objective']['output'],
  how: Pick<Pupil['training'], 'clock' | 'signal'>,
): Promise<{ maxDifference: number; medianMs: number | undefined }> {
  const expected = probabilities.slice(0, tflitePictures).map((one) => Float64Array.from(one));
  const { probabilities: found, medianMs } = await runDeliveredTflite(model, expected.length, pixels, how);
  const { maxDifference, differs } = compare(expected, found, output);
  if (differs || !(maxDifference <= tolerance)) {
    throw new Error(`the .tflite file differs from the ONNX file by ${maxDifference}, more than ${tolerance}`);
  }
  return { maxDifference, medianMs };
}
