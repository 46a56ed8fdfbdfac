import { createHash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import type { ImageUpload } from '@platform/client';
import { PlatformError } from '@platform/contract/errors';
import { nameProblem } from '@platform/contract/names';
import { errorText } from '@platform/kit';
import { readText } from '@platform/kit/node';
import type { Command } from 'commander';
import { choiceOption } from '../choices.ts';
import { readAnnotations } from '../datasets/annotations.ts';
import { type Found, type Folder, noNotes, type ReadNotes } from '../datasets/annotated.ts';
import { imageSize } from '../datasets/image-size.ts';
import { type ImportFormat, importFormats, readFolder } from '../datasets/read/folder.ts';
import {
  type HashedImage,
  neededUploads,
  oneEach,
  type OneEach,
  type PresentImage,
} from '../datasets/repeated-images.ts';
import {
  type FoundFile,
  type PlannedImage,
  planLines,
  tagsOf,
  type UploadPlan,
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
  readonly format: ImportFormat;
  readonly create?: boolean;
  readonly dryRun?: boolean;
  readonly parallel: string;
}

const formats = Object.fromEntries(importFormats.map((one) => [one, one])) as Record<ImportFormat, ImportFormat>;

export function uploadCommand(dataset: Command, run: Run): void {
  dataset
    .command('upload <dataset> <folder>')
    .alias('import')
    .description(
      'upload a folder of images: one folder per label, YOLO, Pascal VOC, COCO or an earlier export. Images that the dataset has get the labels and boxes that are new',
    )
    .option('--label <label>', 'label of all images, in place of the folders; again for more', collect)
    .option('--annotations <file>', 'labels and boxes from dataset.jsonl (as of dataset export) or COCO JSON')
    .addOption(choiceOption('--format <format>', 'how labels and boxes are stored', formats).default('auto'))
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
  const { plan, found } = await planOf(folder, flags);
  const summary = {
    pictures: plan.images.length,
    ...(found && { format: found.format, notes: found.notes }),
    labels: Object.fromEntries(
      [...plan.counts].map(([label, { images, boxes }]) => [label, { pictures: images, boxes }]),
    ),
    left_out: plan.refused,
    missing: plan.missing,
  };
  for (const line of [
    ...(found ? [`${printable(found.format)}.`] : []),
    ...planLines(plan),
    ...noteLines(found?.notes),
  ])
    output.text(line);
  if (flags.dryRun) return output.json({ uploaded: 0, ...summary });
  refuseUnusable(plan, folder);

  const images = oneEach(await hashed(folder, plan.images, signal));
  for (const line of copyLines(images)) output.text(line);
  const open = await connection();
  const datasetId = await findDataset(open, name).then(
    ({ id }) => id,
    async (error: unknown) => {
      if (!flags.create || !(error instanceof PlatformError)) throw error;
      return open.client.datasetClient.createDataset(name, await open.organizationId());
    },
  );
  const { added, changed } = neededUploads(images.images, await presentImages(open, datasetId));
  const sent = [...added, ...changed];
  await send(open, datasetId, contents(folder, sent), { count: sent.length, concurrency, signal });
  const there = images.images.length - sent.length;
  output.json({
    dataset_id: datasetId,
    uploaded: added.length,
    changed: changed.length,
    there_already: there,
    copies: images.copies,
    ...summary,
  });
  output.text(
    [
      `Uploaded ${counted(added.length, 'image')} to dataset ${printable(name)} with ID ${datasetId}.`,
      changed.length > 0 ? `${changed.length} that it had got new labels or boxes.` : '',
      there > 0 ? `${there} were there already.` : '',
    ]
      .filter(Boolean)
      .join(' '),
  );
}

async function send(
  open: Connection,
  datasetId: string,
  images: ReturnType<typeof contents>,
  { count, concurrency, signal }: { count: number; concurrency: number; signal: AbortSignal },
): Promise<void> {
  const screen = countScreen(process.stderr, 'uploaded', count);
  try {
    await open.client.dataClient.uploadImages(images, {
      partId: '',
      datasetIds: [datasetId],
      signal,
      concurrency,
      onProgress: (done) => screen.show(done),
    });
  } catch (error) {
    if (!signal.aborted) throw error;
    throw stopped();
  } finally {
    screen.close();
  }
}

const stopped = (): Ended =>
  new Ended(exitCodes.stopped, 'Stopped. What was uploaded stays; the same command goes on with the rest.');

async function planOf(folder: string, flags: UploadFlags): Promise<{ plan: UploadPlan; found: Found | undefined }> {
  const files = await filesBelow(folder);
  const found =
    flags.annotations === undefined
      ? await readFolder(openFolder(folder, files), flags.format)
      : await readAnnotationFile(flags.annotations);
  const plan = uploadPlan(files, {
    ...(flags.label && { labels: flags.label }),
    ...(found && { annotations: found.annotations }),
  });
  return { plan: { ...plan, missing: [...(found?.missing ?? []), ...plan.missing] }, found };
}

async function readAnnotationFile(file: string): Promise<Found> {
  const notes = noNotes();
  return { format: file, annotations: readAnnotations(file, await textOf(file), notes), missing: [], notes };
}

function noteLines(notes: ReadNotes = noNotes()): string[] {
  const { clipped, outside, outlines, repeated } = notes;
  return [
    clipped > 0 ? `Cut ${counted(clipped, 'box', 'boxes')} at the edge of the image.` : '',
    outside > 0 ? `Left out ${counted(outside, 'box', 'boxes')} that lie outside of the image or have no area.` : '',
    outlines > 0 ? `Took the boxes around ${counted(outlines, 'outline')}.` : '',
    repeated > 0 ? `${counted(repeated, 'image')} annotated twice: the boxes were put together.` : '',
  ].filter((line) => line !== '');
}

const copyLines = ({ copies, divided }: OneEach): string[] => [
  ...(copies > 0 ? [`${counted(copies, 'file')} equal to another: one image each, with the labels of all.`] : []),
  ...(divided.length > 0
    ? [
        `${counted(divided.length, 'image')} in several splits, held out: ${divided.slice(0, 5).map(printable).join(', ')}.`,
      ]
    : []),
];

function refuseUnusable({ images, counts }: UploadPlan, folder: string): void {
  if (images.length === 0)
    throw new PlatformError('INVALID_ARGUMENT', {
      field: 'folder',
      value: folder,
      limit: 'a folder with JPEG, PNG or WebP files',
    });
  for (const label of counts.keys()) {
    const problem = nameProblem(label, 128);
    if (problem !== undefined)
      throw new PlatformError('INVALID_ARGUMENT', { field: 'label', value: JSON.stringify(label), limit: problem });
  }
}

async function hashed(folder: string, planned: readonly PlannedImage[], signal: AbortSignal): Promise<HashedImage[]> {
  const found: HashedImage[] = [];
  for (const image of planned) {
    if (signal.aborted) throw stopped();
    const bytes = await readFile(path.join(folder, image.path));
    found.push({ ...image, sha256: createHash('sha256').update(bytes).digest('hex') });
  }
  return found;
}

async function presentImages(open: Connection, datasetId: string): Promise<PresentImage[]> {
  const found: PresentImage[] = [];
  for await (const { metadata } of open.client.dataClient.allBinaryData({ datasetId })) {
    if (!metadata) continue;
    const boxes = (metadata.annotations?.bboxes ?? []).map((box) => ({
      label: box.label,
      xMin: box.xMinNormalized,
      yMin: box.yMinNormalized,
      xMax: box.xMaxNormalized,
      yMax: box.yMaxNormalized,
    }));
    found.push({ sha256: metadata.fileSha256, labels: metadata.labels, split: metadata.split, boxes });
  }
  return found;
}

/**
 * Reads the files one by one while they are sent. The server merges labels and boxes of equal images, so repeating an
 * upload is safe.
 */
async function* contents(folder: string, images: readonly HashedImage[]): AsyncGenerator<ImageUpload> {
  for (const image of images) {
    const file = path.join(folder, image.path);
    const { mtimeMs } = await stat(file);
    yield {
      bytes: await readFile(file),
      fileName: image.fileName,
      fileExtension: image.extension,
      tags: tagsOf(image),
      boxes: image.boxes,
      takenAt: Math.floor(mtimeMs),
    };
  }
}

/** Larger files cannot be annotations. */
const mostTextBytes = 512 * 1024 * 1024;

/** Gives format readers access only to the files found below the folder. */
function openFolder(folder: string, files: readonly FoundFile[]): Folder {
  const known = new Map(files.filter(({ isLink }) => !isLink).map((file) => [file.path, file]));
  const placeOf = (file: string): string => {
    const found = known.get(file);
    if (!found) throw new Error(`${file} is not below the folder`);
    if (found.sizeBytes > mostTextBytes)
      throw new PlatformError('INVALID_ARGUMENT', { field: file, limit: 'a file of annotations has at most 512 MiB' });
    return path.join(folder, file);
  };
  return {
    paths: [...known.keys()],
    read: async (file) => readText(placeOf(file)),
    sizeOf: async (file) => imageSize(placeOf(file)),
  };
}

/** Files below the folder in a deterministic order; skips dotfiles and does not follow links. */
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
    return await readText(file);
  } catch (error) {
    throw new PlatformError(
      'INVALID_ARGUMENT',
      { field: '--annotations', value: file, limit: errorText(error) },
      error,
    );
  }
}
