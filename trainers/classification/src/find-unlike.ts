/** Computes the reference of the score "unlike anything seen" and its threshold, with the delivered network. */
import { seeded, shuffled } from '@platform/trainer-engine/random';
import { randomAugmentation } from './augment.ts';
import type { Sample } from './load-images.ts';
import type { TrainedModel, TrainingRun, View } from './train-model.ts';
import { leaveOneOutScores, unlikeReferenceOf, unlikeScore, unlikeThreshold } from './unlike.ts';
import type { TrainingFeature, UnlikeReference } from './unlike.ts';

export interface Unlike {
  reference: UnlikeReference;
  /** An image with a higher score is unlike anything seen. */
  threshold: number;
  chosenOn: 'validation' | 'train';
  /** Scores of the images that chose the threshold, without those of augmented copies. */
  chosenBy: readonly number[];
  /** Scores of the validation images by the trained network. */
  validation: readonly number[];
}

/** Maximum training images, in total and per label if there are many labels: means need no more. */
const [maxImages, minPerLabel] = [1000, 10];
/** Few validation images say little about how much scores vary, so their augmented copies count, too. */
const [leastScores, maxCopies] = [100, 15];

function sampled({ train, labels }: TrainingRun['prepared'], seed: number): Sample[] {
  const perLabel = Math.max(minPerLabel, Math.floor(maxImages / labels.length));
  const byLabel = Map.groupBy(shuffled(train, seeded('unlike', seed)), ({ classes: [label = -1] }) => label);
  return [...byLabel.values()].flatMap((own) => own.slice(0, perLabel));
}
const unchanged = (samples: readonly Sample[]): View[] => samples.map((sample) => ({ sample, view: undefined }));

/** Undefined with several labels: the mean over an image with several objects is like none of them. */
export async function findUnlike(run: TrainingRun, trained: TrainedModel): Promise<Unlike | undefined> {
  const { prepared, recipe, training } = run;
  if (trained.objective.output !== 'softmax') return undefined;
  const samples = sampled(prepared, training.job.seed);
  const images: TrainingFeature[] = [];
  await trained.features(trained.chosen, unchanged(samples), (i, feature) => {
    images.push({ label: samples[i]?.classes[0] ?? -1, feature: feature.slice() });
  });
  const reference = unlikeReferenceOf(images, prepared.labels.length);
  const scoresOf = async (views: readonly View[]): Promise<number[]> => {
    const scores: number[] = [];
    await trained.features(trained.chosen, views, (_, feature) => scores.push(unlikeScore(reference, feature)));
    return scores;
  };
  const { validation: held } = prepared;
  const validation = await scoresOf(unchanged(held));
  // Without validation images the network is frozen, so a training image that is left out of its mean is as good as new.
  const chosenBy = held.length > 0 ? validation : leaveOneOutScores(reference, images);
  const random = seeded('unlike copies', training.job.seed);
  const copies = Math.min(maxCopies, Math.ceil(leastScores / Math.max(1, held.length)) - 1);
  const views = held.flatMap((sample) =>
    Array.from({ length: copies }, () => ({
      sample,
      view: randomAugmentation(prepared.largeSide, recipe.probeAugmentation, random),
    })),
  );
  const threshold = unlikeThreshold([...chosenBy, ...(await scoresOf(views))]) ?? 1;
  return {
    reference,
    // Rounded up, so that the image that chose it is not above it.
    threshold: Math.ceil(threshold * 1e4) / 1e4,
    chosenOn: held.length > 0 ? 'validation' : 'train',
    chosenBy,
    validation,
  };
}
