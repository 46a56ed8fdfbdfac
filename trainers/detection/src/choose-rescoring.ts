/**
 * Trains rescoring on the features of Lite0, and with the recipes `accurate` and `auto` on those of Lite2, too. Only
 * rescoring looks at Lite2, so the file holds Lite2 only if that rescoring is delivered.
 */
import type { NetworkChoice, NetworkReport } from '@platform/contract/job/evaluation';
import { choiceBy, meanScore, pairedGain } from '@platform/trainer-engine/choose-network';
import type { Gain } from '@platform/trainer-engine/choose-network';
import { round } from '@platform/trainer-engine/progress';
import type { Session } from '@platform/trainer-engine/runtime';
import type { EvaluatedImage } from './average-precision.ts';
import { imageScores } from './thresholds.ts';
import { CellExtractor, cellGraph } from './feature-extractor.ts';
import { addSecondNetwork } from './feature-maps.ts';
import type { CellMap, Detector, FrozenFeatures } from './feature-maps.ts';
import type { Weights } from './head.ts';
import { ImageFeatures } from './image-features.ts';
import type { SecondNetworkPlan } from './networks.ts';
import type { Sample } from './split.ts';
import type { Rescoring } from './rescoring.ts';
import { keepsPrecision, noPeaks, sourceOfCells, sourceOfHead, trainRescoring } from './train-rescoring.ts';
import type { FoundPeaks, Rescored } from './train-rescoring.ts';
import { TrainedHead } from './trained-head.ts';
import type { TrainingRun } from './training-run.ts';

/** A detector that the job could deliver. */
export interface NetworkCandidate extends Pick<NetworkReport, 'recipe' | 'seconds' | 'validation_score'> {
  detector: Detector;
  rescoring: Rescoring | undefined;
}
export interface ComparedNetworks extends Omit<NetworkChoice, 'candidates'> {
  /** The compact one first; only that one if the other cannot be delivered. */
  candidates: readonly NetworkCandidate[];
}
export interface DeliveredDetector {
  /** With the networks of the file. */
  detector: Detector;
  /** Undefined if there was no time, or if the validation images got worse by it. */
  rescoring: Rescoring | undefined;
  /** Detections in the validation images. */
  validated: readonly EvaluatedImage[];
  /** Recipes `auto` and `accurate` only. */
  networks: ComparedNetworks | undefined;
  /** Features of an image without quantization; valid until the next call. */
  features(ofSample: Sample): Promise<FrozenFeatures>;
}

export interface TrainedDetector {
  weights: Weights;
  /** Detections in the validation images, without rescoring. */
  evaluated: readonly EvaluatedImage[];
}
export interface RescoringMeans {
  plan: SecondNetworkPlan | undefined;
  hasTime: boolean;
  /** Start of the training, in milliseconds. */
  started: number;
  features: ImageFeatures<FrozenFeatures>;
  openSession(graph: Uint8Array): Promise<Session>;
}

const noTime = 'No time was left to train rescoring, which is all that the second network serves.';
const droppedSecond =
  'With the second network rescoring makes the boxes of the validation images worse by more than one standard error, so the file is without it.';

/** @param accurate - undefined if its rescoring is dropped. */
export function chooseNetwork(
  compact: readonly EvaluatedImage[],
  accurate: readonly EvaluatedImage[] | undefined,
  labels: number,
  isRequested: boolean,
): { chosen: NetworkReport['recipe']; reason: string; gain: Gain | null } {
  if (!accurate) return { chosen: 'compact', reason: droppedSecond, gain: null };
  const gain = pairedGain(imageScores(compact, labels), imageScores(accurate, labels));
  return { ...choiceBy(gain, isRequested), gain };
}

/** Trains the rescoring that the recipe asks for. */
export async function chooseRescoring(
  run: TrainingRun,
  trained: TrainedDetector,
  means: RescoringMeans,
): Promise<DeliveredDetector> {
  const { plan, features } = means;
  const rescored = await trainByPlan(run, trained, means);
  const { compact, second } = rescored;
  const delivered: DeliveredDetector = {
    detector: run.detector,
    rescoring: compact?.rescoring,
    validated: compact?.validated ?? trained.evaluated,
    networks: undefined,
    features: (sample) => features.ofSample(sample),
  };
  if (!plan) return delivered;
  const networks = compareNetworks(run, delivered, rescored, plan);
  if (networks.chosen === 'compact' || !second?.kept) return { ...delivered, networks };
  const { detector, cells, kept } = second;
  return {
    detector,
    rescoring: kept.rescoring,
    validated: kept.validated,
    networks,
    features: async (sample) => ({ ...(await features.ofSample(sample)), cells: await cells.ofSample(sample) }),
  };
}

interface SecondNetwork {
  detector: Detector;
  cells: ImageFeatures<readonly CellMap[]>;
}
interface RescoredByPlan {
  /** Undefined: not trained, or dropped. */
  compact: Rescored | undefined;
  /** Undefined: not trained. */
  second: (SecondNetwork & { kept: Rescored | undefined }) | undefined;
  seconds: Record<NetworkReport['recipe'], number>;
}

/** One rescoring after the other: the features of the boxes of one take 50 MB. */
async function trainByPlan(run: TrainingRun, trained: TrainedDetector, means: RescoringMeans): Promise<RescoredByPlan> {
  const { plan, features, hasTime, started } = means;
  const seconds = (): number => round((run.training.clock.now() - started) / 1000);
  const kept = (rescored: Rescored): Rescored | undefined =>
    keepsPrecision(trained.evaluated, rescored.validated, run.prepared) ? rescored : undefined;
  const found = noPeaks();
  const compact = hasTime ? kept(await trainFirst(run, trained.weights, features, found)) : undefined;
  const ofCompact = seconds();
  run.progress.update('rescoring', 1);
  if (!hasTime || !plan || plan.conflict !== undefined) {
    run.progress.update('second rescoring', 1);
    return { compact, second: undefined, seconds: { compact: ofCompact, accurate: ofCompact } };
  }
  const second = await openSecond(run, means);
  const rescored = await trainRescoring(run, sourceOfCells(second.detector, second.cells, found), 'second rescoring');
  return {
    compact,
    second: { ...second, kept: kept(rescored) },
    seconds: { compact: ofCompact, accurate: seconds() },
  };
}

async function trainFirst(
  run: TrainingRun,
  weights: Weights,
  features: ImageFeatures<FrozenFeatures>,
  found: FoundPeaks,
): Promise<Rescored> {
  const head = await TrainedHead.open(run, weights);
  try {
    return await trainRescoring(run, sourceOfHead(run.detector, features, head, found), 'rescoring');
  } finally {
    await head.release();
  }
}

/** @param delivered - the compact detector. */
function compareNetworks(
  { prepared }: TrainingRun,
  { detector, rescoring, validated }: DeliveredDetector,
  { second, seconds }: RescoredByPlan,
  { conflict, isRequested }: SecondNetworkPlan,
): ComparedNetworks {
  const labels = prepared.labels.length;
  const scoreOf = (images: readonly EvaluatedImage[]): number => meanScore(imageScores(images, labels));
  const compact: NetworkCandidate = {
    recipe: 'compact',
    detector,
    rescoring,
    seconds: seconds.compact,
    validation_score: scoreOf(validated),
  };
  if (!second) return { chosen: 'compact', reason: conflict ?? noTime, candidates: [compact], gain: null };
  const { kept } = second;
  const choice = chooseNetwork(validated, kept?.validated, labels, isRequested);
  if (!kept) return { ...choice, candidates: [compact] };
  const accurate: NetworkCandidate = {
    recipe: 'accurate',
    detector: second.detector,
    rescoring: kept.rescoring,
    seconds: seconds.accurate,
    validation_score: scoreOf(kept.validated),
  };
  return { ...choice, candidates: [compact, accurate] };
}

async function openSecond(
  { detector, recipe, prepared }: TrainingRun,
  { openSession }: RescoringMeans,
): Promise<SecondNetwork> {
  const second = addSecondNetwork(detector);
  const extractor = new CellExtractor(await openSession(cellGraph(second, recipe.side)), second, recipe.side);
  return { detector: second, cells: new ImageFeatures(extractor, prepared, recipe.side) };
}
