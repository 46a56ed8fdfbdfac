/** Trains the rescoring on the detections of the trained head in the training images. */
import { setImmediate } from 'node:timers/promises';
import { seeded, shuffled } from '@platform/trainer-engine/random';
import { augment } from './augmentations.ts';
import type { AugmentedImage } from './augmentations.ts';
import { meanAveragePrecision } from './average-precision.ts';
import type { EvaluatedImage } from './average-precision.ts';
import { countBoxes } from './dataset.ts';
import type { CellMap, CellTap, Detector, FrozenFeatures } from './feature-maps.ts';
import type { Weights } from './head.ts';
import type { Sample } from './prepare.ts';
import { finalBoxes } from './rescoring.ts';
import type { Rescoring } from './rescoring.ts';
import { boxSamples, fitRescoring } from './rescoring-fit.ts';
import type { BoxSample } from './rescoring-fit.ts';
import { TrainedHead } from './trained-head.ts';
import type { TrainingRun } from './training-run.ts';

/** Features of an image; valid until the next call. */
export interface FeatureSource {
  ofAugmented(view: AugmentedImage): Promise<FrozenFeatures>;
  ofSample(sample: Sample): Promise<FrozenFeatures>;
}
/** What a rescoring looks at. */
export interface CellSource {
  taps: readonly CellTap[];
  /** Cells of the image that the features are of. */
  cellsOf(features: FrozenFeatures): Promise<readonly CellMap[]>;
}
/** The cells of the network that the head uses, too. */
export const ownCells = ({ cells: taps }: Detector): CellSource => ({
  taps,
  cellsOf: ({ cells }) => Promise.resolve(cells),
});

/** Each image and its mirror image; limited if there are many images. */
export const rescoringViews = (images: number): number => Math.min(2 * images, 240);

export interface Rescored {
  rescoring: Rescoring;
  /** Detections in the validation images. */
  validated: EvaluatedImage[];
  /** Duration beyond that of the features and the head, which all rescorings share. */
  seconds: number;
}
/** A rescoring while it is trained. */
interface Fit {
  source: CellSource;
  samples: BoxSample[];
  validated: EvaluatedImage[];
  ms: number;
}

/**
 * Trains a rescoring for each source of cells, on the detections of the trained head in the same training images.
 *
 * @returns in the order of the sources.
 */
export async function trainRescorings(
  run: TrainingRun,
  source: FeatureSource,
  weights: Weights,
  cellSources: readonly CellSource[],
): Promise<Rescored[]> {
  const { training, prepared, progress } = run;
  const { job, signal, clock } = training;
  const fits = cellSources.map((one): Fit => ({ source: one, samples: [], validated: [], ms: 0 }));
  const timed = async (fit: Fit, work: () => Promise<void>): Promise<void> => {
    const started = clock.now();
    await work();
    fit.ms += clock.now() - started;
  };
  const head = await TrainedHead.open(run, weights);
  try {
    const order = shuffled([...prepared.train.keys()], seeded('rescored', job.seed));
    const views = rescoringViews(order.length);
    for (let i = 0; i < views; i++) {
      await setImmediate();
      signal.throwIfAborted();
      const [image, round] = [order[i % order.length] ?? 0, Math.floor(i / order.length)];
      const view = augment(prepared.train, image, round, seeded('rescored', job.seed, i));
      const features = await source.ofAugmented(view);
      const peaks = await head.peaks(features);
      for (const fit of fits) {
        await timed(fit, async () => {
          fit.samples.push(...boxSamples(await fit.source.cellsOf(features), view.boxes, peaks));
        });
      }
      progress.update('rescoring', (0.8 * (i + 1)) / views);
    }
    const rescorings: Rescoring[] = [];
    for (const fit of fits) {
      await timed(fit, async () => {
        // The samples are the largest part of the memory here.
        const samples = fit.samples.splice(0);
        rescorings.push(await fitRescoring(fit.source.taps, samples, prepared.labels.length, job.seed, signal));
      });
    }
    for (const sample of prepared.validation) {
      signal.throwIfAborted();
      const features = await source.ofSample(sample);
      const peaks = await head.peaks(features);
      for (const [i, fit] of fits.entries()) {
        await timed(fit, async () => {
          const found = finalBoxes(rescorings[i], peaks, await fit.source.cellsOf(features));
          fit.validated.push({ truth: sample.boxes, found });
        });
      }
    }
    progress.update('rescoring', 1);
    return rescorings.flatMap((rescoring, i) => {
      const fit = fits[i];
      return fit ? [{ rescoring, validated: fit.validated, seconds: fit.ms / 1000 }] : [];
    });
  } finally {
    await head.release();
  }
}

/** Whether rescoring leaves the boxes of the validation images as good as before, within one standard error. */
export function keepsPrecision(
  before: readonly EvaluatedImage[],
  after: readonly EvaluatedImage[],
  { labels, validation }: TrainingRun['prepared'],
): boolean {
  const [was, is] = [before, after].map((images) => meanAveragePrecision(images, labels.length, 0.5));
  return (is ?? 0) >= (was ?? 0) - Math.sqrt(((was ?? 0) * (1 - (was ?? 0))) / Math.max(1, countBoxes(validation)));
}
