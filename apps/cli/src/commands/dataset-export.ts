import { createWriteStream } from 'node:fs';
import { copyFile, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { BinaryMetadata } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { PlatformError } from '@platform/contract/errors/errors';
import { atomicWrite } from '@platform/kit/node';
import type { Command } from 'commander';
import { choiceOption } from '../choices.ts';
import type { Connection } from '../connection.ts';
import { datasetLine, fileNames, imageOf, metadataJson } from '../datasets/export-lines.ts';
import { imageHeader } from '@platform/dataset-files/image-header';
import { type ExportedImage, omitted } from '@platform/dataset-files/write/layout';
import { folderOf, type LayoutName, layoutNames, layouts } from '@platform/dataset-files/write/layouts';
import { Ended, exitCodes } from '../exit-codes.ts';
import { findDataset } from '../find/dataset.ts';
import { counted, printable } from '../output.ts';
import type { CommandWorld, Run } from '../run.ts';
import { wholeNumber } from '../values.ts';
import { countScreen } from '../views/count-progress.ts';

type ExportFormat = 'jsonl' | LayoutName;
interface ExportFlags {
  readonly onlyJsonl?: boolean;
  readonly format: ExportFormat;
  readonly parallel: string;
}

const formats = Object.fromEntries(['jsonl', ...layoutNames].map((one) => [one, one])) as Record<
  ExportFormat,
  ExportFormat
>;

export function exportCommand(dataset: Command, run: Run): void {
  dataset
    .command('export <dataset> <folder>')
    .description(
      'export a dataset as dataset.jsonl with the images in data/ and their metadata in metadata/, or in another format; a repeated export fetches only missing files',
    )
    .addOption(choiceOption('--format <format>', 'file format of labels and boxes', formats).default('jsonl'))
    .option('--only-jsonl', 'write dataset.jsonl only, without images')
    .option('--parallel <n>', 'number of concurrent downloads', '8')
    .action(run(exportDataset));
}

async function exportDataset(world: CommandWorld, name: string, folder: string, flags: ExportFlags): Promise<void> {
  const { connection, output } = world;
  const parallel = wholeNumber('--parallel', flags.parallel, { min: 1, max: 64 });
  if (flags.onlyJsonl && flags.format !== 'jsonl')
    throw new PlatformError('INVALID_ARGUMENT', { field: '--only-jsonl', limit: 'it goes with --format jsonl alone' });
  const open = await connection();
  const { id: datasetId } = await findDataset(open, name);
  const source = { open, datasetId, parallel: flags.onlyJsonl ? 1 : parallel };
  const written =
    flags.format === 'jsonl'
      ? await exportLines(world, source, folder, flags.onlyJsonl ?? false)
      : await exportLayout(world, source, folder, flags.format);
  const { images, notes, ...files } = written;
  output.json({ dataset_id: datasetId, images, folder, format: flags.format, ...files, notes });
  const where = printable(files.dataset_file ?? folder);
  output.text(`Exported ${counted(images, 'image')} of dataset ${printable(name)} to ${where}.`);
  for (const note of notes) output.text(note);
}

interface Source {
  readonly open: Connection;
  readonly datasetId: string;
  readonly parallel: number;
}
interface Written {
  readonly images: number;
  readonly notes: readonly string[];
  readonly dataset_file?: string;
}

/** Calls `take` for each image of the dataset, several at a time. */
async function eachImage(
  world: CommandWorld,
  { open, datasetId, parallel }: Source,
  take: (metadata: BinaryMetadata) => Promise<void>,
): Promise<void> {
  const { count } = await open.client.dataClient.countBinaryData({ datasetId });
  const binaries = open.client.dataClient.allBinaryData({ datasetId });
  await inLanes(world, { waiting: binaries, count: Number(count), parallel }, async ({ metadata }) => {
    if (metadata) await take(metadata);
  });
}

/** Shows the progress. */
async function inLanes<T>(
  { signal }: CommandWorld,
  { waiting, count, parallel }: { waiting: AsyncIterator<T> | Iterator<T>; count: number; parallel: number },
  take: (one: T) => Promise<void>,
): Promise<void> {
  let done = 0;
  const screen = countScreen(process.stderr, 'fetched', count);
  const lane = async (): Promise<void> => {
    for (let next = await waiting.next(); !next.done && !signal.aborted; next = await waiting.next()) {
      await take(next.value);
      screen.show(++done);
    }
  };
  try {
    await Promise.all(Array.from({ length: parallel }, lane));
    signal.throwIfAborted();
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new Ended(exitCodes.stopped, 'Stopped. What was fetched stays; the same command goes on with the rest.');
  } finally {
    screen.close();
  }
}

async function exportLines(world: CommandWorld, source: Source, folder: string, isAlone: boolean): Promise<Written> {
  await mkdir(path.join(folder, isAlone ? '' : 'data'), { recursive: true });
  if (!isAlone) await mkdir(path.join(folder, 'metadata'), { recursive: true });
  const nameOf = fileNames();
  const lines: string[] = [];
  await eachImage(world, source, async (metadata) => {
    const file = nameOf(metadata);
    lines.push(datasetLine(metadata, isAlone ? file : `data/${file}`));
    if (isAlone) return;
    await writeFile(path.join(folder, 'metadata', `${file}.json`), metadataJson(metadata));
    await fetchImage(source.open, metadata, path.join(folder, 'data', file), world.signal);
  });
  const file = path.join(folder, 'dataset.jsonl');
  await atomicWrite(file, lines.map((line) => `${line}\n`).join(''));
  if (isAlone) await rm(path.join(folder, 'data'), { recursive: true, force: true });
  return { images: lines.length, notes: [], dataset_file: file };
}

async function exportLayout(world: CommandWorld, source: Source, folder: string, format: LayoutName): Promise<Written> {
  const layout = layouts[format];
  const nameOf = fileNames({ isStemUnique: true });
  const known: (ReturnType<typeof imageOf> & { file: string; metadata: BinaryMetadata })[] = [];
  for await (const { metadata } of source.open.client.dataClient.allBinaryData({ datasetId: source.datasetId })) {
    world.signal.throwIfAborted();
    if (metadata) known.push({ file: nameOf(metadata), ...imageOf(metadata), metadata });
  }
  const places = layout.placesOf(known);
  const images: ExportedImage[] = [];
  const unreadable: string[] = [];
  const lanes = { waiting: known.values(), count: known.length, parallel: source.parallel };
  await inLanes(world, lanes, async ({ metadata, ...image }) => {
    const [first = image.file, ...copies] = (places.get(image.file) ?? []).map((place) => path.join(folder, place));
    await mkdir(path.dirname(first), { recursive: true });
    await fetchImage(source.open, metadata, first, world.signal);
    const size = format === 'folders' ? { width: 0, height: 0 } : await sizeOf(first);
    if ('problem' in size) {
      unreadable.push(`${image.file} ${size.problem}`);
      return rm(first);
    }
    for (const copy of copies) {
      await mkdir(path.dirname(copy), { recursive: true });
      await copyFile(first, copy);
    }
    images.push({ ...image, ...size });
    return undefined;
  });
  const ordered = images.toSorted((a, b) => (a.file < b.file ? -1 : 1));
  for (const [place, text] of layout.textsOf(ordered)) {
    const target = path.join(folder, place);
    await mkdir(path.dirname(target), { recursive: true });
    await atomicWrite(target, text);
  }
  return { images: images.length, notes: [...unreadableNotes(unreadable), ...omissions(format, ordered)] };
}

/** Size of an image, upright. */
async function sizeOf(file: string): Promise<{ width: number; height: number } | { problem: string }> {
  const header = imageHeader(await readFile(file), true);
  if ('header' in header) return header.header.upright;
  return { problem: 'problem' in header ? header.problem : 'is a broken image' };
}

const unreadableNotes = (unreadable: readonly string[]): string[] =>
  unreadable.length === 0
    ? []
    : [
        `Left out ${counted(unreadable.length, 'image')} without a readable size: ${unreadable.toSorted().slice(0, 5).map(printable).join('; ')}${unreadable.length > 5 ? ` and ${unreadable.length - 5} more` : ''}. --format jsonl has all files.`,
      ];

/** What an export omits, and which other formats include it. */
function omissions(format: LayoutName, images: readonly ExportedImage[]): string[] {
  const { labels, boxes } = omitted(layouts[format], images);
  const renamed = [...new Set(images.flatMap((image) => image.labels))].filter((label) => folderOf(label) !== label);
  return [
    labels > 0
      ? `Left out ${counted(labels, 'label')} of whole images: --format folders, cvat, labelstudio, sagemaker or jsonl has them.`
      : '',
    boxes > 0
      ? `Left out ${counted(boxes, 'box', 'boxes')}: --format coco, yolo, voc, cvat, labelstudio, createml, csv, sagemaker or jsonl has them.`
      : '',
    format === 'folders' && renamed.length > 0
      ? `Labels that no folder may be called are written with _: ${renamed.slice(0, 5).map(printable).join(', ')}.`
      : '',
    format === 'yolo' && !images.some(({ split }) => split)
      ? 'No image is in a split: add train and val to data.yaml before you train with it.'
      : '',
  ].filter((note) => note !== '');
}

/** Skips a file that an earlier run has completed: it has the right size. */
async function fetchImage(open: Connection, of: BinaryMetadata, target: string, signal: AbortSignal): Promise<void> {
  const there = await stat(target).catch(() => undefined);
  if (there && BigInt(there.size) === of.fileSizeBytes) return;
  const { body } = await open.client.request(`/data/${of.binaryDataId}`, { signal });
  if (!body) throw new PlatformError('DOWNLOAD_FAILED', { url: of.uri, problem: 'the answer was empty' });
  const partial = `${target}.part`;
  await pipeline(Readable.fromWeb(body), createWriteStream(partial), { signal });
  await rename(partial, target);
}
