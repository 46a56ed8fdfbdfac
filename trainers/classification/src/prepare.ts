/** Reads dataset.jsonl into decoded, labelled, split images. */
import path from 'node:path';
import { imageFileOf, readLines, reportSkipped, requireReadable } from '@platform/trainer-engine/dataset-images';
import { ofSplit, requireEnough } from '@platform/trainer-engine/label-minimum';
import { labelExamples, labelMinimum, requireSplit, withValidation } from './dataset.ts';
import type { Example } from './dataset.ts';
import { loadImages } from './load-images.ts';
import type { PixelFiles, Sample } from './load-images.ts';
import { shorterEdgeOf, PixelFile, renderAugmentation, identityAugmentation } from '@platform/trainer-engine/images';
import type { Augmentation } from '@platform/trainer-engine/images';
import { hasSecondNetwork, isFineTuned } from '@platform/trainer-engine/job-arguments';
import { mostCompared } from '@platform/trainer-engine/near-copies';
import type { Progress } from '@platform/trainer-engine/progress';
import { resolveRecipe } from './recipe.ts';
import type { Recipe, DatasetScan, RecipeArguments } from './recipe.ts';
import type { PreparedImages, DecodedImages } from '@platform/trainer-engine/split-with-copies';
import type { Training } from '@platform/trainer-engine/training';
import { splitWithCopies } from '@platform/trainer-engine/split-with-copies';

export interface PreparedDataset extends PreparedImages<Sample> {
  /** Size of the images for random crops, in pixels. */
  largeSide: number;
  /** @param view - of an image of `largeSide`. Only images that the dataset has for training are stored so large; others are enlarged. */
  drawAugmented(sample: Sample, view: Augmentation, into: Float32Array, offset: number): void;
  drawUnchanged(sample: Sample, into: Float32Array, offset: number): void;
  pixels(sample: Sample): Uint8Array;
  close(): void;
}

/** @throws PlatformError when the images are not enough to train on. */
export async function prepare(
  training: Training,
  requested: RecipeArguments,
  tmp: string,
  progress: Progress,
): Promise<{ recipe: Recipe; prepared: PreparedDataset }> {
  const { job, datasetFile, events, signal, threads } = training;
  const lines = await readLines(datasetFile);
  const found = labelExamples(lines, job.labels, requested.task);
  const folder = path.dirname(datasetFile);
  const recipe = resolveRecipe(requested, await scanDataset(found.examples, folder), job.limits.wall_seconds);
  planProgress(progress, found.examples, recipe);
  const { side } = recipe;
  const largeSide = Math.round(side * 1.15);
  const files: PixelFiles = {
    exact: new PixelFile(path.join(tmp, 'exact.rgb'), side),
    large: new PixelFile(path.join(tmp, 'large.rgb'), largeSide),
  };
  const close = (): void => {
    files.exact.close();
    files.large.close();
  };
  try {
    const onDone = (share: number): void => progress.update('decode', share);
    const taken = await loadImages(found.examples, folder, files, { width: threads, signal, onDone });
    const skipped = [...found.skipped, ...taken.skipped];
    reportSkipped(skipped, (code, message) => events.emit({ is: 'warning', code, message }));
    requireReadable(taken.samples.length, taken.skipped);
    requireEnough(labelMinimum, found.labels, found.examples, taken.samples);
    const large = new Set(ofSplit(taken.samples, 'train').map(({ index }) => index));
    const read = ({ index }: Sample, into?: Uint8Array<ArrayBuffer>): Uint8Array => files.exact.read(index, into);
    const { samples } = taken;
    const split = await splitImages(training, { samples, labels: found.labels, side, pixels: read }, recipe, (share) =>
      progress.update('near copies', share),
    );
    const prepared: PreparedDataset = {
      ...split,
      labels: found.labels,
      skipped,
      edge: taken.edge,
      largeSide,
      ...drawing(files, large),
      pixels: (sample) => read(sample),
      close,
    };
    return { recipe, prepared };
  } catch (e) {
    close();
    throw e;
  }
}

/** @param large - indices of the images that are stored at the larger size, too. */
function drawing(
  { exact, large: larger }: PixelFiles,
  large: ReadonlySet<number>,
): Pick<PreparedDataset, 'drawAugmented' | 'drawUnchanged'> {
  const [side, largeSide] = [exact.side, larger.side];
  const scratch = { exact: new Uint8Array(side * side * 3), large: new Uint8Array(largeSide * largeSide * 3) };
  return {
    drawAugmented: ({ index }, view, into, offset) => {
      const isLarge = large.has(index);
      const pixels = isLarge ? larger.read(index, scratch.large) : exact.read(index, scratch.exact);
      const own = isLarge ? view : scaled(view, side / largeSide);
      renderAugmentation(pixels, isLarge ? largeSide : side, own, into, offset, side);
    },
    drawUnchanged: ({ index }, into, offset) =>
      renderAugmentation(exact.read(index, scratch.exact), side, identityAugmentation(side), into, offset, side),
  };
}

const scaled = (view: Augmentation, by: number): Augmentation => ({
  ...view,
  width: view.width * by,
  height: view.height * by,
  left: view.left * by,
  top: view.top * by,
});

/** Number of images to scan for their size. */
const maxScanned = 100;

/** Scans images in the order of their hashes, so that the order of the lines does not matter. */
async function scanDataset(examples: readonly Example[], folder: string): Promise<DatasetScan> {
  const training = ofSplit(examples, 'train');
  const some = training.toSorted((a, b) => (a.line.sha256 < b.line.sha256 ? -1 : 1)).slice(0, maxScanned);
  const edges: number[] = [];
  for (const { line } of some) {
    const edge = await shorterEdgeOf(imageFileOf(line, folder));
    if (edge !== undefined) edges.push(edge);
  }
  return { images: training.length, edge: edges.toSorted((a, b) => a - b)[edges.length >> 1] ?? 0 };
}

/** Seconds of each part on the benchmark machine; only the proportions matter elsewhere. */
function planProgress(progress: Progress, examples: readonly Example[], recipe: Recipe): void {
  const [train, validation, test] = (['train', 'validation', 'test'] as const).map(
    (one) => ofSplit(examples, one).length,
  );
  const [learning, checking, heldOut] = [train ?? 0, validation ?? 0, test ?? 0];
  const pixels = (recipe.side / 160) ** 2;
  const views = learning * (1 + recipe.probeCopies);
  const tuned = isFineTuned(recipe) ? recipe.epochs * (learning * 0.015 + checking * 0.007) : 0;
  progress.plan('decode', { phase: 'preparing', cost: 0.2 + (2 * learning + checking + heldOut) * 0.004 });
  progress.plan('near copies', { phase: 'preparing', cost: 0.3 + Math.min(mostCompared, examples.length) * 0.006 });
  progress.plan('features', { phase: 'training', cost: 0.3 + views * 0.008 * pixels });
  progress.plan('probe', { phase: 'training', cost: 0.2 + views * 0.006 });
  if (hasSecondNetwork(recipe)) {
    progress.plan('second features', { phase: 'training', cost: 0.3 + views * 0.012 * pixels });
    progress.plan('second probe', { phase: 'training', cost: 0.2 + views * 0.006 });
  }
  progress.plan('fine-tune', { phase: 'training', cost: tuned * pixels });
  const measured = heldOut || learning / 6;
  progress.plan('evaluate', { phase: 'evaluating', cost: 0.3 + measured * 0.016 * pixels });
  progress.plan('int8', { phase: 'evaluating', cost: 0.3 + (Math.min(learning, 64) + measured) * 0.012 * pixels });
}

/** Only of the same labels: images that are alike and have different labels are what the model must tell apart. */
const isSameLabel = (a: Sample, b: Sample): boolean => a.classes.join() === b.classes.join();

/** @throws PlatformError when the images are not enough to train on. */
function splitImages(
  training: Training,
  images: Pick<DecodedImages<Sample>, 'samples' | 'side' | 'pixels'> & { labels: readonly string[] },
  { recipe }: Recipe,
  onDone: (share: number) => void,
) {
  const { labels, ...decoded } = images;
  const described: DecodedImages<Sample> = {
    ...decoded,
    classesOf: ({ classes }) => classes,
    isNegative: () => false,
    mayBeCopies: isSameLabel,
    mayBeOneScene: () => true,
    // The probe alone needs no validation images: with test images, it can train on all others.
    needsValidation: recipe !== 'probe',
    withValidation: (samples) => withValidation(samples, training.job.seed),
    requireSplit: (split) => requireSplit(labels, split),
  };
  return splitWithCopies(training, described, onDone);
}
