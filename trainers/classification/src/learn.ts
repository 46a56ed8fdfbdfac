/** Probe first, then fine-tuning from it; the better of the two on validation is delivered. */
import type { CurvePoint } from '@platform/contract/evaluation';
import type { Tape } from '@platform/trainer-engine/autodiff/tape';
import { classWeights } from './dataset.ts';
import { fineTune, isBetter } from './fine-tune.ts';
import type { Validation } from './fine-tune.ts';
import type { Sample } from './intake.ts';
import { look } from './looks.ts';
import type { Viewer } from './looks.ts';
import { learnerGraph, viewerGraph } from './network.ts';
import type { Prepared } from './prepare.ts';
import { randomView } from '@platform/trainer-engine/pictures';
import type { Backbone } from '@platform/trainer-engine/pretrained/mobilenet';
import { trainProbe } from './probe.ts';
import type { Progress } from '@platform/trainer-engine/progress';
import { round } from '@platform/trainer-engine/progress';
import { seeded } from '@platform/trainer-engine/random';
import type { Recipe } from './recipe.ts';
import { openSession } from '@platform/trainer-engine/runtime';
import { best, crossEntropy, softmax } from './score.ts';
import type { Judged } from './score.ts';
import type { Training } from './training.ts';

export type Stage = 'probe' | 'fine-tune';
export interface Learned {
  chosen: Stage;
  /** Weights by stage; the fine-tuned ones are missing when only the probe was trained. */
  weights: ReadonlyMap<Stage, ReadonlyMap<string, Float32Array>>;
  curve: readonly CurvePoint[];
  seconds: { probe: number; fine_tune: number };
  /** Probabilities of the trained network with the weights of a stage. */
  judge(stage: Stage, samples: readonly Sample[]): Promise<Judged[]>;
  release(): Promise<void>;
}

/** More pictures at once cost memory and gain nothing. */
const viewerBatch = 4;

const copyOf = (tape: Tape): Map<string, Float32Array> =>
  new Map([...tape.parameters].map(([name, { values }]) => [name, Float32Array.from(values)]));
function load(tape: Tape, weights: ReadonlyMap<string, Float32Array>): void {
  for (const [name, { values }] of tape.parameters) values.set(weights.get(name) ?? values);
}
const validationOf = (judged: readonly Judged[]): Validation => ({
  loss: crossEntropy(judged),
  accuracy: judged.filter(({ label, probabilities }) => best(probabilities) === label).length / judged.length,
});

export async function learn(
  { job, events, clock, threads, signal }: Training,
  recipe: Recipe,
  backbone: Backbone,
  prepared: Prepared,
  progress: Progress,
): Promise<Learned> {
  const { train, validation, labels } = prepared;
  const geometry = { batch: recipe.batch, side: recipe.side, classes: labels.length };
  const { model, tape } = learnerGraph(backbone, geometry, recipe.freezeUntil);
  const session = await openSession(
    viewerGraph(backbone, { ...geometry, batch: viewerBatch }, recipe.freezeUntil),
    threads,
  );
  const viewer: Viewer = { ...geometry, batch: viewerBatch, session, features: backbone.features };
  const perClass = classWeights(train, labels.length);
  const curve: CurvePoint[] = [];

  const judgeNow = async (samples: readonly Sample[]): Promise<Judged[]> => {
    const draw = (i: number, into: Float32Array, offset: number): void => {
      const sample = samples[i];
      if (sample) prepared.drawWhole(sample, into, offset);
    };
    const { logits } = await look(viewer, tape.parameters, samples.length, draw, { signal });
    return samples.map(({ label }, i) => ({ label, probabilities: softmax(logits[i] ?? new Float32Array()) }));
  };
  const tellEpoch = (point: CurvePoint): void => {
    curve.push(point);
    const { validation_loss: loss, validation_accuracy: accuracy, ...rest } = point;
    const validated =
      loss === null || accuracy === null
        ? {}
        : { validation_loss: round(loss, 4), validation_accuracy: round(accuracy, 4) };
    events.tell({ is: 'metric', values: { ...rest, loss: round(rest.loss, 4), ...validated } });
  };

  const probeStarted = clock.now();
  const random = seeded('probe', job.seed);
  const views = train.flatMap((sample) => [
    { sample, view: undefined },
    ...Array.from({ length: recipe.probeViews }, () => ({ sample, view: randomView(prepared.largeSide, random) })),
  ]);
  const draw = (i: number, into: Float32Array, offset: number): void => {
    const one = views[i];
    if (!one) return;
    if (one.view) prepared.drawView(one.sample, one.view, into, offset);
    else prepared.drawWhole(one.sample, into, offset);
  };
  const onDone = (share: number): void => progress.at('features', share);
  const { pooled } = await look(viewer, tape.parameters, views.length, draw, { signal, onDone });
  const rowLabels = views.map(({ sample }) => sample.label);
  const rowWeights = rowLabels.map((label) => perClass[label] ?? 1);
  const head = await trainProbe(pooled, rowLabels, rowWeights, labels.length, { signal });
  tape.parameters.get('W')?.values.set(head.weights);
  tape.parameters.get('B')?.values.set(head.bias);
  const probeWeights = copyOf(tape);
  progress.at('probe', 1);
  const probeValidation = validation.length === 0 ? undefined : validationOf(await judgeNow(validation));
  const probeLoss = crossEntropy(await judgeNow(train));
  const probeSeconds = (clock.now() - probeStarted) / 1000;
  tellEpoch({
    epoch: 0,
    stage: 'probe',
    loss: probeLoss,
    validation_loss: probeValidation?.loss ?? null,
    validation_accuracy: probeValidation?.accuracy ?? null,
    seconds: round(probeSeconds, 2),
  });

  const weights = new Map<Stage, ReadonlyMap<string, Float32Array>>([['probe', probeWeights]]);
  let chosen: Stage = 'probe';
  let fineTuneSeconds = 0;
  if (recipe.recipe === 'auto' && probeValidation) {
    const started = clock.now();
    const learner = await openSession(model, threads);
    const stepRandom = seeded('fine-tune', job.seed);
    let epochStarted = clock.now();
    const tuned = await fineTune({
      recipe,
      session: learner,
      tape,
      classes: labels.length,
      labels: train.map(({ label }) => label),
      classWeights: perClass,
      draw: (i, into, offset) => {
        const sample = train[i];
        if (sample) prepared.drawView(sample, randomView(prepared.largeSide, stepRandom), into, offset);
      },
      validate: async () => validationOf(await judgeNow(validation)),
      random: seeded('order', job.seed),
      signal,
      onStep: (share) => progress.at('fine-tune', share),
      onEpoch: (epoch, loss, { loss: validation_loss, accuracy: validation_accuracy }) => {
        const seconds = round((clock.now() - epochStarted) / 1000, 2);
        epochStarted = clock.now();
        tellEpoch({ epoch, stage: 'fine-tune', loss, validation_loss, validation_accuracy, seconds });
      },
    });
    await learner.release();
    fineTuneSeconds = (clock.now() - started) / 1000;
    if (tuned) {
      weights.set('fine-tune', tuned.weights);
      if (isBetter(tuned.validation, probeValidation)) chosen = 'fine-tune';
    }
  }
  progress.at('fine-tune', 1);
  return {
    chosen,
    weights,
    curve,
    seconds: { probe: round(probeSeconds), fine_tune: round(fineTuneSeconds) },
    judge: (stage, samples) => {
      load(tape, weights.get(stage) ?? new Map());
      return judgeNow(samples);
    },
    release: () => session.release(),
  };
}
