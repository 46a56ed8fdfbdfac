/** Recipe `auto`: trains the compact and the accurate network and delivers the better one. */
import type { NetworkChoice, NetworkReport } from '@platform/contract/evaluation';
import type { Events } from '@platform/trainer-engine/events';
import { round } from '@platform/trainer-engine/progress';
import { openSession } from '@platform/trainer-engine/runtime';
import { classifierOf, exportOnnx } from './classifier.ts';
import { runOnnxModel } from './exported-model.ts';
import { chooseThresholds } from './multi-score.ts';
import { estimateModelBytes, megabytesOf, readNetwork } from './networks.ts';
import type { NetworkName } from './networks.ts';
import { argmax } from './score.ts';
import type { EvaluatedImage } from './score.ts';
import { trainModel } from './train-model.ts';
import type { TrainedModel, TrainingRun } from './train-model.ts';

/** Fewer validation images decide by chance. */
export const fewestImages = 20;
/** Images for the latency. */
const timedImages = 20;

export interface DeliveredRun {
  run: TrainingRun;
  trained: TrainedModel;
  /** Recipe `auto` only. */
  networks: NetworkChoice | undefined;
}

/** Trains what the recipe asks for. */
export async function trainByRecipe(run: TrainingRun): Promise<DeliveredRun> {
  if (run.recipe.recipe !== 'auto') return { run, trained: await trainModel(run), networks: undefined };
  const compact = await trainNetwork(run, 'compact');
  const accurateRun = secondRun(run);
  const conflict = conflictWith(accurateRun, compact.trained);
  if (conflict !== undefined) {
    for (const part of ['second features', 'second probe']) run.progress.update(part, 1);
    const networks: NetworkChoice = { chosen: 'compact', reason: conflict, candidates: [compact.report], gain: null };
    return { run, trained: compact.trained, networks };
  }
  const accurate = await trainNetwork(accurateRun, 'accurate');
  const output = compact.trained.objective.output;
  const gain = pairedGain(imageScores(compact.validated, output), imageScores(accurate.validated, output));
  const isAccurate = gain.mean > gain.standard_error;
  await (isAccurate ? compact : accurate).trained.release();
  const networks: NetworkChoice = {
    chosen: isAccurate ? 'accurate' : 'compact',
    reason: `On ${gain.images} validation images the accurate network is ${isAccurate ? '' : 'not '}better by more than one standard error.`,
    candidates: [compact.report, accurate.report],
    gain,
  };
  return isAccurate
    ? { run: { ...accurateRun, training: run.training, progress: run.progress }, trained: accurate.trained, networks }
    : { run, trained: compact.trained, networks };
}

/** The same job with the accurate network: a probe alone, with parts of the progress of its own. */
function secondRun(run: TrainingRun): TrainingRun {
  const { progress, training } = run;
  const readBackbone = () => readNetwork('accurate');
  const events: Events = {
    ...training.events,
    // The curve of the job is that of the compact network.
    emit: (event) => (event.is === 'metric' ? undefined : training.events.emit(event)),
  };
  return {
    ...run,
    training: { ...training, events },
    recipe: { ...run.recipe, recipe: 'accurate', freezeUntil: Infinity },
    backbone: readBackbone(),
    readBackbone,
    progress: {
      update: (part, share) => {
        if (part !== 'fine-tune') progress.update(`second ${part}`, share);
      },
    },
  };
}

/** Why the accurate network cannot be chosen; undefined if it can. */
function conflictWith({ backbone, recipe, prepared }: TrainingRun, { objective }: TrainedModel): string | undefined {
  const { validation, labels } = prepared;
  if (validation.length < fewestImages) {
    return `${validation.length} validation images are too few to choose a network by; ${fewestImages} are needed.`;
  }
  const { maxModelMegabytes, side } = recipe;
  const bytes = estimateModelBytes(backbone, objective.output, { side, classes: labels.length });
  if (maxModelMegabytes !== undefined && bytes > maxModelMegabytes * 1e6) {
    return `The accurate network needs ${megabytesOf(bytes)} MB, the job allows ${maxModelMegabytes} MB.`;
  }
  return undefined;
}

interface Candidate {
  trained: TrainedModel;
  report: NetworkReport;
  validated: readonly EvaluatedImage[];
}

async function trainNetwork(run: TrainingRun, recipe: NetworkName): Promise<Candidate> {
  const { clock, threads, signal } = run.training;
  const { validation, pixels } = run.prepared;
  const started = clock.now();
  const trained = await trainModel(run);
  const seconds = round((clock.now() - started) / 1000);
  const validated = await trained.evaluate(trained.chosen, validation);
  const { output } = trained.objective;
  const { side } = run.recipe;
  const weights = trained.weights.get(trained.chosen) ?? new Map<string, Float32Array>();
  const onnx = exportOnnx(classifierOf(run.backbone, weights, { side, output, metadata: {}, unlike: undefined }));
  const session = await openSession(onnx, threads);
  const count = Math.min(timedImages, validation.length);
  const pixelsOf = (i: number): Uint8Array => {
    const sample = validation[i];
    return sample ? pixels(sample) : new Uint8Array();
  };
  const { medianMs } = await runOnnxModel(session, side, count, pixelsOf, { clock, signal, hasUnlike: false });
  await session.release();
  const scores = imageScores(validated, output);
  const report: NetworkReport = {
    recipe,
    name: run.backbone.name,
    stage: trained.chosen,
    size_bytes: onnx.byteLength,
    latency_ms: round(medianMs),
    seconds,
    validation_score: round(scores.reduce((a, b) => a + b, 0) / Math.max(1, scores.length), 4),
  };
  return { trained, report, validated };
}

/** One label: 1 if the label is right. Several labels: the F1 of the image's labels at the best thresholds. */
export function imageScores(evaluated: readonly EvaluatedImage[], output: 'softmax' | 'sigmoid'): number[] {
  if (output === 'softmax') {
    return evaluated.map(({ classes, probabilities }) => (classes.includes(argmax(probabilities)) ? 1 : 0));
  }
  const thresholds = chooseThresholds(evaluated, evaluated[0]?.probabilities.length ?? 0);
  return evaluated.map(({ classes, probabilities }) => {
    const found = [...probabilities.keys()].filter((k) => (probabilities[k] ?? 0) >= (thresholds[k] ?? 1));
    const hits = found.filter((k) => classes.includes(k)).length;
    return classes.length + found.length === 0 ? 1 : (2 * hits) / (classes.length + found.length);
  });
}

/**
 * Mean difference of the scores and its standard error. One image that is better and one that is worse are added: the
 * only two images that differ do not prove that the difference is always the same.
 */
export function pairedGain(before: readonly number[], after: readonly number[]): NonNullable<NetworkChoice['gain']> {
  const differences = [...after.map((score, i) => score - (before[i] ?? 0)), 1, -1];
  const mean = differences.reduce((a, b) => a + b, 0) / differences.length;
  const variance = differences.reduce((sum, one) => sum + (one - mean) ** 2, 0) / (differences.length - 1);
  const error = Math.sqrt(variance / differences.length);
  return { mean: round(mean, 4), standard_error: round(error, 4), images: after.length };
}
