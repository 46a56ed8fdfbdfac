/** Trains the rescoring on the detections of the trained head in the training images. */
import { setImmediate } from 'node:timers/promises';
import { seeded, shuffled } from '@platform/trainer-engine/random';
import { augment } from './augmentations.ts';
import type { AugmentedImage } from './augmentations.ts';
import { meanAveragePrecision } from './average-precision.ts';
import type { EvaluatedImage } from './average-precision.ts';
import { countBoxes } from './dataset.ts';
import type { Cells, Features } from './feature-maps.ts';
import type { Weights } from './head.ts';
import type { Sample } from './split.ts';
import { finalBoxes } from './rescoring.ts';
import type { Rescoring } from './rescoring.ts';
import { boxSamples, fitRescoring } from './rescoring-fit.ts';
import type { BoxSample } from './rescoring-fit.ts';
import { TrainedHead } from './trained-head.ts';
import type { TrainingRun } from './training-run.ts';

/** Features of an image; valid until the next call. */
export interface FeatureSource {
  ofAugmented(view: AugmentedImage): Promise<Features & Cells>;
  ofSample(sample: Sample): Promise<Features & Cells>;
}

/** Each image and its mirror image; limited if there are many images. */
export const rescoringViews = (images: number): number => Math.min(2 * images, 240);

/** Detections of the trained head in training and validation images. */
export async function trainRescoring(
  run: TrainingRun,
  source: FeatureSource,
  weights: Weights,
): Promise<{ rescoring: Rescoring; validated: EvaluatedImage[] }> {
  const { training, recipe, prepared, progress } = run;
  const { job, signal } = training;
  const { side } = recipe;
  const head = await TrainedHead.open(run, weights);
  try {
    const samples: BoxSample[] = [];
    const order = shuffled([...prepared.train.keys()], seeded('rescored', job.seed));
    const views = rescoringViews(order.length);
    for (let i = 0; i < views; i++) {
      await setImmediate();
      signal.throwIfAborted();
      const [image, round] = [order[i % order.length] ?? 0, Math.floor(i / order.length)];
      const view = augment(prepared.train, image, round, seeded('rescored', job.seed, i));
      const features = await source.ofAugmented(view);
      samples.push(...boxSamples(features, view.boxes, await head.peaks(features), side));
      progress.update('rescoring', (0.8 * (i + 1)) / views);
    }
    const rescoring = await fitRescoring(samples, prepared.labels.length, job.seed, signal);
    const validated: EvaluatedImage[] = [];
    for (const sample of prepared.validation) {
      signal.throwIfAborted();
      const features = await source.ofSample(sample);
      const found = finalBoxes(rescoring, await head.peaks(features), features, side);
      validated.push({ truth: sample.boxes, found });
    }
    progress.update('rescoring', 1);
    return { rescoring, validated };
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
