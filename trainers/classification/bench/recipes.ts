/**
 * Compares whole trainings on objects that no training image shows: compact (fine-tuned Lite0), accurate (Lite0 and
 * Lite2, frozen), lite2 (Lite2, fine-tuned), and what `auto` delivers. Sets for development only.
 *   node recipes.ts [--set=drawings-22] [--networks=compact,accurate] [--seeds=1] [--epochs=N]
 */
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { jobFiles, parseJobSpec } from '@platform/contract/job';
import { systemClock } from '@platform/trainer-engine/clock';
import { localDevices } from '@platform/trainer-engine/device';
import type { Backbone } from '@platform/trainer-engine/pretrained/efficientnet';
import { readEfficientnet } from '@platform/trainer-engine/pretrained/efficientnet';
import { Progress } from '@platform/trainer-engine/progress';
import type { Training } from '@platform/trainer-engine/training';
import sharp from 'sharp';
import { writeJobFolder } from '../../engine/test/job-folder.ts';
import type { TestImage } from '../../engine/test/job-folder.ts';
import { fewestImages, imageScores, pairedGain } from '../src/choose-network.ts';
import { readNetwork } from '../src/networks.ts';
import { prepare } from '../src/prepare.ts';
import { parseRecipeArguments } from '../src/recipe.ts';
import type { Recipe } from '../src/recipe.ts';
import { trainModel } from '../src/train-model.ts';
import { clipArt, foldsByGroup, stampCutOuts } from './cut-outs.ts';
import type { CutOut } from './cut-outs.ts';
import { testSets } from './sets.ts';

const { values: flags } = parseArgs({
  options: {
    set: { type: 'string', default: 'drawings-22' },
    networks: { type: 'string', default: 'compact,accurate' },
    seeds: { type: 'string', default: '1' },
    epochs: { type: 'string' },
  },
});

interface Variant {
  read(): Backbone;
  change: Partial<Recipe>;
}
const variants: Readonly<Record<string, Variant>> = {
  compact: { read: () => readNetwork('compact'), change: { recipe: 'compact' } },
  accurate: { read: () => readNetwork('accurate'), change: { recipe: 'accurate', freezeUntil: Infinity } },
  // As with Lite0, the first four stages are frozen.
  lite2: { read: () => readEfficientnet('Lite2'), change: { recipe: 'compact', freezeUntil: 33 } },
};
const cutOutSets: Readonly<Record<string, () => CutOut[] | undefined>> = {
  'stamps-9': () => stampCutOuts(),
  'drawings-8': () => clipArt(8),
  'drawings-22': () => clipArt(22),
};
const kind = 'single_label_classification';
const pixels = 300;

/** One in three groups is for the test. */
async function* ofCutOuts(cutOuts: readonly CutOut[], seed: number): AsyncGenerator<TestImage> {
  const folds = foldsByGroup(cutOuts, 3, seed);
  for (const [i, { label, file }] of cutOuts.entries()) {
    const bytes = await sharp(file)
      .ensureAlpha()
      .resize(pixels, pixels, { fit: 'fill' })
      .flatten({ background: '#fff' })
      .png()
      .toBuffer();
    yield { name: `${i}.png`, split: folds[i] === 0 ? 'test' : 'train', bytes, labels: [label] };
  }
}

async function imagesOf(name: string, seed: number): Promise<AsyncIterable<TestImage> | Iterable<TestImage>> {
  const set = testSets[name];
  const cutOuts = cutOutSets[name]?.();
  const images = cutOuts ? ofCutOuts(cutOuts, seed) : await set?.images({ seed, train: set.train, test: set.test });
  if (!images) throw new Error(`the set ${name} cannot be had`);
  return images;
}

async function measure(folder: string, seed: number): Promise<void> {
  const limits = { wall_seconds: 36_000, memory_mib: 4096, disk_mib: 4096 };
  const job = { kind, model_name: flags.set, arguments: {}, seed, limits } as const;
  await writeJobFolder(folder, job, await imagesOf(flags.set, seed));
  const outFolder = path.join(folder, jobFiles.out);
  await mkdir(outFolder);
  const threads = availableParallelism();
  const events = { emit: () => undefined, close: () => undefined };
  const training: Training = {
    job: parseJobSpec(JSON.parse(await readFile(path.join(folder, jobFiles.job), 'utf8'))),
    datasetFile: path.join(folder, jobFiles.dataset),
    outFolder,
    events,
    clock: systemClock,
    threads,
    signal: new AbortController().signal,
    devices: localDevices(threads),
  };
  const { requested } = parseRecipeArguments(training.job);
  if (flags.epochs !== undefined) requested.epochs = Number(flags.epochs);
  const progress = new Progress(events, systemClock);
  const { recipe, prepared } = await prepare(training, requested, outFolder, progress);
  const { train, validation, test } = prepared;
  const counts = `${train.length} training, ${validation.length} validation, ${test.length} test images`;
  console.log(`${flags.set}, seed ${seed}: ${counts}, ${recipe.side} px, ${recipe.epochs} epochs`);
  const device = { place: 'cpu', name: 'cpu', reason: '', isFallback: false } as const;
  const found = new Map<string, { validated: number[]; tested: number[] }>();
  for (const name of flags.networks.split(',')) {
    const variant = variants[name];
    if (!variant) throw new Error(`${name} is none of ${Object.keys(variants).join(', ')}`);
    const own = { ...recipe, ...variant.change };
    const parts = { training, device, recipe: own, tmp: outFolder, prepared, progress };
    const [started, before] = [systemClock.now(), process.cpuUsage()];
    const trained = await trainModel({ ...parts, backbone: variant.read(), readBackbone: () => variant.read() });
    const { user, system } = process.cpuUsage(before);
    const seconds = `${((user + system) / 1e6).toFixed(0)} CPU s, ${((systemClock.now() - started) / 1000).toFixed(0)} s`;
    const scores = async (samples: typeof test): Promise<number[]> =>
      imageScores(await trained.evaluate(trained.chosen, samples), trained.objective.output);
    const result = { validated: await scores(validation), tested: await scores(test) };
    await trained.release();
    found.set(name, result);
    const first = [...found.values()][0] ?? result;
    const gain = pairedGain(first.tested, result.tested);
    const choice = pairedGain(first.validated, result.validated);
    console.log(
      `  ${name}: delivers its ${trained.chosen}; test ${share(result.tested)}, beside the first ${signed(gain)}; ` +
        `validation ${share(result.validated)}, ${signed(choice)}; ${seconds}, load ${loadavg()[0]?.toFixed(1)}` +
        (name === 'accurate'
          ? `; auto delivers ${validation.length >= fewestImages && choice.mean > choice.standard_error ? 'accurate' : 'compact'}`
          : ''),
    );
  }
  prepared.close();
}
const share = (scores: readonly number[]): string =>
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
