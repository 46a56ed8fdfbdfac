/** Probe first, then the longer training from it; the better of the two on validation is delivered. */
import path from 'node:path';
import { neckChannels } from '@platform/trainer-engine/pretrained/centernet';
import { countBoxes } from './dataset.ts';
import type { Device } from '@platform/trainer-engine/device';
import { round } from '@platform/trainer-engine/progress';
import type { Progress } from '@platform/trainer-engine/progress';
import { seeded, shuffled } from '@platform/trainer-engine/random';
import type { Session } from '@platform/trainer-engine/runtime';
import type { Training } from '@platform/trainer-engine/training';
import { meanAveragePrecision } from './average-precision.ts';
import type { Judged } from './average-precision.ts';
import { featureBytes, FeatureFile, featureGraph, Lens, neckSteps } from './feature-extractor.ts';
import { firstWeights, headGraph } from './head.ts';
import type { Shape, Weights } from './head.ts';
import { copyOf, Judge, Learner } from './head-training.ts';
import type { Lesson } from './head-training.ts';
import { Pool } from './augmentation-pool.ts';
import type { Prepared, Sample } from './prepare.ts';
import { epochsFor, rowsOf } from './recipe.ts';
import type { Recipe } from './recipe.ts';
import type { Detector, Features } from './feature-maps.ts';
import { renderView } from './augmentations.ts';
import type { View } from './augmentations.ts';

export type Stage = 'probe' | 'fine-tune';
export interface Validation {
  loss: number;
  map50: number;
  map75: number;
}
export interface LearningPoint {
  epoch: number;
  stage: Stage;
  loss: number;
  /** Absent where no validation pictures were set apart. */
  validation: Validation | undefined;
  seconds: number;
}
export interface Learned {
  chosen: Stage;
  /** Weights by stage; the longer trained ones are missing when only the probe was trained. */
  weights: ReadonlyMap<Stage, Weights>;
  /** What the chosen weights find in the validation pictures. */
  validated: readonly Judged[];
  curve: readonly LearningPoint[];
  seconds: { probe: number; fine_tune: number };
  /** Features of a picture as they are, not as the file holds them; they hold until the next call. */
  features(sample: Sample): Promise<Features>;
  release(): Promise<void>;
}
export interface Pupil {
  training: Training;
  device: Device;
  recipe: Recipe;
  detector: Detector;
  prepared: Prepared;
  progress: Progress;
  tmp: string;
}

export const shapeOf = ({ recipe, prepared }: Pick<Pupil, 'recipe' | 'prepared'>): Shape => ({
  side: recipe.side,
  labels: prepared.labels.length,
  hidden: recipe.hidden,
});

/** Of the file with the features of views, whatever the job may use. */
const mostFeatureBytes = 2 * 2 ** 30;
/** Pictures that tell how large the values of the neck are. */
const measuredPictures = 24;
/** Each picture and its mirror image, of some pictures where there are many. */
export const viewsOfProbe = (pictures: number): number => Math.min(2 * pictures, 240);
const mebibyte = 2 ** 20;
/** Of the time of the job; the rest is for the measurements. */
const shareForTraining = 0.75;

/** How many views fit. */
export function slotsFor(pictures: number, { views, side, batch }: Recipe, diskMib: number): number {
  const room = Math.min(mostFeatureBytes, (diskMib * mebibyte) / 2);
  return Math.max(batch, Math.min(pictures * views, Math.floor(room / featureBytes(side))));
}

/**
 * Whether the later weights, with `a`, are as good as the best so far, with `b`, as far as so many boxes can tell: within a
 * standard error. Of equals the later ones are taken, which have learned with smaller steps.
 */
export function isAsGood(a: Validation, b: Validation, boxes: number): boolean {
  return a.map50 >= b.map50 - Math.sqrt((b.map50 * (1 - b.map50)) / Math.max(1, boxes));
}
export const isBetter = (a: Validation, b: Validation): boolean =>
  a.map50 !== b.map50 ? a.map50 > b.map50 : a.map75 !== b.map75 ? a.map75 > b.map75 : a.loss < b.loss;

/** Draws views and looks at them. What it returns holds until the next call. */
class Eye {
  readonly #lens: Lens;
  readonly #prepared: Prepared;
  readonly #side: number;
  readonly #image: Float32Array;
  readonly #source: Uint8Array<ArrayBuffer>;
  constructor(session: Session, prepared: Prepared, side: number) {
    this.#lens = new Lens(session, side);
    this.#prepared = prepared;
    this.#side = side;
    this.#image = new Float32Array(side * side * 3);
    this.#source = new Uint8Array(side * side * 3);
  }
  view(view: View): Promise<Features> {
    const { train, pixels } = this.#prepared;
    const pixelsOf = (picture: number): Uint8Array => {
      const sample = train[picture];
      if (!sample) throw new Error(`there is no training picture ${picture}`);
      return pixels(sample, this.#source);
    };
    renderView(view, { pixelsOf, from: this.#side, side: this.#side }, this.#image, 0);
    return this.#lens.look(this.#image);
  }
  sample(sample: Sample): Promise<Features> {
    this.#image.set(this.#prepared.pixels(sample, this.#source));
    return this.#lens.look(this.#image);
  }
}

export async function learn(pupil: Pupil): Promise<Learned> {
  const { training, device, recipe, detector, prepared, progress, tmp } = pupil;
  const { devices, signal, clock, job } = training;
  const { train, validation } = prepared;
  const sessions: Session[] = [];
  const files: FeatureFile[] = [];
  const open = async (graph: Uint8Array): Promise<Session> => {
    const session = await devices.open(graph, device.place);
    sessions.push(session);
    return session;
  };
  /** Closes the files, and all sessions but the first ones. */
  const releaseBut = async (kept: number): Promise<void> => {
    for (const file of files.splice(0)) file.close();
    for (const session of sessions.splice(kept)) await session.release();
  };
  try {
    const started = clock.now();
    const eye = new Eye(await open(featureGraph(detector, recipe.side)), prepared, recipe.side);
    const steps = await measureNeck(eye, train, job.seed);
    const store = (name: string): FeatureFile => {
      const file = new FeatureFile(path.join(tmp, name), recipe.side, steps);
      files.push(file);
      return file;
    };
    const heldBack = store('validation.features');
    for (const [slot, sample] of validation.entries()) {
      signal.throwIfAborted();
      heldBack.write(slot, await eye.sample(sample));
    }
    const file = store('views.features');
    const slots = slotsFor(train.length, recipe, job.limits.disk_mib);
    const pool = new Pool({ pictures: train, slots, file, features: (view) => eye.view(view), seed: job.seed });
    const shape = shapeOf(pupil);
    const common = { neckSteps: steps, overlapWeight: recipe.overlapWeight };
    const first = firstWeights(shape, job.seed);
    const rows = rowsOf(recipe);
    const learning = headGraph(detector, first, shape, { ...common, batch: rows, to: 'learn' });
    const judging = headGraph(detector, first, shape, { ...common, batch: 1, to: 'judge' });
    const learner = new Learner(
      await open(learning.model),
      learning,
      { ...shape, batch: rows },
      {
        hidden: recipe.hidden,
        share: recipe.dropped,
        random: seeded('dropped', job.seed),
        decay: recipe.decay,
      },
    );
    const judge = new Judge(await open(judging.model), judging, { ...shape, batch: 1 });
    const lessons = validation.map(({ boxes }, slot): Lesson => ({ slot, boxes }));

    const course = new Course(pupil, { pool, file, learner });
    const validate = async (weights: Weights): Promise<{ validation: Validation | undefined; judged: Judged[] }> => {
      const { loss, judged } = await judge.judge(weights, lessons, heldBack, signal);
      if (lessons.length === 0) return { validation: undefined, judged };
      const at = (least: number): number => meanAveragePrecision(judged, shape.labels, least);
      return { validation: { loss, map50: at(0.5), map75: at(0.75) }, judged };
    };
    const curve: LearningPoint[] = [];
    const tell = (point: LearningPoint): void => {
      curve.push(point);
      training.events.tell({ is: 'metric', values: metricOf(point) });
    };

    const probeLoss = await course.probe();
    const probe = { weights: copyOf(learning.tape), ...(await validate(copyOf(learning.tape))) };
    const probeSeconds = (clock.now() - started) / 1000;
    progress.at('probe', 1);
    tell({ epoch: 0, stage: 'probe', loss: probeLoss, validation: probe.validation, seconds: round(probeSeconds, 2) });
    const weights = new Map<Stage, Weights>([['probe', probe.weights]]);
    let best: { stage: Stage; epoch: number; weights: Weights; validation: Validation | undefined; judged: Judged[] } =
      {
        stage: 'probe',
        epoch: 0,
        ...probe,
      };
    const tuneStarted = clock.now();
    if (recipe.recipe === 'auto') {
      await course.grow(slots);
      let longer = undefined as typeof best | undefined;
      let highest: Validation | undefined;
      const boxes = countBoxes(validation);
      const epochs = epochsFor(recipe, train.length);
      for (let epoch = 1; epoch <= epochs; epoch++) {
        const epochStarted = clock.now();
        const loss = await course.epoch(epoch, epochs);
        const now = {
          stage: 'fine-tune' as const,
          epoch,
          weights: copyOf(learning.tape),
          ...(await validate(copyOf(learning.tape))),
        };
        tell({
          epoch,
          stage: 'fine-tune',
          loss,
          validation: now.validation,
          seconds: round((clock.now() - epochStarted) / 1000, 2),
        });
        // Without validation pictures the last weights are the best known.
        if (!highest || !now.validation || isAsGood(now.validation, highest, boxes)) longer = now;
        if (now.validation && (!highest || isBetter(now.validation, highest))) highest = now.validation;
        if (epoch - (longer?.epoch ?? 0) >= Math.max(recipe.patience, epochs / 3)) break;
        if (clock.now() - started > 1000 * shareForTraining * job.limits.wall_seconds) {
          const message = `Stopped after ${epoch} of ${epochs} epochs: the time of the job is for delivering the model.`;
          training.events.tell({ is: 'log', level: 'warn', message });
          break;
        }
      }
      if (longer) {
        weights.set('fine-tune', longer.weights);
        if (!longer.validation || !best.validation || isBetter(longer.validation, best.validation)) best = longer;
      }
    }
    progress.at('fine-tune', 1);
    // What the steps took is room for the files that are to be made; pictures are still looked at.
    await releaseBut(1);
    return {
      chosen: best.stage,
      weights,
      validated: best.judged,
      curve,
      seconds: { probe: round(probeSeconds), fine_tune: round((clock.now() - tuneStarted) / 1000) },
      features: (sample) => eye.sample(sample),
      release: () => releaseBut(0),
    };
  } catch (e) {
    await releaseBut(0);
    throw e;
  }
}

async function measureNeck(eye: Eye, train: readonly Sample[], seed: number): Promise<Float32Array> {
  let steps = new Float32Array(neckChannels);
  for (const sample of shuffled(train, seeded('measured', seed)).slice(0, measuredPictures)) {
    const { neck } = await eye.sample(sample);
    const found = neckSteps(neck);
    steps = steps.map((step, i) => Math.max(step, found[i] ?? 0));
  }
  return steps;
}

/** The order of steps: which views, at which rate. */
class Course {
  readonly #pupil: Pupil;
  readonly #school: { pool: Pool; file: FeatureFile; learner: Learner };
  constructor(pupil: Pupil, school: { pool: Pool; file: FeatureFile; learner: Learner }) {
    this.#pupil = pupil;
    this.#school = school;
  }
  /** Makes views until there are so many. */
  async grow(wanted: number): Promise<void> {
    const { pool } = this.#school;
    while (pool.size < wanted) {
      this.#pupil.training.signal.throwIfAborted();
      await pool.grow();
      this.#pupil.progress.at('features', Math.min(1, pool.size / this.#views));
    }
  }
  /** Of all that will be made before the last part of the training. */
  get #views(): number {
    const { recipe, training, prepared } = this.#pupil;
    const slots = slotsFor(prepared.train.length, recipe, training.job.limits.disk_mib);
    return recipe.recipe === 'auto' ? slots : Math.min(slots, viewsOfProbe(prepared.train.length));
  }
  async #step(rate: number): Promise<number> {
    const { pool, file, learner } = this.#school;
    const { recipe, training } = this.#pupil;
    training.signal.throwIfAborted();
    const lessons = pool.draw(recipe.batch).map((slot): Lesson => ({ slot, boxes: pool.boxes(slot) }));
    return learner.step(lessons, file, rate);
  }
  /** @returns the mean loss of the last quarter. */
  async probe(): Promise<number> {
    const { recipe, prepared, progress } = this.#pupil;
    await this.grow(Math.min(this.#views, viewsOfProbe(prepared.train.length)));
    const losses: number[] = [];
    for (let step = 0; step < recipe.probeSteps; step++) {
      losses.push(await this.#step(recipe.learningRate * Math.min(1, (step + 1) / recipe.warmUpSteps)));
      progress.at('probe', (0.9 * (step + 1)) / recipe.probeSteps);
    }
    const last = losses.slice(-Math.ceil(losses.length / 4));
    return last.reduce((sum, loss) => sum + loss, 0) / last.length;
  }
  /** As many views as there are pictures; the rate falls along half a cosine over all epochs. @returns the mean loss. */
  async epoch(epoch: number, epochs: number): Promise<number> {
    const { recipe, progress, prepared } = this.#pupil;
    const { pool } = this.#school;
    const pictures = Math.min(prepared.train.length, pool.size);
    const steps = Math.ceil(pictures / recipe.batch);
    let sum = 0;
    for (let step = 0; step < steps; step++) {
      const done = ((epoch - 1) * steps + step) / (epochs * steps);
      sum += await this.#step(recipe.learningRate * 0.5 * (1 + Math.cos(Math.PI * done)));
      progress.at('fine-tune', done);
    }
    const isWhole = pool.size >= prepared.train.length * recipe.views;
    const anew = isWhole ? 0 : recipe.renewed * pictures;
    for (let i = 0; i < anew; i++) {
      this.#pupil.training.signal.throwIfAborted();
      await pool.grow();
    }
    return sum / steps;
  }
}

function metricOf({ epoch, stage, loss, validation, seconds }: LearningPoint): Record<string, number | string> {
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
