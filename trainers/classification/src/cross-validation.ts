/** The score of the linear probe over all images, each measured by a probe that has not seen it. */
import { type CrossValidation, fewHeldOut } from '@platform/contract/job/cross-validation';
import { labelsAbove } from '@platform/contract/job/model-output';
import { Tape } from '@platform/trainer-engine/autodiff/tape';
import type { Value } from '@platform/trainer-engine/autodiff/tape';
import { unitWithCopies } from '@platform/trainer-engine/held-out';
import { FLOAT } from '@platform/trainer-engine/onnx/graph';
import { seeded, shuffled } from '@platform/trainer-engine/random';
import { openSession } from '@platform/trainer-engine/runtime';
import { headOf, sizeOf } from './head.ts';
import type { Head, Weights } from './head.ts';
import { ProbeFeatures, trainLinearProbe } from './linear-probe.ts';
import type { Sample } from './load-images.ts';
import { chooseThresholds, multiLabelScoreOf } from './multi-score.ts';
import { emitHead, featureName } from './network.ts';
import type { Objective } from './objective.ts';
import { scoreOf } from './score.ts';
import type { EvaluatedImage } from './score.ts';
import { weightDecay } from './train-model.ts';
import type { TrainedModel, TrainingRun } from './train-model.ts';

const mostFolds = 5;
/** Larger datasets are sampled: the interval of 500 images is ± 3 points at 90 %. */
const mostImages = 500;
const leastImages = 10;
/** Limit of the features in memory; each fold copies them. */
const mostBytes = 32e6;

/** Undefined with enough held-out images, or with too few images at all. */
export async function crossValidate(
  run: TrainingRun,
  trained: TrainedModel,
): Promise<{ cross_validation: CrossValidation } | undefined> {
  const { prepared, recipe, backbone, training } = run;
  const { train, validation, test, labels } = prepared;
  const heldOut = test.length > 0 ? test : validation;
  if (heldOut.length >= fewHeldOut) return undefined;
  const { objective } = trained;
  const head = headOf(backbone, objective.output, { side: recipe.side, classes: labels.length });
  const rowBytes = head.features.reduce((sum, one) => sum + 4 * sizeOf(one), 0);
  const limit = Math.min(mostImages, Math.floor(mostBytes / rowBytes));
  const samples = shuffled([...train, ...validation, ...test], seeded('folds', training.job.seed)).slice(0, limit);
  const folds = foldsOf(samples);
  const count = Math.max(0, ...folds) + 1;
  if (samples.length < leastImages || count < 2) return undefined;
  const features: (readonly Float32Array[])[] = [];
  const views = samples.map((sample) => ({ sample, view: undefined }));
  await trained.features('probe', views, (i, _, all) => (features[i] = all.map((one) => one.slice())));
  const rows = samples.map((sample, i): Row => ({ sample, features: features[i] ?? [], fold: folds[i] ?? 0 }));
  const evaluated = new Map<Row, EvaluatedImage>();
  for (let fold = 0; fold < count; fold++) {
    const [own, others] = [rows.filter((row) => row.fold === fold), rows.filter((row) => row.fold !== fold)];
    const found = await probeOn(others, own, { head, objective, training });
    for (const [i, row] of own.entries())
      evaluated.set(row, found[i] ?? { classes: [], probabilities: new Float64Array() });
  }
  return { cross_validation: scoreOfFolds(rows, evaluated, { objective, labels, folds: count }) };
}

interface Row {
  sample: Sample;
  features: readonly Float32Array[];
  fold: number;
}

/** Near copies and images of one group stay in one fold; the folds have about the same share of each label. */
export function foldsOf(samples: readonly Sample[]): number[] {
  const units = [...Map.groupBy(samples.keys(), (i) => unitWithCopies(sampleAt(samples, i))).values()];
  const classOf = (unit: readonly number[]): number => sampleAt(samples, unit[0] ?? 0).classes[0] ?? -1;
  const count = Math.min(mostFolds, units.length);
  const folds = Array<number>(samples.length).fill(0);
  for (const [place, unit] of units.toSorted((a, b) => classOf(a) - classOf(b)).entries())
    for (const i of unit) folds[i] = place % count;
  return folds;
}

function sampleAt(samples: readonly Sample[], i: number): Sample {
  const sample = samples[i];
  if (!sample) throw new RangeError(`there is no image ${i}`);
  return sample;
}

interface Probe {
  head: Head;
  objective: Objective;
  training: TrainingRun['training'];
}

function featuresOf(head: Head, rows: readonly Row[]): ProbeFeatures {
  const features = new ProbeFeatures(head, rows.length);
  for (const [i, row] of rows.entries()) features.set(i, row.features);
  return features;
}

/** Trains a probe on some rows and evaluates it on others. */
async function probeOn(
  train: readonly Row[],
  evaluate: readonly Row[],
  { head, objective, training: { threads, signal } }: Probe,
): Promise<EvaluatedImage[]> {
  const rows = {
    features: featuresOf(head, train),
    targets: train.map(({ sample }) => objective.target(sample.classes, 0)),
    weights: train.map(({ sample }) => objective.weights(sample.classes)),
  };
  const { output } = objective;
  const weights = await trainLinearProbe(rows, head, { output, l2: weightDecay[output], threads, signal });
  const session = await openSession(logitsGraph(head), threads);
  const evaluated: EvaluatedImage[] = [];
  try {
    for (const { sample, features } of evaluate) {
      signal.throwIfAborted();
      const results = await session.run({ ...featureFeeds(head, features), ...parametersOf(head, weights) });
      evaluated.push({ classes: sample.classes, probabilities: objective.probabilities(results('logits').slice()) });
    }
  } finally {
    await session.release();
  }
  return evaluated;
}

const channelsOf = (parts: readonly number[]): number => parts.reduce((a, b) => a + b);

/** Inputs: the features of one image and the parameters of the head. Output: its logits. */
function logitsGraph(head: Head): Buffer {
  const tape = new Tape();
  const values = new Map(
    head.features.map(({ value, parts, edge }, i): [number, Value] => [
      value,
      tape.input(featureName(i), [1, channelsOf(parts), edge, edge]),
    ]),
  );
  const logits = emitHead(tape, head, values);
  const { graph } = tape;
  graph.op('Identity', [logits.name], {}, 'logits');
  graph.outputs.push({ name: 'logits', type: FLOAT });
  return graph.encode();
}

const featureFeeds = (head: Head, features: readonly Float32Array[]) =>
  Object.fromEntries(
    head.features.map(({ parts, edge }, i) => [
      featureName(i),
      { data: features[i] ?? new Float32Array(), dims: [1, channelsOf(parts), edge, edge] },
    ]),
  );

function parametersOf({ parameters }: Head, weights: Weights) {
  const classes = parameters[0]?.shape[0] ?? 0;
  const shapes = new Map<string, readonly number[]>(parameters.map(({ name, shape }) => [name, shape]));
  return Object.fromEntries([...weights].map(([name, data]) => [name, { data, dims: shapes.get(name) ?? [classes] }]));
}

/** With several labels, the thresholds of a fold are those that are best for the other folds. */
function scoreOfFolds(
  rows: readonly Row[],
  evaluated: ReadonlyMap<Row, EvaluatedImage>,
  { objective, labels, folds }: { objective: Objective; labels: readonly string[]; folds: number },
): CrossValidation {
  const found = rows.flatMap((row) => {
    const one = evaluated.get(row);
    return one ? [{ fold: row.fold, one }] : [];
  });
  const all = found.map(({ one }) => one);
  const head = { count: all.length, folds };
  if (objective.output === 'softmax') return { score: 'accuracy', value: scoreOf(all, labels).accuracy, ...head };
  const thresholds = Array.from({ length: folds }, (_, fold) =>
    chooseThresholds(
      found.filter((other) => other.fold !== fold).map(({ one }) => one),
      labels.length,
    ),
  );
  // Probabilities become 0 or 1, so that one threshold serves all folds.
  const decided = found.map(({ fold, one }): EvaluatedImage => {
    const present = new Set(labelsAbove(one.probabilities, thresholds[fold] ?? []));
    return { classes: one.classes, probabilities: Float64Array.from(labels, (_, k) => (present.has(k) ? 1 : 0)) };
  });
  const { micro_f1: value } = multiLabelScoreOf(
    decided,
    labels.map(() => 0.5),
  );
  return { score: 'micro_f1', value, ...head };
}
