/** One training, from dataset.jsonl to the files of a model version. */
import { PlatformError } from '@platform/contract/errors';
import type { DetectionEvaluation } from '@platform/contract/evaluation';
import { splits } from '@platform/contract/job';
import { chooseDevice } from '@platform/trainer-engine/device';
import { metadataOf, writeModels } from '@platform/trainer-engine/model-file';
import type { Trial } from '@platform/trainer-engine/device';
import { cellStride } from '@platform/trainer-engine/pretrained/centernet';
import { Progress } from '@platform/trainer-engine/progress';
import type { Training } from '@platform/trainer-engine/training';
import { advice, ofSplit } from './dataset.ts';
import type { Example } from './dataset.ts';
import { onnxOf, tfliteOf } from './export.ts';
import { evaluationOf, thresholdsFrom } from './evaluation.ts';
import { firstWeights, headGraph, wholeNetwork } from './head.ts';
import type { Network, Shape } from './head.ts';
import { learn, shapeOf, slotsFor, viewsOfProbe } from './train-model.ts';
import type { Learned, Pupil, Stage } from './train-model.ts';
import { measure } from './measure.ts';
import { prepare } from './prepare.ts';
import { epochsFor, recipeOf, rowsOf } from './recipe.ts';
import type { Recipe } from './recipe.ts';
import { report } from './reports.ts';
import { dimsOf, readDetector, sightNames, sizeOf } from './feature-maps.ts';
import type { Detector } from './feature-maps.ts';
import { emptyTargets } from './targets.ts';

/** Throws a PlatformError where the dataset or the arguments are at fault. */
export async function train(training: Training, tmp: string): Promise<DetectionEvaluation> {
  const { job, events, clock, threads, devices } = training;
  if (job.kind !== 'object_detection') {
    const limit = 'this trainer makes object detectors';
    throw new PlatformError('INVALID_ARGUMENT', { field: 'kind', value: job.kind, limit });
  }
  const started = clock.now();
  const { recipe, unknown } = recipeOf(job);
  for (const key of unknown) {
    const message = `Argument ${key} is not known: ignored.`;
    events.tell({ is: 'warning', code: 'INVALID_ARGUMENT', message });
  }
  const progress = new Progress(events, clock);
  const detector = readDetector();
  const prepared = await prepare(training, recipe, tmp, {
    found: (examples) => expectWork(progress, examples, recipe, job.limits.disk_mib),
    decoded: (share) => progress.at('decode', share),
  });
  try {
    const { labels, train: examples, validation, test, skipped } = prepared;
    const counts = `${examples.length} training, ${validation.length} validation, ${test.length} test pictures`;
    const message = `${labels.length} labels, ${counts}, ${skipped.length} skipped; ${recipe.side} px, ${threads} threads`;
    events.tell({ is: 'log', level: 'info', message });
    const shape = shapeOf({ recipe, prepared });
    const device = await chooseDevice(devices, job.limits.gpus ?? 0, () => trialStep(detector, shape, recipe));
    const where = device.name === 'cpu' ? 'the CPU' : 'a GPU';
    const level = device.isSecondBest ? 'warn' : 'info';
    events.tell({ is: 'log', level, message: `Trains on ${where}. ${device.reason}` });
    const pupil: Pupil = { training, device, recipe, detector, prepared, progress, tmp };
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

/** Seconds of each part on the machine of the measurements; the proportions hold elsewhere, too. */
function expectWork(progress: Progress, examples: readonly Example[], recipe: Recipe, diskMib: number): void {
  const [learning = 0, checking = 0, test = 0] = splits.map((split) => ofSplit(examples, split).length);
  const pixels = (recipe.side / 320) ** 2;
  const heldOut = test || checking || learning / 6;
  const isAuto = recipe.recipe === 'auto';
  const views = isAuto ? slotsFor(learning, recipe, diskMib) : viewsOfProbe(learning);
  const epochs = isAuto ? epochsFor(recipe, learning) : 0;
  const lesson = 0.02 * pixels;
  progress.expect('decode', { phase: 'preparing', cost: 0.2 + examples.length * 0.003 });
  progress.expect('features', { phase: 'training', cost: views * 0.015 * pixels });
  progress.expect('probe', { phase: 'training', cost: recipe.probeSteps * recipe.batch * lesson });
  const seen = Math.min(learning, views);
  progress.expect('fine-tune', { phase: 'training', cost: epochs * lesson * (seen + 0.4 * checking) });
  progress.expect('evaluate', { phase: 'evaluating', cost: 1 + heldOut * 0.03 * pixels });
}

/** One step on empty pictures. */
function trialStep(detector: Detector, shape: Shape, recipe: Recipe): Trial {
  const { overlapWeight } = recipe;
  const batch = rowsOf(recipe);
  const weights = firstWeights(shape, 0);
  const { model, tape } = headGraph(detector, weights, shape, { batch, overlapWeight, to: 'learn' });
  const { side } = shape;
  const h = side / cellStride;
  const { heatmap, distances, mask, inverseCount } = emptyTargets({ ...shape, batch });
  return {
    model,
    feeds: {
      ...Object.fromEntries(
        [...tape.parameters].map(([name, { values, shape: dims }]) => [name, { data: values, dims }]),
      ),
      ...Object.fromEntries(
        sightNames.map((sight) => [
          sight,
          { data: new Float32Array(batch * sizeOf(sight, side)).fill(0.5), dims: dimsOf(sight, batch, side) },
        ]),
      ),
      heatmap: { data: heatmap, dims: [batch, shape.labels, h, h] },
      distances: { data: distances, dims: [batch, 4, h, h] },
      mask: { data: mask, dims: [batch, 1, h, h] },
      inverse_count: { data: inverseCount, dims: [1] },
      kept: { data: new Float32Array(batch * shape.hidden).fill(1), dims: [batch, shape.hidden, 1, 1] },
    },
  };
}

async function deliver(pupil: Pupil, learned: Learned, started: number): Promise<DetectionEvaluation> {
  const { training, recipe, detector, prepared } = pupil;
  const { job, outFolder, clock } = training;
  const { labels } = prepared;
  const shape = shapeOf(pupil);
  const thresholds = thresholdsFrom(learned.validated, labels.length);
  const metadata = metadataOf(job, labels, thresholds);
  const ports = { side: recipe.side, labels: labels.length, metadata };
  const networkOf = (stage: Stage): Network =>
    wholeNetwork(detector, learned.weights.get(stage) ?? new Map<string, Float32Array>(), shape);
  const chosen = networkOf(learned.chosen);
  const onnx = onnxOf(chosen, ports);
  const tflite = job.framework === 'onnx' ? undefined : tfliteOf(chosen, ports);
  const delivered = await writeModels(outFolder, job.model_name, { onnx, tflite });
  // One after the other: each is as large as both pretrained networks.
  const models = new Map(
    [...learned.weights.keys()].map((stage) => [
      stage,
      () => (stage === learned.chosen ? onnx : onnxOf(networkOf(stage), ports)),
    ]),
  );
  const measured = await measure(pupil, learned, { onnx: models, tflite });
  const evaluation = evaluationOf({
    ...pupil,
    learned,
    thresholds,
    delivered,
    measured,
    advice: advice(labels, [...prepared.train, ...prepared.validation]),
    seconds: (clock.now() - started) / 1000,
  });
  await report(training, evaluation, recipe, detector.license);
  return evaluation;
}
