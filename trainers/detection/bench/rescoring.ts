/**
 * Compares detectors with and without rescoring on the development sets, and times the parts.
 *   node rescoring.ts --folder=FOLDER [--sets=0,1,2]   FOLDER keeps the sets and the trained weights (GB)
 */
import path from 'node:path';
import { parseArgs } from 'node:util';
import { systemClock } from '@platform/trainer-engine/clock';
import { seeded } from '@platform/trainer-engine/random';
import { openSession } from '@platform/trainer-engine/runtime';
import { meanAveragePrecision } from '../src/average-precision.ts';
import type { EvaluatedImage } from '../src/average-precision.ts';
import { featureGraph } from '../src/feature-extractor.ts';
import { finalBoxes } from '../src/rescoring.ts';
import { ImageFeatures } from '../src/train-model.ts';
import { trainRescoring } from '../src/train-rescoring.ts';
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

interface Compared {
  before: EvaluatedImage;
  after: EvaluatedImage;
}
function differenceOf(images: readonly Compared[], labels: number): Pair {
  const at = (least: number): number =>
    meanAveragePrecision(
      images.map(({ after }) => after),
      labels,
      least,
    ) -
    meanAveragePrecision(
      images.map(({ before }) => before),
      labels,
      least,
    );
  return [at(0.5), at(0.75)];
}
/** Standard errors of the differences, by test images drawn with replacement. */
function errorsOf(images: readonly Compared[], labels: number, seed: number): Pair {
  const found = Array.from({ length: resamplings }, (_, i) => {
    const random = seeded('resampled', seed, i);
    return differenceOf(
      images.flatMap(() => images[Math.floor(random() * images.length)] ?? []),
      labels,
    );
  });
  return [deviation(found.map(([a]) => a)), deviation(found.map(([, b]) => b))];
}

async function compare(set: number): Promise<Pair> {
  const { run, weights } = await trainDevelopment(set, path.join(flags.folder, String(set)));
  const { detector, recipe, prepared, training } = run;
  const session = await openSession(featureGraph(detector, recipe.side), training.threads);
  const source = new ImageFeatures(session, prepared, recipe.side);
  const started = systemClock.now();
  const { rescoring } = await trainRescoring(run, source, weights);
  const seconds = (systemClock.now() - started) / 1000;
  const head = await TrainedHead.open(run, weights);
  const images: Compared[] = [];
  for (const sample of prepared.test) {
    const features = await source.ofSample(sample);
    const peaks = await head.peaks(features);
    const [before, after] = [undefined, rescoring].map((one) => ({
      truth: sample.boxes,
      found: finalBoxes(one, peaks, features, recipe.side),
    }));
    if (before && after) images.push({ before, after });
  }
  await head.release();
  await session.release();
  prepared.close();
  const labels = prepared.labels.length;
  const scores = (['before', 'after'] as const).map((key): Pair => {
    const evaluated = images.map((one) => one[key]);
    return [meanAveragePrecision(evaluated, labels, 0.5), meanAveragePrecision(evaluated, labels, 0.75)];
  });
  const difference = differenceOf(images, labels);
  console.log(
    `set ${set}: ${scores.map(pair).join(' → ')}; ${pair(difference)} ± ${pair(errorsOf(images, labels, set))}; rescoring trained in ${seconds.toFixed(0)} s`,
  );
  return difference;
}

const differences: Pair[] = [];
for (const set of flags.sets.split(',').map(Number)) differences.push(await compare(set));
if (differences.length > 1) {
  const by = (k: 0 | 1): number[] => differences.map((one) => one[k]);
  const error = (k: 0 | 1): number => deviation(by(k)) / Math.sqrt(differences.length);
  console.log(`mean: ${pair([mean(by(0)), mean(by(1))])} ± ${pair([error(0), error(1)])} over the sets`);
}
