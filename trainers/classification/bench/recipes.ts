/**
 * Compares whole trainings on objects that no training image shows: compact (fine-tuned Lite0), lite2 (fine-tuned Lite2),
 * lite2-probe (frozen Lite2), frozen (one probe on Lite0 and Lite2), and means of two of them. The recipe `accurate` is
 * compact+lite2-probe. Sets for development only. With --groups the images of one object have one `group:` tag, so that
 * the validation images show unseen objects, too. One label per image: also the accuracy without the offsets of the
 * calibration.
 *   node recipes.ts [--set=drawings-22] [--networks=compact,lite2-probe,compact+lite2-probe] [--seeds=1] [--epochs=N]
 *     [--groups]
 */
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { jobFiles, parseJobSpec } from '@platform/contract/job/job';
import { fewestImages, pairedGain } from '@platform/trainer-engine/choose-network';
import { systemClock } from '@platform/trainer-engine/clock';
import { localDevices } from '@platform/trainer-engine/device';
import type { Backbone } from '@platform/trainer-engine/pretrained/efficientnet';
import { readEfficientnet } from '@platform/trainer-engine/pretrained/efficientnet';
import { sideBySide } from '@platform/trainer-engine/pretrained/side-by-side';
import { Progress } from '@platform/trainer-engine/progress';
import type { Training } from '@platform/trainer-engine/training';
import sharp from 'sharp';
import { withChosenSplits, writeJobFolder } from '../../engine/test/job-folder.ts';
import type { TestImage } from '../../engine/test/job-folder.ts';
import { uncalibrated } from '../src/calibration.ts';
import { imageScores, meansOf } from '../src/choose-network.ts';
import { chooseThresholds, multiLabelScoreOf } from '../src/multi-score.ts';
import { outputOf } from '../src/objective.ts';
import { prepare } from '../src/prepare.ts';
import { parseRecipeArguments } from '../src/recipe.ts';
import type { Recipe } from '../src/recipe.ts';
import type { OutputKind } from '../src/head.ts';
import type { EvaluatedImage } from '../src/score.ts';
import { trainModel } from '../src/train-model.ts';
import { clipArt, foldsByGroup, stampCutOuts } from './cut-outs.ts';
import type { CutOut } from './cut-outs.ts';
import { testSets } from './sets.ts';

const { values: flags } = parseArgs({
  options: {
    set: { type: 'string', default: 'drawings-22' },
    networks: { type: 'string', default: 'compact,lite2-probe,compact+lite2-probe' },
    seeds: { type: 'string', default: '1' },
    epochs: { type: 'string' },
    groups: { type: 'boolean', default: false },
  },
});

interface Variant {
  read(): Backbone;
  change: Partial<Recipe>;
}
const variants: Readonly<Record<string, Variant>> = {
  compact: { read: () => readEfficientnet(), change: { recipe: 'compact' } },
  frozen: {
    read: () => sideBySide(readEfficientnet(), readEfficientnet('Lite2')),
    change: { recipe: 'probe', freezeUntil: Infinity },
  },
  // As with Lite0, the first four stages are frozen.
  lite2: { read: () => readEfficientnet('Lite2'), change: { recipe: 'compact', freezeUntil: 33 } },
  'lite2-probe': { read: () => readEfficientnet('Lite2'), change: { recipe: 'probe', freezeUntil: Infinity } },
};
const cutOutSets: Readonly<Record<string, () => CutOut[] | undefined>> = {
  'stamps-9': () => stampCutOuts(),
  'drawings-8': () => clipArt(8),
  'drawings-22': () => clipArt(22),
};
const pixels = 300;

/** One in three groups is for the test. */
async function* ofCutOuts(cutOuts: readonly CutOut[], seed: number): AsyncGenerator<TestImage> {
  const folds = foldsByGroup(cutOuts, 3, seed);
  for (const [i, { label, file, group }] of cutOuts.entries()) {
    const bytes = await sharp(file)
      .ensureAlpha()
      .resize(pixels, pixels, { fit: 'fill' })
      .flatten({ background: '#fff' })
      .png()
      .toBuffer();
    const tagged = flags.groups ? { group } : {};
    yield { name: `${i}.png`, split: folds[i] === 0 ? 'test' : 'train', bytes, labels: [label], ...tagged };
  }
}

async function imagesOf(name: string, seed: number): Promise<AsyncIterable<TestImage> | Iterable<TestImage>> {
  const set = testSets[name];
  const cutOuts = cutOutSets[name]?.();
  const images = cutOuts ? ofCutOuts(cutOuts, seed) : await set?.images({ seed, train: set.train, test: set.test });
  if (!images) throw new Error(`the set ${name} cannot be had`);
  return images;
}

/** Writes a job with the images and reads it as a trainer does. */
async function makeTraining(folder: string, seed: number): Promise<Training> {
  const kind = testSets[flags.set]?.kind ?? 'single_label_classification';
  const limits = { wall_seconds: 36_000, memory_mib: 4096, disk_mib: 4096 };
  const job = { kind, model_name: flags.set, arguments: {}, seed, limits } as const;
  await writeJobFolder(folder, job, await imagesOf(flags.set, seed), withChosenSplits);
  const outFolder = path.join(folder, jobFiles.out);
  await mkdir(outFolder);
  const threads = availableParallelism();
  return {
    job: parseJobSpec(JSON.parse(await readFile(path.join(folder, jobFiles.job), 'utf8'))),
    datasetFile: path.join(folder, jobFiles.dataset),
    outFolder,
    events: { emit: () => undefined, close: () => undefined },
    clock: systemClock,
    threads,
    signal: new AbortController().signal,
    devices: localDevices(threads),
  };
}

async function measure(folder: string, seed: number): Promise<void> {
  const training = await makeTraining(folder, seed);
  const { outFolder, events } = training;
  const { requested } = parseRecipeArguments(training.job);
  if (flags.epochs !== undefined) requested.epochs = Number(flags.epochs);
  const progress = new Progress(events, systemClock);
  const { recipe, prepared } = await prepare(training, requested, outFolder, progress);
  const { train, validation, test } = prepared;
  const output = outputOf(recipe.task);
  const counts = `${train.length} training, ${validation.length} validation, ${test.length} test images`;
  console.log(
    `${flags.set}${flags.groups ? ' with groups' : ''}, seed ${seed}: ${counts}, ${recipe.side} px, ${recipe.epochs} epochs`,
  );
  const device = { place: 'cpu', name: 'cpu', reason: '', isFallback: false } as const;
  const found = new Map<string, Evaluated>();
  for (const name of flags.networks.split(',')) {
    const [first, second] = name.split('+').map((one) => found.get(one));
    if (first && second) {
      const result = {
        validated: meansOf(first.validated, second.validated, output),
        tested: meansOf(first.tested, second.tested, output),
      };
      print(name, { result, first: [...found.values()][0] ?? result, output }, 'mean of both logits');
      continue;
    }
    const variant = variants[name];
    if (!variant) throw new Error(`${name} is none of ${Object.keys(variants).join(', ')}`);
    const own = { ...recipe, ...variant.change };
    const parts = { training, device, recipe: own, tmp: outFolder, prepared, progress };
    const [started, cpuBefore] = [systemClock.now(), process.cpuUsage()];
    const trained = await trainModel({ ...parts, backbone: variant.read(), readBackbone: () => variant.read() });
    const { user, system } = process.cpuUsage(cpuBefore);
    const seconds = `${((user + system) / 1e6).toFixed(0)} CPU s, ${((systemClock.now() - started) / 1000).toFixed(0)} s`;
    const result = {
      validated: await trained.evaluate(trained.chosen, validation),
      tested: await trained.evaluate(trained.chosen, test),
    };
    await trained.release();
    const calibration = trained.calibrations.get(trained.chosen);
    const before = calibration?.offsets
      ? `, without offsets ${share(imageScores(uncalibrated(result.tested, output, calibration), output))}`
      : '';
    found.set(name, result);
    const about = `delivers its ${trained.chosen}${before}, ${seconds}, load ${loadavg()[0]?.toFixed(1)}`;
    print(name, { result, first: [...found.values()][0] ?? result, output }, about);
  }
  prepared.close();
}

interface Evaluated {
  validated: readonly EvaluatedImage[];
  tested: readonly EvaluatedImage[];
}

interface Compared {
  result: Evaluated;
  first: Evaluated;
  output: OutputKind;
}
/** Several labels: the score of an image is the F1 of its labels, at the best thresholds for the test images. */
function print(name: string, { result, first, output }: Compared, about: string): void {
  const [tested, validated] = [result.tested, result.validated].map((one) => imageScores(one, output));
  const [before, validatedBefore] = [first.tested, first.validated].map((one) => imageScores(one, output));
  const gain = pairedGain(before ?? [], tested ?? []);
  const choice = pairedGain(validatedBefore ?? [], validated ?? []);
  const labels = result.tested[0]?.probabilities.length ?? 0;
  const { mean_average_precision: map, micro_f1: f1 } = multiLabelScoreOf(
    result.tested,
    chooseThresholds(result.validated, labels),
  );
  const several = output === 'sigmoid' ? `; mAP ${map.toFixed(3)}, micro F1 ${f1.toFixed(3)}` : '';
  const isChosen = result.validated.length >= fewestImages && choice.mean > choice.standard_error;
  console.log(
    `  ${name}: test ${share(tested)}, beside the first ${signed(gain)}; validation ${share(validated)}, ${signed(choice)}` +
      `${several}: auto would ${isChosen ? '' : 'not '}deliver it; ${about}`,
  );
}
const share = (scores: readonly number[] = []): string =>
  `${((100 * scores.reduce((a, b) => a + b, 0)) / scores.length).toFixed(1)} %`;
const signed = ({ mean, standard_error: error }: ReturnType<typeof pairedGain>): string =>
  `${(100 * mean).toFixed(1)} ± ${(100 * error).toFixed(1)}`;

for (const seed of flags.seeds.split(',').map(Number)) {
  const folder = await mkdtemp(path.join(tmpdir(), 'recipes-'));
  try {
    await measure(folder, seed);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
