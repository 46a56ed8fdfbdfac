/** One training, from dataset.jsonl to the files of a model version. */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { modelFiles } from '@platform/contract/job';
import type { Evaluation } from '@platform/contract/evaluation';
import { advice } from './dataset.ts';
import { classifierOf, onnxOf, tfliteOf } from './classifier.ts';
import { compare, runDelivered, runDeliveredTflite, tolerance, writeModels } from './deliver.ts';
import type { ModelBytes } from './deliver.ts';
import { evaluationOf } from './evaluation.ts';
import { learn } from './learn.ts';
import type { Learned, Stage } from './learn.ts';
import { modelCard, modelCardText } from './model-card.ts';
import { prepare } from './prepare.ts';
import type { Prepared } from './prepare.ts';
import { readMobilenet } from '@platform/trainer-engine/pretrained/mobilenet';
import { Progress } from '@platform/trainer-engine/progress';
import { recipeOf } from './recipe.ts';
import type { Recipe } from './recipe.ts';
import { openSession } from '@platform/trainer-engine/runtime';
import { scoreOf } from './score.ts';
import type { Training } from './training.ts';

/** Throws a PlatformError where the dataset or the arguments are at fault. */
export async function train(training: Training): Promise<Evaluation> {
  const tmp = path.join(training.outFolder, 'tmp');
  await mkdir(tmp, { recursive: true });
  try {
    const { recipe, unknown } = recipeOf(training.job);
    for (const key of unknown) {
      training.events.tell({
        is: 'warning',
        code: 'INVALID_ARGUMENT',
        message: `Argument ${key} is not known: ignored.`,
      });
    }
    return await trainIn(tmp, training, recipe);
  } finally {
    await rm(tmp, { recursive: true, force: true });
  }
}

async function trainIn(tmp: string, training: Training, recipe: Recipe): Promise<Evaluation> {
  const { job, events, clock, threads } = training;
  const started = clock.now();
  const progress = new Progress(events, clock);
  const backbone = readMobilenet();
  const prepared = await prepare(training, recipe, tmp, progress);
  const counts = `${prepared.train.length} training, ${prepared.validation.length} validation, ${prepared.test.length} test pictures`;
  const message = `${prepared.labels.length} labels, ${counts}, ${prepared.skipped.length} skipped; ${recipe.side} px, ${threads} threads`;
  events.tell({ is: 'log', level: 'info', message });
  try {
    const learned = await learn(training, recipe, backbone, prepared, progress);
    try {
      const weights = learned.weights.get(learned.chosen) ?? new Map<string, Float32Array>();
      const metadata = {
        labels: prepared.labels.join('\n'),
        task: 'single_label_classification',
        created_by: 'platform',
        model_version: job.model_version,
        ...(job.dataset_version_id === undefined ? {} : { dataset_version_id: job.dataset_version_id }),
      };
      const classifier = classifierOf(backbone, weights, { side: recipe.side, output: 'softmax', metadata });
      const tflite = job.framework === 'onnx' ? undefined : tfliteOf(classifier);
      const models = { onnx: onnxOf(classifier), tflite };
      const delivered = await writeModels(training.outFolder, job.model_name, models);
      const measured = await measure(training, recipe, prepared, learned, models, progress);
      const evaluation = evaluationOf({
        job,
        recipe,
        prepared,
        learned,
        delivered,
        backbone,
        ...measured,
        advice: advice(prepared.labels, [...prepared.train, ...prepared.validation]),
        seconds: (clock.now() - started) / 1000,
      });
      await writeReports(training, evaluation);
      return evaluation;
    } finally {
      await learned.release();
    }
  } finally {
    prepared.close();
  }
}

export interface Measured {
  heldOut: Prepared['test'];
  probabilities: readonly Float32Array[];
  medianMs: number;
  maxDifference: number;
  /** Absent: no .tflite file was asked for. */
  tfliteDifference: number | undefined;
  scores: ReadonlyMap<Stage, { accuracy: number; macro_f1: number }>;
  evaluationSeconds: number;
}

/** The delivered file against the trained network, and both stages on the held-out pictures. */
async function measure(
  { clock, threads, signal }: Training,
  recipe: Recipe,
  prepared: Prepared,
  learned: Learned,
  models: ModelBytes,
  progress: Progress,
): Promise<Measured> {
  const started = clock.now();
  const heldOut = prepared.test.length > 0 ? prepared.test : prepared.validation;
  const checked = prepared.validation.length > 0 ? prepared.validation : heldOut;
  const session = await openSession(models.onnx, threads);
  const pixelsOf = (samples: Prepared['test']) => (i: number) => {
    const sample = samples[i];
    return sample ? prepared.pixels(sample) : new Uint8Array();
  };
  const trained = await learned.judge(learned.chosen, checked);
  const same = await runDelivered(session, recipe.side, checked.length, pixelsOf(checked), { clock, signal });
  const { maxDifference, differs } = compare(
    trained.map(({ probabilities }) => Float64Array.from(probabilities)),
    same.probabilities,
  );
  if (differs || !(maxDifference <= tolerance)) {
    throw new Error(`the delivered model differs from the trained one by ${maxDifference}, more than ${tolerance}`);
  }
  const tfliteDifference =
    models.tflite && (await differenceOfTflite(models.tflite, same.probabilities, pixelsOf(checked), signal));
  const onDone = (share: number): void => progress.at('evaluate', share * 0.6);
  const results =
    checked === heldOut
      ? same
      : await runDelivered(session, recipe.side, heldOut.length, pixelsOf(heldOut), { clock, signal, onDone });
  await session.release();
  const scores = new Map<Stage, { accuracy: number; macro_f1: number }>();
  for (const stage of learned.weights.keys()) {
    const judged =
      stage === learned.chosen
        ? heldOut.map(({ label }, i) => ({ label, probabilities: results.probabilities[i] ?? new Float32Array() }))
        : await learned.judge(stage, heldOut);
    scores.set(stage, scoreOf(judged, prepared.labels));
  }
  progress.at('evaluate', 1);
  const evaluationSeconds = (clock.now() - started) / 1000;
  return { heldOut, ...results, maxDifference, tfliteDifference, scores, evaluationSeconds };
}

/** Of the .tflite file to the ONNX file, on a few pictures: it runs slowly here. */
async function differenceOfTflite(
  model: Uint8Array,
  probabilities: readonly Float32Array[],
  pixels: (i: number) => Uint8Array,
  signal: AbortSignal,
): Promise<number> {
  const expected = probabilities.slice(0, tflitePictures).map((one) => Float64Array.from(one));
  const found = await runDeliveredTflite(model, expected.length, pixels, signal);
  const { maxDifference, differs } = compare(expected, found);
  if (differs || !(maxDifference <= tolerance)) {
    throw new Error(`the .tflite file differs from the ONNX file by ${maxDifference}, more than ${tolerance}`);
  }
  return maxDifference;
}
const tflitePictures = 3;

async function writeReports({ job, outFolder }: Training, evaluation: Evaluation): Promise<void> {
  const card = modelCard(job, evaluation);
  const files = {
    [modelFiles.labels]: `${evaluation.labels.join('\n')}\n`,
    [modelFiles.evaluation]: `${JSON.stringify(evaluation, undefined, 2)}\n`,
    [modelFiles.cardJson]: `${JSON.stringify(card, undefined, 2)}\n`,
    [modelFiles.cardText]: modelCardText(card, evaluation),
  };
  for (const [name, text] of Object.entries(files)) await writeFile(path.join(outFolder, name), text);
}
