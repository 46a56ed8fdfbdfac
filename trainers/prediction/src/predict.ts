/** Runs a model on each image of a job folder and writes what it suggests. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { PlatformError } from '@platform/contract/errors/errors';
import { type DatasetLine, jobFiles, modelFiles } from '@platform/contract/job/job';
import { predictionFile, type PredictionLine } from '@platform/contract/job/predictions';
import { decodeImages, readLines, reportSkipped, requireReadable } from '@platform/trainer-engine/dataset-images';
import { decode, PixelFile } from '@platform/trainer-engine/images';
import { Progress } from '@platform/trainer-engine/progress';
import type { Training } from '@platform/trainer-engine/training';
import { openModel, type PredictingModel } from './model.ts';
import { type Suggested, suggestionsOf } from './suggestions.ts';
import { CopyUnits } from '@platform/trainer-engine/keep-together';
import { mostCompared, NearCopyFinder } from '@platform/trainer-engine/near-copies';
import type { CopySource } from '@platform/trainer-engine/near-copies';
import { readEfficientnet } from '@platform/trainer-engine/pretrained/efficientnet';
import { ThumbnailIndex, thumbnailOf } from '@platform/trainer-engine/thumbnails';

type Sample = { line: DatasetLine; index: number };

/** @returns one sentence for users. */
export async function predict(training: Training, tmp: string): Promise<string> {
  const { job, datasetFile, threads } = training;
  if (!job.model) throw new PlatformError('INVALID_ARGUMENT', { field: 'job.model', limit: 'a prediction needs one' });
  const folder = path.dirname(datasetFile);
  const model = await openModel(job.model, path.join(folder, jobFiles.model), threads);
  const files = new PixelFile(path.join(tmp, 'images.rgb'), model.side);
  try {
    return await predictWith(training, model, files, folder);
  } finally {
    files.close();
    await model.release();
  }
}

async function predictWith(
  { datasetFile, outFolder, events, clock, signal, threads }: Training,
  model: PredictingModel,
  files: PixelFile,
  folder: string,
): Promise<string> {
  const lines = await readLines(datasetFile);
  const progress = new Progress(events, clock);
  progress.plan('decode', { phase: 'preparing', cost: 0.2 * lines.length });
  progress.plan('predict', { phase: 'evaluating', cost: lines.length });
  progress.plan('copies', { phase: 'evaluating', cost: lines.length });
  const decodeOne = async (file: string, index: number): Promise<void> =>
    files.write(index, await decode(file, model.side));
  const { samples, skipped } = await decodeImages(
    lines.map((line) => ({ line })),
    folder,
    decodeOne,
    { width: threads, signal, onDone: (share) => progress.update('decode', share) },
  );
  reportSkipped(skipped, (code, message) => events.emit({ is: 'warning', code, message }));
  requireReadable(samples.length, skipped);
  const suggested = await predictEach(samples, model, files, {
    signal,
    onDone: (one) => progress.update('predict', one),
  });
  const source = {
    count: samples.length,
    side: model.side,
    pixels: (i: number) => files.read(samples[i]?.index ?? 0),
  };
  const hashes = samples.map(({ line }) => line.sha256);
  const copies = await copyGroups(source, hashes, { threads, signal, onDone: (one) => progress.update('copies', one) });
  const results = samples.map(({ line }, i): PredictionLine => {
    const group = copies.get(i);
    const found = suggested[i] ?? { suggestions: [], scores: {} };
    return {
      binary_data_id: line.binary_data_id ?? '',
      ...found,
      ...(group === undefined ? {} : { copy_group: group }),
    };
  });
  await writeFile(path.join(outFolder, predictionFile), results.map((one) => `${JSON.stringify(one)}\n`).join(''));
  return summarize(outFolder, { results, skipped: skipped.length });
}

async function predictEach(
  samples: readonly Sample[],
  model: PredictingModel,
  files: PixelFile,
  { signal, onDone }: { signal: AbortSignal; onDone(share: number): void },
): Promise<Suggested[]> {
  const suggestions: Suggested[] = [];
  for (const { index } of samples) {
    signal.throwIfAborted();
    suggestions.push(suggestionsOf(await model.run(files.read(index)), model));
    onDone(suggestions.length / samples.length);
  }
  return suggestions;
}

async function summarize(
  outFolder: string,
  { results, skipped }: { results: readonly PredictionLine[]; skipped: number },
): Promise<string> {
  const suggested = results.filter(({ suggestions }) => suggestions.length > 0).length;
  const suggestions = results.reduce((sum, one) => sum + one.suggestions.length, 0);
  const near = results.filter((one) => one.copy_group !== undefined).length;
  const summary = { images: results.length, suggested_images: suggested, suggestions, near_copies: near, skipped };
  await writeFile(path.join(outFolder, modelFiles.evaluation), `${JSON.stringify(summary, undefined, 2)}\n`);
  return `${suggestions} suggestions for ${suggested} of ${results.length} images; ${near} images are near copies of others.`;
}

interface Options {
  threads: number;
  signal: AbortSignal;
  onDone(share: number): void;
}

/** @param hashes - of the files; equal files are copies. @returns the group of each image that has copies, by image. */
async function copyGroups(
  source: CopySource,
  hashes: readonly string[],
  options: Options,
): Promise<Map<number, number>> {
  const units = new CopyUnits(source.count);
  const firsts = new Map<string, number>();
  for (const [i, hash] of hashes.entries()) {
    const first = firsts.get(hash);
    if (first === undefined) firsts.set(hash, i);
    else units.joinCertain(first, i);
  }
  if (source.count > mostCompared) joinByThumbnails(source, units, options);
  else if (source.count > 1) await joinByFeatures(source, units, options);
  options.onDone(1);
  const unitOf = units.units();
  const sizes = Map.groupBy(unitOf.keys(), (i) => unitOf[i] ?? i);
  return new Map(
    [...sizes.values()].filter(({ length }) => length > 1).flatMap((images, group) => images.map((i) => [i, group])),
  );
}

async function joinByFeatures(source: CopySource, units: CopyUnits, options: Options): Promise<void> {
  const finder = await NearCopyFinder.open(readEfficientnet(), source, options);
  try {
    const all = [...Array(source.count).keys()];
    await finder.eachPair(all, all, (a, b) => units.joinCopies(a, b), options.signal);
  } finally {
    await finder.release();
  }
}

function joinByThumbnails(source: CopySource, units: CopyUnits, { signal, onDone }: Options): void {
  const known = new ThumbnailIndex<number>();
  for (let i = 0; i < source.count; i++) {
    signal.throwIfAborted();
    const thumbnail = thumbnailOf(source.pixels(i), source.side);
    const like = known.find(thumbnail);
    if (like === undefined) known.add(thumbnail, i);
    else units.joinCopies(like, i);
    if (i % 1000 === 0) onDone(i / source.count);
  }
}
