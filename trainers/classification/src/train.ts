/** One training, from dataset.jsonl to the files of a model version. */
import { chooseDevice } from '@platform/trainer-engine/device';
import { metadataOf, writeModels } from '@platform/trainer-engine/model-file';
import { readEfficientnet } from '@platform/trainer-engine/pretrained/efficientnet';
import { Progress } from '@platform/trainer-engine/progress';
import { classifierOf, onnxOf, tfliteOf } from './classifier.ts';
import { advice } from './dataset.ts';
import { evaluationOf } from './evaluation.ts';
import type { ClassifierEvaluation } from './evaluation.ts';
import { learn } from './train-model.ts';
import type { Learned, Pupil } from './train-model.ts';
import { measure, thresholdsByStage } from './measure.ts';
import { trialStep } from './network.ts';
import { prepare } from './prepare.ts';
import { wishOf } from './recipe.ts';
import { report } from './reports.ts';
import type { Training } from '@platform/trainer-engine/training';

/** Throws a PlatformError where the dataset or the arguments are at fault. */
export async function train(training: Training, tmp: string): Promise<ClassifierEvaluation> {
  const { job, events, clock, threads, devices } = training;
  const started = clock.now();
  const { wish, unknown } = wishOf(job);
  for (const key of unknown) {
    const message = `Argument ${key} is not known: ignored.`;
    events.tell({ is: 'warning', code: 'INVALID_ARGUMENT', message });
  }
  const progress = new Progress(events, clock);
  const backbone = readEfficientnet();
  const { recipe, prepared } = await prepare(training, wish, tmp, progress);
  try {
    const { labels, train: examples, validation, test, skipped } = prepared;
    const counts = `${examples.length} training, ${validation.length} validation, ${test.length} test pictures`;
    const message = `${labels.length} labels, ${counts}, ${skipped.length} skipped; ${recipe.side} px, at most ${recipe.epochs} epochs, ${threads} threads`;
    events.tell({ is: 'log', level: 'info', message });
    const device = await chooseDevice(devices, job.limits.gpus ?? 0, () =>
      trialStep(backbone, { batch: recipe.batch, side: recipe.side, classes: labels.length }, recipe.freezeUntil),
    );
    const where = device.name === 'cpu' ? 'the CPU' : 'a GPU';
    const level = device.isSecondBest ? 'warn' : 'info';
    events.tell({ is: 'log', level, message: `Trains on ${where}. ${device.reason}` });
    const pupil = { training, device, recipe, backbone, tmp, prepared, progress };
    const learned = await learn(pupil);
    try {
      return await deliver(pupil, learned, started);
    } finally {
      await learned.release();
    }
  } finally {
    prepared.close();
  }
}

async function deliver(pupil: Pupil, learned: Learned, started: number): Promise<ClassifierEvaluation> {
  const { training, recipe, backbone, prepared } = pupil;
  const { job, outFolder, clock } = training;
  const thresholds = await thresholdsByStage(learned, prepared);
  const weights = learned.weights.get(learned.chosen) ?? new Map<string, Float32Array>();
  const classifier = classifierOf(backbone, weights, {
    side: recipe.side,
    output: learned.objective.output,
    metadata: metadataOf(job, prepared.labels, thresholds?.get(learned.chosen)),
  });
  const models = { onnx: onnxOf(classifier), tflite: job.framework === 'onnx' ? undefined : tfliteOf(classifier) };
  const delivered = await writeModels(outFolder, job.model_name, models);
  const measured = await measure(pupil, learned, models);
  const evaluation = evaluationOf({
    ...pupil,
    learned,
    thresholds,
    delivered,
    measured,
    advice: advice(prepared.labels, [...prepared.train, ...prepared.validation]),
    seconds: (clock.now() - started) / 1000,
  });
  await report(training, evaluation, recipe, backbone.license);
  return evaluation;
}
