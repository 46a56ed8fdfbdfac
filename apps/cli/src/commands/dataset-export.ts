import { createWriteStream } from 'node:fs';
import { mkdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { BinaryMetadata } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { PlatformError } from '@platform/contract/errors';
import { atomicWrite } from '@platform/kit/node';
import type { Command } from 'commander';
import type { Connection } from '../connection.ts';
import { datasetLine, fileNames, metadataJson } from '../datasets/export-lines.ts';
import { Ended, exitCodes } from '../exit-codes.ts';
import { findDataset } from '../find/dataset.ts';
import { counted, printable } from '../output.ts';
import type { CommandWorld, Run } from '../run.ts';
import { wholeNumber } from '../values.ts';
import { countScreen } from '../views/count-progress.ts';

interface ExportFlags {
  readonly onlyJsonl?: boolean;
  readonly parallel: string;
}

export function exportCommand(dataset: Command, run: Run): void {
  dataset
    .command('export <dataset> <folder>')
    .description(
      'write dataset.jsonl, data/ with the pictures and metadata/; run again, it fetches only what is missing',
    )
    .option('--only-jsonl', 'only dataset.jsonl')
    .option('--parallel <n>', 'downloads at the same time', '8')
    .action(run(exportDataset));
}

async function exportDataset(
  { connection, output, signal }: CommandWorld,
  name: string,
  folder: string,
  flags: ExportFlags,
): Promise<void> {
  const parallel = wholeNumber('--parallel', flags.parallel, { min: 1, max: 64 });
  const open = await connection();
  const { id: datasetId } = await findDataset(open, name);
  const { count } = await open.client.dataClient.countBinaryData({ datasetId });
  await mkdir(path.join(folder, 'data'), { recursive: true });
  if (!flags.onlyJsonl) await mkdir(path.join(folder, 'metadata'), { recursive: true });
  const nameOf = fileNames();
  const lines: string[] = [];
  const state = { done: 0 };
  const screen = countScreen(process.stderr, 'fetched', count);
  const found = open.client.dataClient.allBinaryData({ datasetId });
  const lane = async (): Promise<void> => {
    for (let next = await found.next(); !next.done && !signal.aborted; next = await found.next()) {
      const { metadata } = next.value;
      if (!metadata) continue;
      const file = nameOf(metadata);
      lines.push(datasetLine(metadata, flags.onlyJsonl ? file : `data/${file}`));
      if (!flags.onlyJsonl) await fetchPicture(open, metadata, folder, file, signal);
      screen.show(++state.done);
    }
  };
  try {
    await Promise.all(Array.from({ length: flags.onlyJsonl ? 1 : parallel }, lane));
    signal.throwIfAborted();
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new Ended(exitCodes.stopped, 'Stopped. What was fetched stays; the same command goes on with the rest.');
  } finally {
    screen.close();
  }
  const file = path.join(folder, 'dataset.jsonl');
  await atomicWrite(file, lines.map((line) => `${line}\n`).join(''));
  if (flags.onlyJsonl) await rm(path.join(folder, 'data'), { recursive: true, force: true });
  output.json({ dataset_id: datasetId, pictures: lines.length, folder, dataset_file: file });
  output.text(`Exported ${counted(lines.length, 'picture')} of dataset ${printable(name)} to ${printable(file)}.`);
}

/** The picture and what the server knows of it. A file of the right size is there from an earlier run. */
async function fetchPicture(
  open: Connection,
  of: BinaryMetadata,
  folder: string,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  const target = path.join(folder, 'data', name);
  await writeFile(path.join(folder, 'metadata', `${name}.json`), metadataJson(of));
  const there = await stat(target).catch(() => undefined);
  if (there && BigInt(there.size) === of.fileSizeBytes) return;
  const { body } = await open.client.request(`/data/${of.binaryDataId}`, { signal });
  if (!body) throw new PlatformError('DOWNLOAD_FAILED', { url: of.uri, problem: 'the answer was empty' });
  const partial = `${target}.part`;
  await pipeline(Readable.fromWeb(body), createWriteStream(partial), { signal });
  await rename(partial, target);
}
