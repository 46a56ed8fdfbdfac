/**
 * Compares detectors without rescoring, with that of the recipe `compact` and with that of `accurate` on the
 * development sets.
 *   node rescoring.ts --folder=FOLDER [--sets=0,1,2]   FOLDER keeps the sets and the trained weights (GB)
 */
import path from 'node:path';
import { parseArgs } from 'node:util';
import { pairedGain } from '@platform/trainer-engine/choose-network';
import { systemClock } from '@platform/trainer-engine/clock';
import { seeded } from '@platform/trainer-engine/random';
import { openSession } from '@platform/trainer-engine/runtime';
import { averagePrecision, meanAveragePrecision, rankDetections } from '../src/average-precision.ts';
import type { EvaluatedImage } from '../src/average-precision.ts';
import { imageScores } from '../src/thresholds.ts';
import { CellExtractor, cellGraph, FeatureExtractor, featureGraph } from '../src/feature-extractor.ts';
import { addSecondNetwork } from '../src/feature-maps.ts';
import { ImageFeatures } from '../src/image-features.ts';
import { finalBoxes } from '../src/rescoring.ts';
import { noPeaks, sourceOfCells, sourceOfHead, trainRescoring } from '../src/train-rescoring.ts';
import { TrainedHead } from '../src/trained-head.ts';
import { trainDevelopment } from './development.ts';
import { developmentSets } from './sets.ts';

const { values: flags } = parseArgs({
  options: {
    folder: { type: 'string', default: '' },
    sets: { type: 'string', default: Array.from({ length: developmentSets }, (_, i) => i).join(',') },
  },
});
const resamplings = 200;

type Pair = readonly [number, number];
const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length;
const deviation = (values: readonly number[]): number =>
  Math.sqrt(values.reduce((sum, one) => sum + (one - mean(values)) ** 2, 0) / (values.length - 1));
const percent = (x: number): string => (100 * x).toFixed(1);
const pair = ([a, b]: Pair): string => `${percent(a)} / ${percent(b)}`;

const recipes = ['before', 'compact', 'accurate'] as const;
/** An image with the boxes of each recipe. */
type Compared = Readonly<Record<(typeof recipes)[number], EvaluatedImage>>;
const comparisons = [
  ['before', 'compact'],
  ['compact', 'accurate'],
] as const;
type Comparison = (typeof comparisons)[number];

const scoresOf = (images: readonly EvaluatedImage[], labels: number): Pair => [
  meanAveragePrecision(images, labels, 0.5),
  meanAveragePrecision(images, labels, 0.75),
];
function differenceOf(images: readonly Compared[], labels: number, [from, to]: Comparison): Pair {
  const [before, after] = [from, to].map((key) =>
    scoresOf(
      images.map((one) => one[key]),
      labels,
    ),
  );
  return [(after?.[0] ?? 0) - (before?.[0] ?? 0), (after?.[1] ?? 0) - (before?.[1] ?? 0)];
}
/** Standard errors of the differences, by test images drawn with replacement. */
function errorsOf(images: readonly Compared[], labels: number, seed: number, comparison: Comparison): Pair {
  const found = Array.from({ length: resamplings }, (_, i) => {
    const random = seeded('resampled', seed, i);
    return differenceOf(
      images.flatMap(() => images[Math.floor(random() * images.length)] ?? []),
      labels,
      comparison,
    );
  });
  return [deviation(found.map(([a]) => a)), deviation(found.map(([, b]) => b))];
}

/** Mean average precision of each image by itself. */
const precisions = (images: readonly EvaluatedImage[]): number[] =>
  images.map((image) => {
    const labels = [...new Set(image.truth.map(({ label }) => label))];
    return mean(labels.map((label) => averagePrecision(rankDetections([image], label, 0.5))));
  });

async function compare(set: number): Promise<Pair[]> {
  const { run, weights } = await trainDevelopment(set, path.join(flags.folder, String(set)));
  const { detector, recipe, prepared, training } = run;
  const { side } = recipe;
  const session = await openSession(featureGraph(detector, side), training.threads);
  const features = new ImageFeatures(new FeatureExtractor(session, detector, side), prepared, side);
  const second = addSecondNetwork(detector);
  const secondSession = await openSession(cellGraph(second, side), training.threads);
  const cells = new ImageFeatures(new CellExtractor(secondSession, second, side), prepared, side);
  const head = await TrainedHead.open(run, weights);
  const found = noPeaks();
  const started = systemClock.now();
  const compact = await trainRescoring(run, sourceOfHead(detector, features, head, found), '');
  const between = systemClock.now();
  const accurate = await trainRescoring(run, sourceOfCells(second, cells, found), '');
  const seconds = [between - started, systemClock.now() - between].map((ms) => (ms / 1000).toFixed(0));
  const images: Compared[] = [];
  for (const sample of prepared.test) {
    const { boxes: truth } = sample;
    const own = await features.ofSample(sample);
    const peaks = await head.peaks(own);
    images.push({
      before: { truth, found: finalBoxes(undefined, peaks, own.cells) },
      compact: { truth, found: finalBoxes(compact.rescoring, peaks, own.cells) },
      accurate: { truth, found: finalBoxes(accurate.rescoring, peaks, await cells.ofSample(sample)) },
    });
  }
  await head.release();
  await secondSession.release();
  await session.release();
  prepared.close();
  const labels = prepared.labels.length;
  const scores = recipes.map((key) => {
    const all = images.map((one) => one[key]);
    return `${key} ${pair(scoresOf(all, labels))}`;
  });
  console.log(
    `set ${set}: ${scores.join(', ')}; rescoring trained in ${seconds[0]} s, that of accurate in ${seconds[1]} s more`,
  );
  const differences = comparisons.map((comparison) => differenceOf(images, labels, comparison));
  for (const [i, comparison] of comparisons.entries()) {
    const error = errorsOf(images, labels, set, comparison);
    console.log(`set ${set}, ${comparison.join(' → ')}: ${pair(differences[i] ?? [0, 0])} ± ${pair(error)}`);
  }
  // How `auto` would choose, with the test images and with the validation images.
  for (const [name, before, after] of [
    ['test', images.map((one) => one.compact), images.map((one) => one.accurate)],
    ['validation', compact.validated, accurate.validated],
  ] as const) {
    const f1 = pairedGain(imageScores(before, labels), imageScores(after, labels));
    const ap = pairedGain(precisions(before), precisions(after));
    const text = [f1, ap].map(({ mean: by, standard_error: error }) => `${percent(by)} ± ${percent(error)}`);
    console.log(`set ${set}, paired over ${f1.images} ${name} images: F1 ${text[0]}, average precision ${text[1]}`);
  }
  return differences;
}

const differences: Pair[][] = [];
for (const set of flags.sets.split(',').map(Number)) differences.push(await compare(set));
if (differences.length > 1) {
  for (const [i, comparison] of comparisons.entries()) {
    const by = (k: 0 | 1): number[] => differences.map((one) => one[i]?.[k] ?? 0);
    const error = (k: 0 | 1): number => deviation(by(k)) / Math.sqrt(differences.length);
    console.log(
      `mean, ${comparison.join(' → ')}: ${pair([mean(by(0)), mean(by(1))])} ± ${pair([error(0), error(1)])} over the sets`,
    );
  }
}
