/** Trains the probe, then continues from it; delivers the one that validates better. */
import path from 'node:path';
import { neckChannels } from '@platform/trainer-engine/pretrained/centernet';
import { countBoxes } from './dataset.ts';
import { chooseRescoring } from './choose-rescoring.ts';
import type { DeliveredDetector } from './choose-rescoring.ts';
import type { Tape } from '@platform/trainer-engine/autodiff/tape';
import { isFineTuned } from '@platform/trainer-engine/job-arguments';
import { round } from '@platform/trainer-engine/progress';
import { seeded, shuffled } from '@platform/trainer-engine/random';
import type { Session } from '@platform/trainer-engine/runtime';
import { meanAveragePrecision } from './average-precision.ts';
import type { EvaluatedImage } from './average-precision.ts';
import { featureBytes, FeatureCache, FeatureExtractor, featureGraph, quantizationSteps } from './feature-extractor.ts';
import { initialWeights, headGraph } from './head.ts';
import type { Weights } from './head.ts';
import { copyParameters, HeadEvaluator, HeadTrainer } from './head-training.ts';
import type { CachedExample } from './head-training.ts';
import { AugmentationPool } from './augmentation-pool.ts';
import type { Sample } from './split.ts';
import { epochsFor, rowsPerRun } from './recipe.ts';
import type { Recipe } from './recipe.ts';
import type { Features, FrozenFeatures } from './feature-maps.ts';
import { ImageFeatures } from './image-features.ts';
import { planSecondNetwork } from './networks.ts';
import { shapeOf } from './training-run.ts';
import type { TrainingRun } from './training-run.ts';
import type { AugmentedImage } from './augmentations.ts';

export type Stage = 'probe' | 'fine-tune';
export interface Validation {
  loss: number;
  map50: number;
  map75: number;
}
export interface EpochResult {
  epoch: number;
  stage: Stage;
  loss: number;
  /** Undefined without validation images. */
  validation: Validation | undefined;
  seconds: number;
}
/** The detector and its rescoring are those of the chosen weights. */
export interface TrainedModel extends DeliveredDetector {
  chosen: Stage;
  /** Weights by stage; without fine-tuned ones if only the probe was trained. */
  weights: ReadonlyMap<Stage, Weights>;
  curve: readonly EpochResult[];
  seconds: { probe: number; fine_tune: number };
  release(): Promise<void>;
}
/** Maximum size of the feature file, even if the job may use more disk. */
const maxFeatureBytes = 2 * 2 ** 30;
/** Number of images for the calibration of the neck's quantization. */
const neckSampleImages = 24;
/** Each image and its mirror image; limited to a subset if there are many images. */
export const probeAugmentations = (images: number): number => Math.min(2 * images, 240);
const mebibyte = 2 ** 20;
/** Share of the job's time; the rest is for the measurements. */
const shareForTraining = 0.75;

/** Number of views that fit into the file. */
export function slotsFor(images: number, { augmentations: views, side, batch }: Recipe, diskMib: number): number {
  const room = Math.min(maxFeatureBytes, (diskMib * mebibyte) / 2);
  return Math.max(batch, Math.min(images * views, Math.floor(room / featureBytes(side))));
}

/**
 * Whether the later weights (`a`) are as good as the best so far (`b`): within one standard error for this number of
 * boxes. A tie selects the later ones, which trained with smaller steps.
 */
export function isAsGood(a: Validation, b: Validation, boxes: number): boolean {
  return a.map50 >= b.map50 - Math.sqrt((b.map50 * (1 - b.map50)) / Math.max(1, boxes));
}
export const isBetter = (a: Validation, b: Validation): boolean =>
  a.map50 !== b.map50 ? a.map50 > b.map50 : a.map75 !== b.map75 ? a.map75 > b.map75 : a.loss < b.loss;

/** The weights after the probe or an epoch, and their detections in the validation images. */
interface Candidate {
  stage: Stage;
  epoch: number;
  weights: Weights;
  validation: Validation | undefined;
  evaluated: EvaluatedImage[];
}
/** Sessions and files of one training, released together. */
class Resources {
  readonly #run: TrainingRun;
  readonly #sessions: Session[] = [];
  readonly #files: FeatureCache[] = [];
  constructor(run: TrainingRun) {
    this.#run = run;
  }
  async session(graph: Uint8Array): Promise<Session> {
    const { training, device } = this.#run;
    const session = await training.devices.open(graph, device.place);
    this.#sessions.push(session);
    return session;
  }
  cache(name: string, steps: Float32Array): FeatureCache {
    const file = new FeatureCache(path.join(this.#run.tmp, name), this.#run.recipe.side, steps);
    this.#files.push(file);
    return file;
  }
  /** Closes the files, and all sessions except the first `kept`. */
  async release(kept = 0): Promise<void> {
    for (const file of this.#files.splice(0)) file.close();
    for (const session of this.#sessions.splice(kept)) await session.release();
  }
}

export async function trainModel(run: TrainingRun): Promise<TrainedModel> {
  const { training, recipe, detector, prepared, progress } = run;
  const { clock, job } = training;
  const plan = planSecondNetwork(run);
  const resources = new Resources(run);
  try {
    const started = clock.now();
    const session = await resources.session(featureGraph(detector, recipe.side));
    const features = new ImageFeatures(new FeatureExtractor(session, detector, recipe.side), prepared, recipe.side);
    const steps = await measureQuantization(features, prepared.train, job.seed);
    const heldBack = await cacheValidation(run, features, resources.cache('validation.features', steps));
    const { trainer, tape, evaluator } = await openHead(run, steps, resources);
    const file = resources.cache('augmentations.features', steps);
    const slots = slotsFor(prepared.train.length, recipe, job.limits.disk_mib);
    const ofAugmented = (image: AugmentedImage): Promise<Features> => features.ofAugmented(image);
    const pool = new AugmentationPool({ images: prepared.train, slots, file, features: ofAugmented, seed: job.seed });
    const schedule = new TrainingSchedule(run, { pool, file, trainer });
    const curve: EpochResult[] = [];
    const report = (result: EpochResult): void => {
      curve.push(result);
      training.events.emit({ is: 'metric', values: metricOf(result) });
    };
    const validate = async (stage: Stage, epoch: number): Promise<Candidate> => {
      const weights = copyParameters(tape);
      return { stage, epoch, weights, ...(await validateHead(run, evaluator, weights, heldBack)) };
    };

    const loss = await schedule.probe();
    const probe = await validate('probe', 0);
    const probeSeconds = (clock.now() - started) / 1000;
    progress.update('probe', 1);
    report({ epoch: 0, stage: 'probe', loss, validation: probe.validation, seconds: round(probeSeconds, 2) });
    const tuningStarted = clock.now();
    const tuned = isFineTuned(recipe) ? await fineTune(run, { schedule, slots, started, validate, report }) : undefined;
    progress.update('fine-tune', 1);
    // The export needs the memory of the training steps; the feature extractor stays open for the comparison.
    await resources.release(1);
    const best = tuned && isChosen(tuned, probe) ? tuned : probe;
    const delivered = await chooseRescoring(run, best, {
      plan,
      started,
      features,
      hasTime: clock.now() - started <= 1000 * shareForTraining * job.limits.wall_seconds,
      openSession: (graph) => resources.session(graph),
    });
    if (delivered.networks?.chosen === 'compact') await resources.release(1);
    return {
      ...delivered,
      chosen: best.stage,
      weights: new Map([probe, ...(tuned ? [tuned] : [])].map(({ stage, weights }) => [stage, weights])),
      curve,
      seconds: { probe: round(probeSeconds), fine_tune: round((clock.now() - tuningStarted) / 1000) },
      release: () => resources.release(),
    };
  } catch (e) {
    await resources.release();
    throw e;
  }
}

const isChosen = (tuned: Candidate, probe: Candidate): boolean =>
  !tuned.validation || !probe.validation || isBetter(tuned.validation, probe.validation);

async function cacheValidation(
  { training, prepared }: TrainingRun,
  features: ImageFeatures<FrozenFeatures>,
  cache: FeatureCache,
): Promise<FeatureCache> {
  for (const [slot, sample] of prepared.validation.entries()) {
    training.signal.throwIfAborted();
    cache.write(slot, await features.ofSample(sample));
  }
  return cache;
}

async function openHead(
  run: TrainingRun,
  neckSteps: Float32Array,
  resources: Resources,
): Promise<{ trainer: HeadTrainer; tape: Tape; evaluator: HeadEvaluator }> {
  const { recipe, detector, training } = run;
  const { hidden, decay, overlapWeight } = recipe;
  const { seed } = training.job;
  const shape = shapeOf(run);
  const weights = initialWeights(shape, seed);
  const batch = rowsPerRun(recipe);
  const learning = headGraph(detector, weights, shape, { neckSteps, overlapWeight, batch, mode: 'train' });
  const evaluating = headGraph(detector, weights, shape, { neckSteps, overlapWeight, batch: 1, mode: 'evaluate' });
  const dropout = { hidden, rate: recipe.dropout, random: seeded('dropped', seed), decay };
  const trainer = new HeadTrainer(await resources.session(learning.model), learning, { ...shape, batch }, dropout);
  const session = await resources.session(evaluating.model);
  return { trainer, tape: learning.tape, evaluator: new HeadEvaluator(session, evaluating, { ...shape, batch: 1 }) };
}

async function validateHead(
  { training, prepared }: TrainingRun,
  evaluator: HeadEvaluator,
  weights: Weights,
  cache: FeatureCache,
): Promise<{ validation: Validation | undefined; evaluated: EvaluatedImage[] }> {
  const examples = prepared.validation.map(({ boxes }, slot): CachedExample => ({ slot, boxes }));
  const { loss, evaluated } = await evaluator.evaluate(weights, examples, cache, training.signal);
  if (examples.length === 0) return { validation: undefined, evaluated };
  const mapAt = (threshold: number): number => meanAveragePrecision(evaluated, prepared.labels.length, threshold);
  return { validation: { loss, map50: mapAt(0.5), map75: mapAt(0.75) }, evaluated };
}

/** @returns the last epoch that validates as well as the best one. */
async function fineTune(
  { training, recipe, prepared }: TrainingRun,
  {
    schedule,
    slots,
    started,
    validate,
    report,
  }: {
    schedule: TrainingSchedule;
    slots: number;
    started: number;
    validate: (stage: Stage, epoch: number) => Promise<Candidate>;
    report: (result: EpochResult) => void;
  },
): Promise<Candidate | undefined> {
  const { clock, job } = training;
  await schedule.grow(slots);
  let chosen: Candidate | undefined;
  let highest: Validation | undefined;
  const boxes = countBoxes(prepared.validation);
  const epochs = epochsFor(recipe, prepared.train.length);
  for (let epoch = 1; epoch <= epochs; epoch++) {
    const epochStarted = clock.now();
    const loss = await schedule.epoch(epoch, epochs);
    const candidate = await validate('fine-tune', epoch);
    const { validation } = candidate;
    report({ epoch, stage: 'fine-tune', loss, validation, seconds: round((clock.now() - epochStarted) / 1000, 2) });
    // Without validation images, use the last weights.
    if (!highest || !validation || isAsGood(validation, highest, boxes)) chosen = candidate;
    if (validation && (!highest || isBetter(validation, highest))) highest = validation;
    if (epoch - (chosen?.epoch ?? 0) >= Math.max(recipe.patience, epochs / 3)) break;
    if (clock.now() - started > 1000 * shareForTraining * job.limits.wall_seconds) {
      const message = `Stopped after ${epoch} of ${epochs} epochs. The rest of the job's time is for the export and the evaluation.`;
      training.events.emit({ is: 'log', level: 'warn', message });
      break;
    }
  }
  return chosen;
}

async function measureQuantization(
  features: ImageFeatures<FrozenFeatures>,
  train: readonly Sample[],
  seed: number,
): Promise<Float32Array> {
  let steps = new Float32Array(neckChannels);
  for (const sample of shuffled(train, seeded('measured', seed)).slice(0, neckSampleImages)) {
    const { neck } = await features.ofSample(sample);
    const found = quantizationSteps(neck);
    steps = steps.map((step, i) => Math.max(step, found[i] ?? 0));
  }
  return steps;
}

/** Selects the views and the learning rate of each step. */
class TrainingSchedule {
  readonly #run: TrainingRun;
  readonly #parts: { pool: AugmentationPool; file: FeatureCache; trainer: HeadTrainer };
  constructor(run: TrainingRun, parts: { pool: AugmentationPool; file: FeatureCache; trainer: HeadTrainer }) {
    this.#run = run;
    this.#parts = parts;
  }
  /** Adds views until the pool has `wanted` ones. */
  async grow(wanted: number): Promise<void> {
    const { pool } = this.#parts;
    while (pool.size < wanted) {
      this.#run.training.signal.throwIfAborted();
      await pool.grow();
      this.#run.progress.update('features', Math.min(1, pool.size / this.#views));
    }
  }
  /** Number of views to create before the last part of the training. */
  get #views(): number {
    const { recipe, training, prepared } = this.#run;
    const slots = slotsFor(prepared.train.length, recipe, training.job.limits.disk_mib);
    return isFineTuned(recipe) ? slots : Math.min(slots, probeAugmentations(prepared.train.length));
  }
  async #step(rate: number): Promise<number> {
    const { pool, file, trainer } = this.#parts;
    const { recipe, training } = this.#run;
    training.signal.throwIfAborted();
    const examples = pool.sample(recipe.batch).map((slot): CachedExample => ({ slot, boxes: pool.boxes(slot) }));
    return trainer.step(examples, file, rate);
  }
  /** @returns the mean loss of the last quarter of the steps. */
  async probe(): Promise<number> {
    const { recipe, prepared, progress } = this.#run;
    await this.grow(Math.min(this.#views, probeAugmentations(prepared.train.length)));
    const losses: number[] = [];
    for (let step = 0; step < recipe.probeSteps; step++) {
      losses.push(await this.#step(recipe.learningRate * Math.min(1, (step + 1) / recipe.warmUpSteps)));
      progress.update('probe', (0.9 * (step + 1)) / recipe.probeSteps);
    }
    const last = losses.slice(-Math.ceil(losses.length / 4));
    return last.reduce((sum, loss) => sum + loss, 0) / last.length;
  }
  /** Trains on as many views as there are images, with cosine decay over all epochs. @returns the mean loss. */
  async epoch(epoch: number, epochs: number): Promise<number> {
    const { recipe, progress, prepared } = this.#run;
    const { pool } = this.#parts;
    const images = Math.min(prepared.train.length, pool.size);
    const steps = Math.ceil(images / recipe.batch);
    let sum = 0;
    for (let step = 0; step < steps; step++) {
      const done = ((epoch - 1) * steps + step) / (epochs * steps);
      sum += await this.#step(recipe.learningRate * 0.5 * (1 + Math.cos(Math.PI * done)));
      progress.update('fine-tune', done);
    }
    const isWhole = pool.size >= prepared.train.length * recipe.augmentations;
    const anew = isWhole ? 0 : recipe.renewedShare * images;
    for (let i = 0; i < anew; i++) {
      this.#run.training.signal.throwIfAborted();
      await pool.grow();
    }
    return sum / steps;
  }
}

function metricOf({ epoch, stage, loss, validation, seconds }: EpochResult): Record<string, number | string> {
  return {
    epoch,
    stage,
    loss: round(loss, 4),
    ...(validation
      ? {
          validation_loss: round(validation.loss, 4),
          validation_map50: round(validation.map50, 4),
          validation_map75: round(validation.map75, 4),
        }
      : {}),
    seconds,
  };
}
