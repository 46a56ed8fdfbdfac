/**
 * The compact network is Lite0, fine-tuned. The accurate one is the mean of its logits and those of a linear probe on
 * Lite2, frozen. Recipe `auto` delivers the better one.
 */
import type { NetworkChoice, NetworkReport } from '@platform/contract/job/evaluation';
import { choiceBy, conflictWith, meanScore, pairedGain, timedImages } from '@platform/trainer-engine/choose-network';
import type { Events } from '@platform/trainer-engine/events';
import { hasSecondNetwork } from '@platform/trainer-engine/job-arguments';
import { requireSmallEnough, modelBytesOf } from '@platform/trainer-engine/model-size';
import { readEfficientnet } from '@platform/trainer-engine/pretrained/efficientnet';
import { bothNames } from '@platform/trainer-engine/pretrained/side-by-side';
import { round } from '@platform/trainer-engine/progress';
import { openSession } from '@platform/trainer-engine/runtime';
import { calibrated, chooseTemperature } from './calibration.ts';
import { classifierOf, exportOnnx, meanOf } from './classifier.ts';
import type { Classifier } from './classifier.ts';
import { runOnnxModel } from './exported-model.ts';
import type { OutputKind } from './head.ts';
import type { Sample } from './load-images.ts';
import { chooseThresholds } from './multi-score.ts';
import { outputOf } from './objective.ts';
import { argmax } from './score.ts';
import type { EvaluatedImage } from './score.ts';
import { trainModel } from './train-model.ts';
import type { TrainedModel, TrainingRun } from './train-model.ts';
import type { Backbone } from '@platform/trainer-engine/pretrained/efficientnet';
import { headOf } from './head.ts';

type ExportedWith = Pick<Classifier, 'metadata' | 'unlike'>;

/** A trained network and the files that it makes. */
export interface TrainedNetwork {
  run: TrainingRun;
  trained: TrainedModel;
  classifier(of: ExportedWith): Classifier;
}
export interface DeliveredNetwork extends TrainedNetwork {
  /** Recipes `auto` and `accurate` only. */
  networks: NetworkChoice | undefined;
}

/** Trains what the recipe asks for. @throws PlatformError if the files of the recipe would be larger than allowed. */
export async function trainByRecipe(run: TrainingRun): Promise<DeliveredNetwork> {
  const { recipe, prepared, training, backbone } = run;
  const second = hasSecondNetwork(recipe) ? secondRun(run) : undefined;
  const isRequested = recipe.recipe === 'accurate';
  const bytesOf = (networks: (typeof backbone)[]): number =>
    estimateModelBytes(networks, outputOf(recipe.task), { side: recipe.side, classes: prepared.labels.length });
  const bytes = second ? bytesOf([backbone, second.backbone]) : 0;
  requireSmallEnough(isRequested ? bytes : bytesOf([backbone]), recipe);

  const { clock } = training;
  const started = clock.now();
  const compact = await trainAlone(run);
  const seconds = round((clock.now() - started) / 1000);
  if (!second) return { ...compact, networks: undefined };
  const report = await reportOn('compact', compact, seconds);
  const reason = isRequested ? undefined : conflictWith(recipe, prepared.validation.length, bytes);
  if (reason !== undefined) {
    for (const part of ['second features', 'second probe']) run.progress.update(part, 1);
    return { ...compact, networks: { chosen: 'compact', reason, candidates: [report], gain: null } };
  }
  const accurate = await withSecond(compact, await trainAlone(second));
  const both = [report, await reportOn('accurate', accurate, round((clock.now() - started) / 1000))];
  const gain = await gainOf(compact, accurate);
  const choice = choiceBy(gain, isRequested);
  const networks: NetworkChoice = { ...choice, candidates: both, gain };
  return { ...(choice.chosen === 'accurate' ? accurate : compact), networks };
}

async function trainAlone(run: TrainingRun): Promise<TrainedNetwork> {
  const trained = await trainModel(run);
  const { side } = run.recipe;
  const { output } = trained.objective;
  const weights = trained.weights.get(trained.chosen) ?? new Map<string, Float32Array>();
  return { run, trained, classifier: (of) => classifierOf(run.backbone, weights, { side, output, ...of }) };
}

/** The same job with a probe on Lite2, with parts of the progress of its own. */
function secondRun(run: TrainingRun): TrainingRun {
  const { progress, training } = run;
  const readBackbone = () => readEfficientnet('Lite2');
  const events: Events = {
    ...training.events,
    // The curve of the job is that of the compact network.
    emit: (event) => (event.is === 'metric' ? undefined : training.events.emit(event)),
  };
  return {
    ...run,
    training: { ...training, events },
    recipe: { ...run.recipe, recipe: 'probe', freezeUntil: Infinity },
    backbone: readBackbone(),
    readBackbone,
    progress: {
      update: (part, share) => {
        if (part !== 'fine-tune') progress.update(`second ${part}`, share);
      },
    },
  };
}

/** The mean of both networks. Its stages are those of the first; the delivered one is evaluated with both. */
async function withSecond(first: TrainedNetwork, second: TrainedNetwork): Promise<TrainedNetwork> {
  const { run, trained } = first;
  const { objective, chosen } = trained;
  const evaluateBoth = async (samples: readonly Sample[]): Promise<EvaluatedImage[]> =>
    meansOf(
      await trained.evaluate(chosen, samples),
      await second.trained.evaluate(second.trained.chosen, samples),
      objective.output,
    );
  const temperature = chooseTemperature(await evaluateBoth(run.prepared.validation), objective.output);
  const { probe, fine_tune: fineTune } = trained.seconds;
  return {
    run: { ...run, backbone: { ...run.backbone, ...bothNames(run.backbone, second.run.backbone) } },
    // The score "unlike" is that of the first network.
    classifier: (of) => meanOf(first.classifier(of), second.classifier({ ...of, unlike: undefined }), temperature),
    trained: {
      ...trained,
      seconds: { probe: round(probe + second.trained.seconds.probe), fine_tune: fineTune },
      calibrations: new Map([...trained.calibrations, [chosen, { temperature }]]),
      evaluate: async (stage, samples) =>
        stage === chosen
          ? calibrated(await evaluateBoth(samples), objective.output, { temperature })
          : trained.evaluate(stage, samples),
      release: async () => {
        await trained.release();
        await second.trained.release();
      },
    },
  };
}

/** The probabilities of the mean of the logits: the geometric mean, which sums to 1 again. */
export const meansOf = (
  first: readonly EvaluatedImage[],
  second: readonly EvaluatedImage[],
  output: OutputKind,
): EvaluatedImage[] =>
  first.map(({ classes, probabilities }, i) => {
    const other = second[i]?.probabilities ?? new Float64Array();
    const roots = Float64Array.from(probabilities, (p, k) => Math.sqrt(p * (other[k] ?? 0)));
    const sum = roots.reduce((total, one) => total + one, 0);
    const opposites = Float64Array.from(probabilities, (p, k) => Math.sqrt((1 - p) * (1 - (other[k] ?? 0))));
    const whole = (k: number): number => (output === 'softmax' ? sum : (roots[k] ?? 0) + (opposites[k] ?? 0));
    return { classes, probabilities: roots.map((one, k) => one / whole(k)) };
  });

const validationScores = async ({ run, trained }: TrainedNetwork): Promise<number[]> =>
  imageScores(await trained.evaluate(trained.chosen, run.prepared.validation), trained.objective.output);

const gainOf = async (compact: TrainedNetwork, accurate: TrainedNetwork) =>
  pairedGain(await validationScores(compact), await validationScores(accurate));

async function reportOn(
  recipe: NetworkReport['recipe'],
  network: TrainedNetwork,
  seconds: number,
): Promise<NetworkReport> {
  const { run, trained } = network;
  const { clock, threads, signal } = run.training;
  const { validation, pixels } = run.prepared;
  const onnx = exportOnnx(network.classifier({ metadata: {}, unlike: undefined }));
  const session = await openSession(onnx, threads);
  const count = Math.min(timedImages, validation.length);
  const pixelsOf = (i: number): Uint8Array => {
    const sample = validation[i];
    return sample ? pixels(sample) : new Uint8Array();
  };
  const how = { clock, signal, hasUnlike: false };
  const { medianMs } = await runOnnxModel(session, run.recipe.side, count, pixelsOf, how);
  await session.release();
  const scores = await validationScores(network);
  return {
    recipe,
    name: run.backbone.name,
    stage: trained.chosen,
    size_bytes: onnx.byteLength,
    latency_ms: round(medianMs),
    seconds,
    validation_score: meanScore(scores),
  };
}

/** One label: 1 if the label is right. Several labels: the F1 of the image's labels at the best thresholds. */
export function imageScores(evaluated: readonly EvaluatedImage[], output: OutputKind): number[] {
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

/** Upper estimate of the size of a model file with these networks. */
function estimateModelBytes(
  networks: readonly Backbone[],
  output: OutputKind,
  geometry: { side: number; classes: number },
): number {
  const counts = networks.flatMap((network) => {
    const { parameters } = headOf(network, output, geometry);
    return [
      ...network.layers.map((layer) => (layer.is === 'conv' ? layer.weights.length + layer.bias.length : 0)),
      ...parameters.map(({ shape }) => shape[0] * (shape[1] + 1)),
    ];
  });
  return modelBytesOf(counts.reduce((a, b) => a + b, 0));
}
