/** Probe first, then fine-tuning from it; what is fine-tuned is delivered, unless the probe validates clearly better. */
import path from 'node:path';
import type { Tape } from '@platform/trainer-engine/autodiff/tape';
import type { Device } from '@platform/trainer-engine/device';
import { readEfficientnet } from '@platform/trainer-engine/pretrained/efficientnet';
import type { Backbone } from '@platform/trainer-engine/pretrained/efficientnet';
import type { Progress } from '@platform/trainer-engine/progress';
import { round } from '@platform/trainer-engine/progress';
import { seeded, shuffled } from '@platform/trainer-engine/random';
import { randomView } from './augment.ts';
import { fineTune, valuesOf } from './fine-tune.ts';
import type { FineTuneTask, Lesson } from './fine-tune.ts';
import type { Sample } from './load-images.ts';
import { KeptWeights } from './weight-snapshots.ts';
import { look, parameterFeeds } from './inference.ts';
import type { Viewer } from './inference.ts';
import { learnerGraph, pretrainedWeights, viewerGraph } from './network.ts';
import type { Weights } from './network.ts';
import { isProbeBetter, meanLoss, objectiveOf } from './objective.ts';
import type { Objective, Validation } from './objective.ts';
import type { Prepared } from './prepare.ts';
import { trainProbe } from './linear-probe.ts';
import type { Recipe } from './recipe.ts';
import type { Judged } from './score.ts';
import type { Feed } from '@platform/trainer-engine/runtime';
import type { Training } from '@platform/trainer-engine/training';

export type Stage = 'probe' | 'fine-tune';
export interface LearningPoint {
  epoch: number;
  stage: Stage;
  loss: number;
  /** Absent where no validation pictures were set apart. */
  validation: Validation | undefined;
  seconds: number;
}
export interface Learned {
  objective: Objective;
  chosen: Stage;
  /** Weights by stage; the fine-tuned ones are missing when only the probe was trained. */
  weights: ReadonlyMap<Stage, Weights>;
  curve: readonly LearningPoint[];
  seconds: { probe: number; fine_tune: number };
  /** Probabilities of the trained network with the weights of a stage. */
  judge(stage: Stage, samples: readonly Sample[]): Promise<Judged[]>;
  release(): Promise<void>;
}
export interface Pupil {
  training: Training;
  device: Device;
  recipe: Recipe;
  /** Its weights learn. */
  backbone: Backbone;
  /** Folder for what is not to be delivered. */
  tmp: string;
  prepared: Prepared;
  progress: Progress;
}

/** More pictures at once cost memory and gain nothing. */
const viewerBatch = 2;
/** Of the probe, however many labels there are. */
const fewestRows = 600;
/** Pictures that the training loss of the probe is taken from. */
const lossPictures = 400;

export async function learn(pupil: Pupil): Promise<Learned> {
  const { training, device, recipe, backbone, prepared, progress } = pupil;
  const { job, clock, devices } = training;
  const { train, validation, labels } = prepared;
  const geometry = { batch: recipe.batch, side: recipe.side, classes: labels.length };
  const objective = objectiveOf(recipe.task, train, labels);
  const { model, tape } = learnerGraph(backbone, geometry, recipe.freezeUntil, objective.output);
  const graph = viewerGraph(backbone, { ...geometry, batch: viewerBatch }, recipe.freezeUntil);
  const session = await devices.open(graph, device.place);
  const viewer: Viewer = { ...geometry, batch: viewerBatch, session, features: backbone.features };
  const judge = (samples: readonly Sample[], values?: Weights): Promise<Judged[]> =>
    judgeWith(pupil, viewer, parameterFeeds(tape.parameters, values), objective, samples);
  const curve: LearningPoint[] = [];
  const tell = (point: LearningPoint): void => {
    curve.push(point);
    training.events.tell({ is: 'metric', values: metricOf(point, objective) });
  };

  const probeStarted = clock.now();
  await learnProbe(pupil, viewer, tape, objective);
  progress.at('probe', 1);
  const probe = validation.length === 0 ? undefined : objective.validation(await judge(validation));
  const seen = await judge(shuffled(train, seeded('loss', job.seed)).slice(0, lossPictures));
  const { loss } = meanLoss(seen.map((one) => objective.lossOf(one)));
  const probeSeconds = (clock.now() - probeStarted) / 1000;
  tell({ epoch: 0, stage: 'probe', loss, validation: probe, seconds: round(probeSeconds, 2) });

  const head = headOf(tape);
  const weights = new Map<Stage, Weights>();
  let chosen: Stage = 'probe';
  const tuningStarted = clock.now();
  if (recipe.recipe === 'auto' && probe) {
    const learner = await devices.open(model, device.place);
    const kept = new KeptWeights(path.join(pupil.tmp, 'best.f32'));
    let epochStarted = clock.now();
    const tuned = await fineTune({
      recipe,
      session: learner,
      tape,
      classes: labels.length,
      output: objective.output,
      pictures: train.length,
      draw: drawerOf(pupil, objective),
      validate: async (values) => objective.validation(await judge(validation, values)),
      keep: (values) => kept.keep(values),
      random: seeded('order', job.seed),
      signal: training.signal,
      onStep: (share) => progress.at('fine-tune', share),
      onEpoch: (epoch, mean, found) => {
        const seconds = round((clock.now() - epochStarted) / 1000, 2);
        epochStarted = clock.now();
        tell({ epoch, stage: 'fine-tune', loss: mean, validation: found, seconds });
      },
    });
    await learner.release();
    // What the probe was made on is read anew: while steps ran it would only have taken memory.
    weights.set('probe', new Map([...pretrainedWeights(readEfficientnet()), ...head]));
    if (tuned) {
      kept.readInto(valuesOf(tape));
      weights.set('fine-tune', valuesOf(tape));
      if (!isProbeBetter(probe, tuned.validation, validation.length)) chosen = 'fine-tune';
    }
    kept.close();
  }
  if (!weights.has('probe')) weights.set('probe', new Map([...pretrainedWeights(backbone), ...head]));
  progress.at('fine-tune', 1);
  const fineTuneSeconds = weights.has('fine-tune') ? (clock.now() - tuningStarted) / 1000 : 0;
  return {
    objective,
    chosen,
    weights,
    curve,
    seconds: { probe: round(probeSeconds), fine_tune: round(fineTuneSeconds) },
    judge: (stage, samples) => judge(samples, weights.get(stage)),
    release: () => session.release(),
  };
}

const lessonOf = (objective: Objective, classes: readonly number[], smoothing: number): Lesson => ({
  target: objective.target(classes, smoothing),
  weights: objective.weights(classes),
});

function drawerOf({ training: { job }, recipe, prepared }: Pupil, objective: Objective): FineTuneTask['draw'] {
  const { train, largeSide } = prepared;
  const random = seeded('fine-tune', job.seed);
  const lessons = train.map(({ classes }) => lessonOf(objective, classes, recipe.labelSmoothing));
  return (i, into, offset) => {
    const [sample, lesson] = [train[i], lessons[i]];
    if (!sample || !lesson) throw new Error(`there is no training picture ${i}`);
    prepared.drawView(sample, randomView(largeSide, recipe.views, random), into, offset);
    return lesson;
  };
}

/** A copy: steps change it. */
const headOf = (tape: Tape): Weights =>
  new Map(['W', 'B'].map((name) => [name, Float32Array.from(tape.parameters.get(name)?.values ?? [])]));

async function judgeWith(
  { training, prepared }: Pupil,
  viewer: Viewer,
  parameters: Readonly<Record<string, Feed>>,
  objective: Objective,
  samples: readonly Sample[],
): Promise<Judged[]> {
  const judged: Judged[] = [];
  const draw = (i: number, into: Float32Array, offset: number): void => {
    const sample = samples[i];
    if (sample) prepared.drawWhole(sample, into, offset);
  };
  const { signal } = training;
  await look(
    viewer,
    parameters,
    samples.length,
    draw,
    (i, { logits }) => {
      judged.push({ classes: samples[i]?.classes ?? [], probabilities: objective.probabilities(logits) });
    },
    { signal },
  );
  return judged;
}

/** Leaves the head in the tape. */
async function learnProbe(
  { training: { job, signal }, recipe, prepared, progress }: Pupil,
  viewer: Viewer,
  tape: Tape,
  objective: Objective,
): Promise<void> {
  const { labels } = prepared;
  const random = seeded('probe', job.seed);
  // The features of every view are kept, so their number is bounded: of many pictures a part is enough for a linear head.
  const rowsAllowed = Math.min(recipe.probeRows, Math.max(fewestRows, Math.floor(recipe.probeWork / labels.length)));
  const train = shuffled(prepared.train, random).slice(0, rowsAllowed);
  const copies = Math.min(recipe.probeViews, Math.floor(rowsAllowed / train.length) - 1);
  const views = train.flatMap((sample) => [
    { sample, view: undefined },
    ...Array.from({ length: copies }, () => ({
      sample,
      view: randomView(prepared.largeSide, recipe.probeLook, random),
    })),
  ]);
  const draw = (i: number, into: Float32Array, offset: number): void => {
    const one = views[i];
    if (!one) return;
    if (one.view) prepared.drawView(one.sample, one.view, into, offset);
    else prepared.drawWhole(one.sample, into, offset);
  };
  const onDone = (share: number): void => progress.at('features', share);
  const features: Float32Array[] = [];
  await look(viewer, parameterFeeds(tape.parameters), views.length, draw, (_, { pooled }) => features.push(pooled), {
    signal,
    onDone,
  });
  const lessons = views.map(({ sample }) => lessonOf(objective, sample.classes, 0));
  const rows = {
    features,
    targets: lessons.map(({ target }) => target),
    weights: lessons.map(({ weights }) => weights),
  };
  const head = await trainProbe(rows, labels.length, { output: objective.output, signal });
  tape.parameters.get('W')?.values.set(head.weights);
  tape.parameters.get('B')?.values.set(head.bias);
}

function metricOf(
  { epoch, stage, loss, validation, seconds }: LearningPoint,
  { task }: Objective,
): Record<string, number | string> {
  const shown = task === 'single_label_classification' ? 'validation_accuracy' : 'validation_micro_f1';
  const validated = validation
    ? { validation_loss: round(validation.loss, 4), [shown]: round(validation.shown, 4) }
    : {};
  return { epoch, stage, loss: round(loss, 4), ...validated, seconds };
}
