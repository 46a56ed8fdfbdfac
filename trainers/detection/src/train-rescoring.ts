/** Trains rescoring on the detections of the trained head in the training images. */
import { setImmediate } from 'node:timers/promises';
import { releaseArray } from '@platform/trainer-engine/model-file';
import { seeded, shuffled } from '@platform/trainer-engine/random';
import { augment } from './augmentations.ts';
import type { AugmentedImage } from './augmentations.ts';
import { meanAveragePrecision } from './average-precision.ts';
import type { Detection, EvaluatedImage } from './average-precision.ts';
import { countBoxes } from './dataset.ts';
import type { CellMap, CellTap, Detector, FrozenFeatures } from './feature-maps.ts';
import type { ImageFeatures } from './image-features.ts';
import type { Sample } from './split.ts';
import { finalBoxes } from './rescoring.ts';
import type { Rescoring } from './rescoring.ts';
import { boxSamples, fitRescoring } from './rescoring-fit.ts';
import type { BoxSample } from './rescoring-fit.ts';
import type { TrainedHead } from './trained-head.ts';
import type { TrainingRun } from './training-run.ts';

/** Cells of an image, and the boxes of the trained head in it, covered ones included. Valid until the next call. */
interface RescoringInput {
  cells: readonly CellMap[];
  peaks: readonly Detection[];
}
export interface RescoringSource {
  taps: readonly CellTap[];
  /** @param index - of the view. */
  ofAugmented(view: AugmentedImage, index: number): Promise<RescoringInput>;
  /** @param index - of the validation image. */
  ofSample(sample: Sample, index: number): Promise<RescoringInput>;
}
/** Boxes of the trained head by index: a second rescoring does not run the head again. */
export interface FoundPeaks {
  views: (readonly Detection[])[];
  validation: (readonly Detection[])[];
}
export const noPeaks = (): FoundPeaks => ({ views: [], validation: [] });

/** Rescoring by the network that the head uses, too. @param found - filled with the boxes. */
export function sourceOfHead(
  { cells: taps }: Detector,
  features: ImageFeatures<FrozenFeatures>,
  head: TrainedHead,
  found: FoundPeaks,
): RescoringSource {
  const inputOf = async (from: FrozenFeatures): Promise<RescoringInput> => ({
    cells: from.cells,
    peaks: await head.peaks(from),
  });
  return {
    taps,
    ofAugmented: async (view, index) => {
      const input = await inputOf(await features.ofAugmented(view));
      found.views[index] = input.peaks;
      return input;
    },
    ofSample: async (sample, index) => {
      const input = await inputOf(await features.ofSample(sample));
      found.validation[index] = input.peaks;
      return input;
    },
  };
}
/** Rescoring of the same boxes by another network. */
export const sourceOfCells = (
  { cells: taps }: Detector,
  features: ImageFeatures<readonly CellMap[]>,
  found: FoundPeaks,
): RescoringSource => ({
  taps,
  ofAugmented: async (view, index) => ({ cells: await features.ofAugmented(view), peaks: found.views[index] ?? [] }),
  ofSample: async (sample, index) => ({
    cells: await features.ofSample(sample),
    peaks: found.validation[index] ?? [],
  }),
});

/** Each image and its mirror image; limited if there are many images. */
export const rescoringViews = (images: number): number => Math.min(2 * images, 240);

export interface Rescored {
  rescoring: Rescoring;
  /** Detections in the validation images. */
  validated: EvaluatedImage[];
}

/** @param part - of the progress. */
export async function trainRescoring(
  run: Pick<TrainingRun, 'training' | 'prepared' | 'progress'>,
  source: RescoringSource,
  part: string,
): Promise<Rescored> {
  const { training, prepared, progress } = run;
  const { job, signal } = training;
  const samples: BoxSample[] = [];
  const order = shuffled([...prepared.train.keys()], seeded('rescored', job.seed));
  const views = rescoringViews(order.length);
  for (let i = 0; i < views; i++) {
    await setImmediate();
    signal.throwIfAborted();
    const [image, round] = [order[i % order.length] ?? 0, Math.floor(i / order.length)];
    const view = augment(prepared.train, image, round, seeded('rescored', job.seed, i));
    const { cells, peaks } = await source.ofAugmented(view, i);
    samples.push(...boxSamples(cells, view.boxes, peaks));
    progress.update(part, (0.8 * (i + 1)) / views);
  }
  const rescoring = await fitRescoring(source.taps, samples, prepared.labels.length, job.seed, signal);
  // 50 MB for 240 views.
  for (const { pooled } of samples) releaseArray(pooled);
  const validated: EvaluatedImage[] = [];
  for (const [i, sample] of prepared.validation.entries()) {
    signal.throwIfAborted();
    const { cells, peaks } = await source.ofSample(sample, i);
    validated.push({ truth: sample.boxes, found: finalBoxes(rescoring, peaks, cells) });
  }
  progress.update(part, 1);
  return { rescoring, validated };
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
