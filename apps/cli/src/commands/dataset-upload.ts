import { createHash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Picture } from '@platform/client';
import { PlatformError } from '@platform/contract/errors';
import { errorText } from '@platform/kit';
import type { Command } from 'commander';
import { readAnnotations } from '../datasets/annotations.ts';
import {
  type FoundFile,
  missingPictures,
  type PlannedPicture,
  planLines,
  type PresentPicture,
  uploadPlan,
} from '../datasets/upload-plan.ts';
import type { Connection } from '../connection.ts';
import { Ended, exitCodes } from '../exit-codes.ts';
import { findDataset } from '../find/dataset.ts';
import { counted, printable } from '../output.ts';
import type { CommandWorld, Run } from '../run.ts';
import { collect, wholeNumber } from '../values.ts';
import { countScreen } from '../views/count-progress.ts';

interface UploadFlags {
  readonly label?: string[];
  readonly annotations?: string;
  readonly create?: boolean;
  readonly dryRun?: boolean;
  readonly parallel: string;
}

export function uploadCommand(dataset: Command, run: Run): void {
  dataset
    .command('upload <dataset> <folder>')
    .description('upload a folder of pictures; sub-folders name the labels. Run again, it sends only what is missing')
    .option('--label <label>', 'label of all pictures, in place of the folders; again for more', collect)
    .option('--annotations <file>', 'labels and boxes from dataset.jsonl (as of dataset export) or COCO JSON')
    .option('--create', 'make the dataset when there is none of that name')
    .option('--dry-run', 'only say what would be sent')
    .option('--parallel <n>', 'uploads at the same time', '8')
    .action(run(upload));
}

async function upload(
  { connection, output, signal }: CommandWorld,
  name: string,
  folder: string,
  flags: UploadFlags,
): Promise<void> {
  const concurrency = wholeNumber('--parallel', flags.parallel, { min: 1, max: 64 });
  const plan = uploadPlan(await filesBelow(folder), {
    ...(flags.label && { labels: flags.label }),
    ...(flags.annotations !== undefined && {
      annotations: readAnnotations(flags.annotations, await textOf(flags.annotations)),
    }),
  });
  const summary = {
    pictures: plan.pictures.length,
    labels: Object.fromEntries(plan.counts),
    left_out: plan.refused,
    missing: plan.missing,
  };
  for (const line of planLines(plan)) output.text(line);
  if (flags.dryRun) return output.json({ uploaded: 0, ...summary });
  if (plan.pictures.length === 0)
    throw new PlatformError('INVALID_ARGUMENT', {
      field: 'folder',
      value: folder,
      limit: 'a folder with JPEG, PNG or WebP files',
    });

  const open = await connection();
  const datasetId = await findDataset(open, name).then(
    ({ id }) => id,
    async (error: unknown) => {
      if (!flags.create || !(error instanceof PlatformError)) throw error;
      return open.client.datasetClient.createDataset(name, await open.organizationId());
    },
  );
  const missing = missingPictures(plan.pictures, await presentPictures(open, datasetId));
  const screen = countScreen(process.stderr, 'uploaded', missing.length);
  try {
    await open.client.dataClient.uploadPictures(pictures(folder, missing, datasetId), {
      partId: '',
      datasetIds: [datasetId],
      signal,
      concurrency,
      onProgress: (done) => screen.show(done),
    });
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new Ended(exitCodes.stopped, 'Stopped. What was uploaded stays; the same command goes on with the rest.');
  } finally {
    screen.close();
  }
  const there = plan.pictures.length - missing.length;
  output.json({ dataset_id: datasetId, uploaded: missing.length, there_already: there, ...summary });
  output.text(
    `Uploaded ${counted(missing.length, 'picture')} to dataset ${printable(name)} with ID ${datasetId}.${there > 0 ? ` ${there} were there already.` : ''}`,
  );
}

async function presentPictures(open: Connection, datasetId: string): Promise<PresentPicture[]> {
  const found: PresentPicture[] = [];
  for await (const { metadata } of open.client.dataClient.allBinaryData({ datasetId })) {
    if (!metadata) continue;
    const { fileName, fileSizeBytes, captureMetadata, annotations } = metadata;
    const boxes = annotations?.bboxes.length ?? 0;
    found.push({ fileName, sizeBytes: Number(fileSizeBytes), tags: captureMetadata?.tags ?? [], boxes });
  }
  return found;
}

/** Read one by one as they are sent. Their upload ID makes the same file with the same labels one picture, however often it is sent. */
async function* pictures(
  folder: string,
  planned: readonly PlannedPicture[],
  datasetId: string,
): AsyncGenerator<Picture> {
  for (const { path: place, fileName, extension, tags, boxes } of planned) {
    const file = path.join(folder, place);
    const bytes = await readFile(file);
    const { mtimeMs } = await stat(file);
    const uploadId = createHash('sha256')
      .update(JSON.stringify([datasetId, place, tags, boxes]))
      .update(bytes)
      .digest('hex');
    yield { bytes, fileName, fileExtension: extension, tags, boxes, takenAt: Math.floor(mtimeMs), uploadId };
  }
}

/** Files below the folder in a fixed order; what begins with a dot is left out, links are not followed. */
async function filesBelow(folder: string): Promise<FoundFile[]> {
  const found: FoundFile[] = [];
  const look = async (at: string): Promise<void> => {
    const entries = await readdir(path.join(folder, at), { withFileTypes: true });
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      if (entry.name.startsWith('.')) continue;
      const place = at === '' ? entry.name : `${at}/${entry.name}`;
      if (entry.isDirectory()) await look(place);
      else if (entry.isSymbolicLink()) found.push({ path: place, sizeBytes: 0, isLink: true });
      else if (entry.isFile()) found.push({ path: place, sizeBytes: (await stat(path.join(folder, place))).size });
    }
  };
  try {
    await look('');
  } catch (error) {
    throw new PlatformError('INVALID_ARGUMENT', { field: 'folder', value: folder, limit: errorText(error) }, error);
  }
  return found;
}

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new PlatformError(
      'INVALID_ARGUMENT',
      { field: '--annotations', value: file, limit: errorText(error) },
      error,
    );
  }
}
