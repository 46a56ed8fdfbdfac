/**
 * Trains the probe, then fine-tunes from it. Delivers the fine-tuned network unless the probe validates clearly better.
 */
import path from 'node:path';
import { parameterFeeds } from '@platform/trainer-engine/autodiff/feeds';
import type { Tape } from '@platform/trainer-engine/autodiff/tape';
import type { Device } from '@platform/trainer-engine/device';
import type { Augmentation } from '@platform/trainer-engine/images';
import { isFineTuned } from '@platform/trainer-engine/job-arguments';
import type { Backbone } from '@platform/trainer-engine/pretrained/efficientnet';
import type { Progress } from '@platform/trainer-engine/progress';
import { round } from '@platform/trainer-engine/progress';
import { seeded, shuffled } from '@platform/trainer-engine/random';
import { randomAugmentation } from './augment.ts';
import { fineTune, parameterValues } from './fine-tune.ts';
import type { FineTuneTask, TrainingTarget } from './fine-tune.ts';
import type { Sample } from './load-images.ts';
import { calibrated, chooseTemperature } from './calibration.ts';
import { chooseCalibration } from './choose-calibration.ts';
import type { LogitCalibration } from './calibration.ts';
import { WeightSnapshot } from './weight-snapshots.ts';
import { infer } from './inference.ts';
import type { InferenceNetwork, InferenceResult } from './inference.ts';
import { trainingGraph, pretrainedWeights, inferenceGraph } from './network.ts';
import type { OutputKind, Weights } from './head.ts';
import { isProbeBetter, meanLoss, objectiveOf } from './objective.ts';
import type { Objective, Validation } from './objective.ts';
import { hasSameBalance } from './dataset.ts';
import type { PreparedDataset } from './prepare.ts';
import { headOf, sizeOf } from './head.ts';
import { ProbeFeatures, trainLinearProbe } from './linear-probe.ts';
import type { Recipe } from './recipe.ts';
import type { EvaluatedImage } from './score.ts';
import type { Feed } from '@platform/trainer-engine/runtime';
import type { Training } from '@platform/trainer-engine/training';

export type Stage = 'probe' | 'fine-tune';
export interface EpochResult {
  epoch: number;
  stage: Stage;
  loss: number;
  /** Undefined without validation images. */
  validation: Validation | undefined;
  seconds: number;
}
/** An image, or an augmented copy of it. */
export interface View {
  sample: Sample;
  /** Undefined: the image as it is. */
  view: Augmentation | undefined;
}
export type FeatureVisitor = (i: number, feature: Float32Array, all: readonly Float32Array[]) => void;
export interface TrainedModel {
  objective: Objective;
  chosen: Stage;
  /** Weights by stage; without fine-tuned ones if only the probe was trained. */
  weights: ReadonlyMap<Stage, Weights>;
  curve: readonly EpochResult[];
  seconds: { probe: number; fine_tune: number };
  /** The weights of each stage contain its calibration. */
  calibrations: ReadonlyMap<Stage, LogitCalibration>;
  /** Calibrated probabilities of the trained network with the weights of `stage`. */
  evaluate(stage: Stage, samples: readonly Sample[]): Promise<EvaluatedImage[]>;
  /**
   * Calls `seen` with the means of the last layer and all features of the head, with the weights of `stage`. It must copy
   * what it keeps.
   */
  features(stage: Stage, views: readonly View[], seen: FeatureVisitor): Promise<void>;
  release(): Promise<void>;
}
export interface TrainingRun {
  training: Training;
  device: Device;
  recipe: Recipe;
  /** Training changes its weights. */
  backbone: Backbone;
  /** Reads the same network with its pretrained weights. */
  readBackbone(): Backbone;
  /** Folder for temporary files. */
  tmp: string;
  prepared: PreparedDataset;
  progress: Pick<Progress, 'update'>;
}

/** Larger batches cost memory and are not faster. */
const inferenceBatch = 2;
/** Minimum rows of the probe, for any number of labels. */
const minRows = 600;
/** Maximum memory of the probe's features: with several labels an image has those of all cells, 100 kB at 288 px. */
const maxFeatureBytes = 64e6;
/** L2 of the probe, by development sets. Windows share their weights, so they need less. */
export const weightDecay = { softmax: 1e-3, sigmoid: 3e-4 } as const;
/** Number of images for the training loss of the probe. */
const lossImages = 400;

export async function trainModel(run: TrainingRun): Promise<TrainedModel> {
  const { training, recipe, backbone, prepared, progress } = run;
  const { job, clock } = training;
  const { train, validation, labels } = prepared;
  const geometry = { batch: recipe.batch, side: recipe.side, classes: labels.length };
  const objective = objectiveOf(recipe.task, train, labels);
  const { model, tape } = trainingGraph(backbone, geometry, recipe.freezeUntil, objective.output);
  const network = await openNetwork(run, objective.output);
  const evaluate: Evaluate = (samples, values) =>
    evaluateWith(run, network, parameterFeeds(tape, values), objective, samples);
  const curve: EpochResult[] = [];
  const report = (point: EpochResult): void => {
    curve.push(point);
    training.events.emit({ is: 'metric', values: metricOf(point, objective) });
  };

  const probeStarted = clock.now();
  await fitLinearProbe(run, network, tape, objective);
  progress.update('probe', 1);
  const probe = validation.length === 0 ? undefined : objective.validation(await evaluate(validation));
  const loss = await lossOn(shuffled(train, seeded('loss', job.seed)).slice(0, lossImages), objective, evaluate);
  const probeSeconds = (clock.now() - probeStarted) / 1000;
  report({ epoch: 0, stage: 'probe', loss, validation: probe, seconds: round(probeSeconds, 2) });

  const head = copyHead(tape);
  const tuningStarted = clock.now();
  const isTuning = isFineTuned(recipe) && probe !== undefined;
  const tuned = isTuning ? await tuneFromProbe(run, { model, tape, objective, evaluate, report }) : undefined;
  // Read the probe's backbone again after fine-tuning: keeping it meanwhile would cost memory.
  const frozen = pretrainedWeights(isTuning ? run.readBackbone() : backbone);
  const weights = new Map<Stage, Weights>([['probe', new Map([...frozen, ...head])]]);
  if (tuned) weights.set('fine-tune', parameterValues(tape));
  const isTunedChosen = probe && tuned && !isProbeBetter(probe, tuned, validation.length);
  progress.update('fine-tune', 1);
  const fineTuneSeconds = tuned ? (clock.now() - tuningStarted) / 1000 : 0;
  const calibrations = await calibrate(weights, (values) => evaluate(validation, values), {
    output: objective.output,
    hasOffsets: mayChangeAnswers(prepared),
  });
  return {
    objective,
    calibrations,
    chosen: isTunedChosen ? 'fine-tune' : 'probe',
    weights,
    curve,
    seconds: { probe: round(probeSeconds), fine_tune: round(fineTuneSeconds) },
    evaluate: async (stage, samples) => {
      const { temperature = 1 } = calibrations.get(stage) ?? {};
      return calibrated(await evaluate(samples, weights.get(stage)), objective.output, { temperature });
    },
    features: (stage, views, seen) => {
      const values = parameterFeeds(tape, weights.get(stage));
      return inferViews(run, network, values, views, (i, { features }) =>
        seen(i, features[0] ?? new Float32Array(), features),
      );
    },
    release: () => network.session.release(),
  };
}

/**
 * Without test images the validation images give the score, so they must not choose what changes answers. Those that a
 * user chose may have another balance than the dataset.
 */
const mayChangeAnswers = ({ train, validation, test, labels }: PreparedDataset): boolean =>
  test.length > 0 && hasSameBalance(train, validation, labels.length);

async function lossOn(samples: readonly Sample[], { lossOf }: Objective, evaluate: Evaluate): Promise<number> {
  const evaluated = await evaluate(samples);
  return meanLoss(evaluated.map((one) => lossOf(one))).loss;
}

async function openNetwork(
  { training, device, recipe, backbone, prepared }: TrainingRun,
  output: OutputKind,
): Promise<InferenceNetwork> {
  const geometry = { batch: inferenceBatch, side: recipe.side, classes: prepared.labels.length };
  const graph = inferenceGraph(backbone, geometry, recipe.freezeUntil, output);
  const session = await training.devices.open(graph, device.place);
  return { ...geometry, session, features: headOf(backbone, output, geometry).features };
}

/**
 * Chooses the calibration of each stage by the validation images and adds it to its weights: offsets to the bias `B`, the
 * temperature as `T`.
 */
async function calibrate(
  weights: Map<Stage, Weights>,
  validated: (values: Weights) => Promise<EvaluatedImage[]>,
  { output, hasOffsets }: { output: OutputKind; hasOffsets: boolean },
): Promise<ReadonlyMap<Stage, LogitCalibration>> {
  const calibrations = new Map<Stage, LogitCalibration>();
  for (const [stage, values] of weights) {
    const evaluated = await validated(values);
    const found =
      output === 'softmax' && hasOffsets
        ? chooseCalibration(evaluated)
        : { temperature: chooseTemperature(evaluated, output) };
    const { temperature, offsets }: LogitCalibration = found;
    const bias = values.get('B')?.map((one, k) => one + (offsets?.[k] ?? 0)) ?? new Float32Array();
    calibrations.set(stage, found);
    weights.set(stage, new Map([...values, ['B', bias], ['T', Float32Array.of(temperature)]]));
  }
  return calibrations;
}

/** Predicts with these parameter values; without them, with those of the tape. */
type Evaluate = (samples: readonly Sample[], values?: Weights) => Promise<EvaluatedImage[]>;

interface TuningParts {
  /** The training graph. */
  model: Buffer;
  tape: Tape;
  objective: Objective;
  evaluate: Evaluate;
  report(point: EpochResult): void;
}

/** Fine-tunes from the probe; the tape then has the best weights. @returns the validation of the best epoch, if any. */
async function tuneFromProbe(
  run: TrainingRun,
  { model, tape, objective, evaluate, report }: TuningParts,
): Promise<Validation | undefined> {
  const { training, device, recipe, prepared, progress } = run;
  const { job, clock, devices, signal } = training;
  const session = await devices.open(model, device.place);
  const best = new WeightSnapshot(path.join(run.tmp, 'best.f32'));
  let epochStarted = clock.now();
  const tuned = await fineTune({
    recipe,
    session,
    tape,
    classes: prepared.labels.length,
    output: objective.output,
    images: prepared.train.length,
    draw: augmentedDrawer(run, objective),
    validate: async (values) => objective.validation(await evaluate(prepared.validation, values)),
    saveBest: (values) => best.save(values),
    random: seeded('order', job.seed),
    signal,
    onStep: (share) => progress.update('fine-tune', share),
    onEpoch: (epoch, loss, validation) => {
      const seconds = round((clock.now() - epochStarted) / 1000, 2);
      epochStarted = clock.now();
      report({ epoch, stage: 'fine-tune', loss, validation, seconds });
    },
  });
  await session.release();
  if (tuned) best.readInto(parameterValues(tape));
  best.close();
  return tuned?.validation;
}

const trainingTarget = (objective: Objective, classes: readonly number[], smoothing: number): TrainingTarget => ({
  target: objective.target(classes, smoothing),
  weights: objective.weights(classes),
});

function augmentedDrawer(
  { training: { job }, recipe, prepared }: TrainingRun,
  objective: Objective,
): FineTuneTask['draw'] {
  const { train, largeSide } = prepared;
  const random = seeded('fine-tune', job.seed);
  const examples = train.map(({ classes }) => trainingTarget(objective, classes, recipe.labelSmoothing));
  return (i, into, offset) => {
    const [sample, example] = [train[i], examples[i]];
    if (!sample || !example) throw new Error(`there is no training image ${i}`);
    prepared.drawAugmented(sample, randomAugmentation(largeSide, recipe.augmentation, random), into, offset);
    return example;
  };
}

/** Copies the head: training steps change it. */
const copyHead = (tape: Tape): Weights =>
  new Map(
    [...tape.parameters]
      .filter(([name]) => headParameters.has(name))
      .map(([name, { values }]) => [name, Float32Array.from(values)]),
  );
const headParameters = new Set(['W', 'V', 'B']);

async function evaluateWith(
  run: TrainingRun,
  network: InferenceNetwork,
  parameters: Readonly<Record<string, Feed>>,
  objective: Objective,
  samples: readonly Sample[],
): Promise<EvaluatedImage[]> {
  const evaluated: EvaluatedImage[] = [];
  const views = samples.map((sample) => ({ sample, view: undefined }));
  await inferViews(run, network, parameters, views, (i, { logits }) => {
    evaluated.push({ classes: samples[i]?.classes ?? [], probabilities: objective.probabilities(logits) });
  });
  return evaluated;
}

async function inferViews(
  { training: { signal }, prepared }: TrainingRun,
  network: InferenceNetwork,
  parameters: Readonly<Record<string, Feed>>,
  views: readonly View[],
  seen: (i: number, result: InferenceResult) => void,
  onDone: (share: number) => void = () => {},
): Promise<void> {
  const draw = (i: number, into: Float32Array, offset: number): void => {
    const one = views[i];
    if (!one) return;
    if (one.view) prepared.drawAugmented(one.sample, one.view, into, offset);
    else prepared.drawUnchanged(one.sample, into, offset);
  };
  await infer(network, parameters, views.length, draw, seen, { signal, onDone });
}

/** Trains the probe and stores its head in the tape. */
async function fitLinearProbe(
  run: TrainingRun,
  network: InferenceNetwork,
  tape: Tape,
  objective: Objective,
): Promise<void> {
  const {
    training: { job, signal, threads },
    backbone,
    recipe,
    prepared,
    progress,
  } = run;
  const { labels } = prepared;
  const random = seeded('probe', job.seed);
  // Memory holds the features of every view, so their number is limited: a sample is enough for a linear head.
  const head = headOf(backbone, objective.output, { side: recipe.side, classes: labels.length });
  const rowBytes = head.features.reduce((sum, one) => sum + 4 * sizeOf(one), 0);
  const rowsAllowed = Math.min(
    recipe.probeRows,
    Math.max(minRows, Math.floor(recipe.probeWork / labels.length)),
    Math.floor(maxFeatureBytes / rowBytes),
  );
  const train = shuffled(prepared.train, random).slice(0, rowsAllowed);
  const copies = Math.min(recipe.probeCopies, Math.floor(rowsAllowed / train.length) - 1);
  const views = train.flatMap((sample) => [
    { sample, view: undefined },
    ...Array.from({ length: copies }, () => ({
      sample,
      view: randomAugmentation(prepared.largeSide, recipe.probeAugmentation, random),
    })),
  ]);
  const onDone = (share: number): void => progress.update('features', share);
  const features = new ProbeFeatures(head, views.length);
  const seen = (i: number, result: InferenceResult): void => features.set(i, result.features);
  await inferViews(run, network, parameterFeeds(tape), views, seen, onDone);
  const examples = views.map(({ sample }) => trainingTarget(objective, sample.classes, 0));
  const rows = {
    features,
    targets: examples.map(({ target }) => target),
    weights: examples.map(({ weights }) => weights),
  };
  const { output } = objective;
  const trained = await trainLinearProbe(rows, head, { output, l2: weightDecay[output], threads, signal });
  for (const [name, values] of trained) tape.parameters.get(name)?.values.set(values);
}

function metricOf(
  { epoch, stage, loss, validation, seconds }: EpochResult,
  { task }: Objective,
): Record<string, number | string> {
  const shown = task === 'single_label_classification' ? 'validation_accuracy' : 'validation_micro_f1';
  const validated = validation
    ? { validation_loss: round(validation.loss, 4), [shown]: round(validation.shown, 4) }
    : {};
  return { epoch, stage, loss: round(loss, 4), ...validated, seconds };
}
