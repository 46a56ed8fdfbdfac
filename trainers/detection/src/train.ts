/** One training run, from dataset.jsonl to the files of a model version. */
import path from 'node:path';
import { PlatformError } from '@platform/contract/errors/errors';
import type { DetectionEvaluation, NetworkChoice } from '@platform/contract/job/evaluation';
import { splits } from '@platform/contract/job/job';
import { metadataOf, releaseArray, writeModels } from '@platform/trainer-engine/model-file';
import type { ModelOnDisk, ModelsOnDisk } from '@platform/trainer-engine/model-file';
import { smallImagesAdvice } from '@platform/trainer-engine/dataset-images';
import { hasSecondNetwork, isFineTuned } from '@platform/trainer-engine/job-arguments';
import { mostCompared } from '@platform/trainer-engine/near-copies';
import { Progress, round } from '@platform/trainer-engine/progress';
import { scoreWarnings } from '@platform/trainer-engine/score-warnings';
import { openDevice, warnOfUnknown } from '@platform/trainer-engine/training';
import type { Training } from '@platform/trainer-engine/training';
import { ofSplit } from '@platform/trainer-engine/label-minimum';
import { advice } from './dataset.ts';
import type { Example } from './dataset.ts';
import { exportOnnx, exportTflite } from './export.ts';
import { exportInt8Detector } from './export-int8.ts';
import type { ExportOptions } from './export.ts';
import { buildEvaluation } from './evaluation.ts';
import { detectorNetwork } from './head.ts';
import type { Network } from './head.ts';
import { trialStep } from './head-training.ts';
import { trainModel, slotsFor, probeAugmentations } from './train-model.ts';
import { shapeOf } from './training-run.ts';
import type { TrainedModel, Stage } from './train-model.ts';
import type { TrainingRun } from './training-run.ts';
import { measure, runTrainedDetector } from './measure.ts';
import type { Models, Measurements } from './measure.ts';
import { prepare } from './prepare.ts';
import { epochsFor, recipeOf } from './recipe.ts';
import type { Recipe } from './recipe.ts';
import { writeModelReports } from './model-card.ts';
import { readDetector } from './feature-maps.ts';
import { chooseThresholds } from './thresholds.ts';
import { rescoringViews } from './train-rescoring.ts';
import type { ComparedNetworks } from './choose-rescoring.ts';

/** @throws PlatformError when the dataset or the arguments are invalid. */
export async function train(training: Training, tmp: string): Promise<DetectionEvaluation> {
  const { job, events, clock, threads } = training;
  if (job.kind !== 'object_detection') {
    const limit = 'this trainer makes object detectors';
    throw new PlatformError('INVALID_ARGUMENT', { field: 'kind', value: job.kind, limit });
  }
  const started = clock.now();
  const { recipe, unknown } = recipeOf(job);
  warnOfUnknown(training, unknown);
  const progress = new Progress(events, clock);
  const detector = readDetector();
  const prepared = await prepare(training, recipe, tmp, {
    found: (examples) => planProgress(progress, examples, recipe, job.limits.disk_mib),
    decoded: (share) => progress.update('decode', share),
    compared: (share) => progress.update('near copies', share),
  });
  try {
    const { labels, train: examples, validation, test, skipped } = prepared;
    const counts = `${examples.length} training, ${validation.length} validation, ${test.length} test images`;
    const message = `${labels.length} labels, ${counts}, ${skipped.length} skipped; ${recipe.side} px, ${threads} threads`;
    events.emit({ is: 'log', level: 'info', message });
    const shape = shapeOf({ recipe, prepared });
    const device = await openDevice(training, () => trialStep(detector, shape, recipe));
    const run: TrainingRun = { training, device, recipe, detector, prepared, progress, tmp };
    const trained = await trainModel(run);
    const { networks } = trained;
    if (networks) {
      const text = `Delivers the ${networks.chosen} network. ${networks.reason}`;
      const isRefused = recipe.recipe === 'accurate' && networks.chosen === 'compact';
      events.emit({ is: 'log', level: isRefused ? 'warn' : 'info', message: text });
    }
    try {
      return await exportModel(run, trained, started);
    } finally {
      await trained.release();
    }
  } finally {
    prepared.close();
  }
}

/** Seconds of each part on the benchmark machine; only the proportions matter elsewhere. */
function planProgress(progress: Progress, examples: readonly Example[], recipe: Recipe, diskMib: number): void {
  const [learning = 0, checking = 0, test = 0] = splits.map((split) => ofSplit(examples, split).length);
  const pixels = (recipe.side / 320) ** 2;
  const heldOut = test || checking || learning / 6;
  const isTuned = isFineTuned(recipe);
  const views = isTuned ? slotsFor(learning, recipe, diskMib) : probeAugmentations(learning);
  const epochs = isTuned ? epochsFor(recipe, learning) : 0;
  const example = 0.02 * pixels;
  progress.plan('decode', { phase: 'preparing', cost: 0.2 + examples.length * 0.003 });
  progress.plan('near copies', { phase: 'preparing', cost: 0.3 + Math.min(mostCompared, examples.length) * 0.008 });
  progress.plan('features', { phase: 'training', cost: views * 0.015 * pixels });
  progress.plan('probe', { phase: 'training', cost: recipe.probeSteps * recipe.batch * example });
  const seen = Math.min(learning, views);
  progress.plan('fine-tune', { phase: 'training', cost: epochs * example * (seen + 0.4 * checking) });
  progress.plan('rescoring', { phase: 'training', cost: rescoringViews(learning) * 0.025 * pixels });
  const second = hasSecondNetwork(recipe) ? rescoringViews(learning) : 0;
  progress.plan('second rescoring', { phase: 'training', cost: second * 0.02 * pixels });
  progress.plan('evaluate', { phase: 'evaluating', cost: 1 + heldOut * 0.03 * pixels });
  progress.plan('int8', { phase: 'evaluating', cost: 1 + (Math.min(learning, 64) + heldOut) * 0.03 * pixels });
}

async function exportModel(run: TrainingRun, trained: TrainedModel, started: number): Promise<DetectionEvaluation> {
  const { training, recipe, prepared } = run;
  const { job, outFolder, clock, events } = training;
  const { detector, networks } = trained;
  const { labels } = prepared;
  const alternative = networks?.candidates.find(({ recipe: other }) => other !== networks.chosen);
  const shape = shapeOf(run);
  const thresholds = chooseThresholds(trained.validated, labels.length);
  const metadata = metadataOf(job, labels, thresholds);
  const ports = { side: recipe.side, labels: labels.length, metadata };
  const networkOf = (stage: Stage, of: Pick<TrainedModel, 'detector' | 'rescoring'> = trained): Network =>
    detectorNetwork(
      of.detector,
      trained.weights.get(stage) ?? new Map<string, Float32Array>(),
      shape,
      stage === trained.chosen ? of.rescoring : undefined,
    );
  const reference = await runTrainedDetector(run, trained);
  // The export needs the memory of the frozen networks.
  await trained.release();
  const exported = await writeFiles(training, networkOf(trained.chosen), ports);
  const measured = await measure(run, reference, {
    ...filesIn(outFolder, exported),
    chosen: trained.chosen,
    others: new Map(
      [...trained.weights.keys()]
        .filter((stage) => stage !== trained.chosen)
        .map((stage) => [stage, () => exportOnnx(networkOf(stage), ports)]),
    ),
    alternative: alternative && (() => exportOnnx(networkOf(trained.chosen, alternative), ports)),
  });
  const int8 = await exportInt8Detector(run, { network: networkOf(trained.chosen), ports, measured, trained, started });
  run.progress.update('int8', 1);
  const evaluation = buildEvaluation({
    ...run,
    trained: trained,
    networks: trained.networks && reportNetworks(trained.networks, trained.chosen, exported, measured),
    thresholds,
    exported,
    int8,
    measured,
    advice: [
      ...smallImagesAdvice(prepared.edge, recipe.side),
      ...advice(labels, [...prepared.train, ...prepared.validation]),
    ],
    seconds: (clock.now() - started) / 1000,
  });
  for (const message of scoreWarnings(evaluation)) events.emit({ is: 'log', level: 'warn', message });
  await writeModelReports(training, evaluation, recipe, detector.license);
  return evaluation;
}

async function writeFiles(
  { job, outFolder }: TrainingRun['training'],
  network: Network,
  ports: ExportOptions,
): Promise<ModelsOnDisk> {
  const onnx = exportOnnx(network, ports);
  const tflite = job.framework === 'onnx' ? undefined : exportTflite(network, ports);
  const exported = await writeModels(outFolder, job.model_name, { onnx, tflite });
  for (const bytes of [onnx, tflite]) if (bytes) releaseArray(bytes);
  return exported;
}
function filesIn(folder: string, { onnx, tflite }: ModelsOnDisk): Pick<Models, 'onnx' | 'tflite'> {
  const pathOf = ({ file }: ModelOnDisk): string => path.join(folder, file);
  return { onnx: pathOf(onnx), tflite: tflite && pathOf(tflite) };
}

function reportNetworks(
  compared: ComparedNetworks,
  stage: Stage,
  exported: ModelsOnDisk,
  { medianMs, alternative }: Pick<Measurements, 'medianMs' | 'alternative'>,
): NetworkChoice {
  const delivered = { bytes: exported.onnx.size_bytes, medianMs };
  const candidates = compared.candidates.map(({ recipe, detector, seconds, validation_score }) => {
    const cost = recipe === compared.chosen ? delivered : alternative;
    return {
      recipe,
      name: detector.name,
      stage,
      size_bytes: cost?.bytes ?? 0,
      latency_ms: round(cost?.medianMs ?? 0),
      seconds,
      validation_score,
    };
  });
  return { ...compared, candidates };
}
