import { createHash } from 'node:crypto';
import { readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { ImageUpload } from '@platform/client';
import { PlatformError } from '@platform/contract/errors/errors';
import type { Command } from 'commander';
import { hasLoss, ledgerCsv } from '@platform/dataset-files/ledger';
import { type ImportFormat, importFormats } from '@platform/dataset-files/formats';
import { planImport } from '@platform/dataset-files/plan';
import { type ImportPlan, type PlannedImage, tagsOf } from '@platform/dataset-files/planned-images';
import { planLines } from '@platform/dataset-files/summary';
import { choiceOption } from '../choices.ts';
import { folderSource, withFile } from '../datasets/folder-source.ts';
import { checkImport, type ImportChoices } from '../datasets/import-checks.ts';
import {
  type HashedImage,
  neededUploads,
  oneEach,
  type OneEach,
  type PresentImage,
} from '../datasets/repeated-images.ts';
import type { Connection } from '../connection.ts';
import { Ended, exitCodes } from '../exit-codes.ts';
import { findDataset } from '../find/dataset.ts';
import { counted, printable } from '../output.ts';
import type { CommandWorld, Run } from '../run.ts';
import { collect, wholeNumber } from '../values.ts';
import { countScreen } from '../views/count-progress.ts';

interface UploadFlags extends ImportChoices {
  readonly label?: string[];
  readonly annotations?: string;
  readonly format: ImportFormat;
  readonly create?: boolean;
  readonly dryRun?: boolean;
  readonly ledger?: string;
  readonly parallel: string;
  /** --no-outlines makes it false. */
  readonly outlines: boolean;
}

const formats = Object.fromEntries(importFormats.map((one) => [one, one])) as Record<ImportFormat, ImportFormat>;

export function uploadCommand(dataset: Command, run: Run): void {
  dataset
    .command('upload <dataset> <folder>')
    .alias('import')
    .description(
      'upload a folder of images: one folder per label, COCO, YOLO, Pascal VOC, CVAT, Label Studio, Create ML, CSV, SageMaker or an export of this platform. Prints what happens to every file and annotation. Adds new labels and boxes to images that the dataset already has',
    )
    .option('--label <label>', 'label for all images instead of the folder names (repeatable)', collect)
    .option('--annotations <file>', 'read labels and boxes from this file only; it may lie outside the folder')
    .addOption(choiceOption('--format <format>', 'file format of labels and boxes', formats).default('auto'))
    .option('--create', 'create the dataset if it does not exist')
    .option('--dry-run', 'print what would be uploaded, left out and changed, and upload nothing')
    .option('--ledger <file>', 'write what happens to every file and annotation to this file, as CSV')
    .option('--no-outlines', 'skip polygons instead of converting them to boxes')
    .option('--strict', 'upload nothing if any file or annotation would be left out')
    .option('--skip-invalid', 'skip invalid annotations instead of rejecting the upload')
    .option('--allow-missing', 'upload even if many annotated images are missing from the folder')
    .option('--parallel <n>', 'number of concurrent uploads', '8')
    .action(run(upload));
}

async function upload(
  { connection, output, signal }: CommandWorld,
  name: string,
  folder: string,
  flags: UploadFlags,
): Promise<void> {
  const concurrency = wholeNumber('--parallel', flags.parallel, { min: 1, max: 64 });
  const plan = await planOf(folder, flags);
  const summary = summaryOf(plan);
  if (!plan.refusal) for (const line of planLines(plan)) output.text(printable(line));
  if (flags.ledger !== undefined) await writeFile(flags.ledger, ledgerCsv(plan.ledger));
  checkImport(plan, folder, flags);
  if (flags.dryRun) {
    output.json({ uploaded: 0, ...summary });
    return endWithLoss(plan);
  }

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
  const refused = await send(open, datasetId, contents(folder, sent), { count: sent.length, concurrency, signal });
  const there = images.images.length - sent.length;
  output.json({
    dataset_id: datasetId,
    uploaded: added.length - refused.length,
    refused,
    changed: changed.length,
    there_already: there,
    copies: images.copies,
    ...summary,
  });
  output.text(
    [
      `Uploaded ${counted(added.length - refused.length, 'image')} to dataset ${printable(name)} with ID ${datasetId}.`,
      changed.length > 0 ? `${changed.length} that it had got new labels or boxes.` : '',
      there > 0 ? `${there} were there already.` : '',
    ]
      .filter(Boolean)
      .join(' '),
  );
  for (const what of refused) output.text(printable(`Refused: ${what}`));
  if (refused.length > 0) throw new Ended(exitCodes.leftOut, 'Something was left out: see the lines above.');
  endWithLoss(plan);
}

/** The plan for programs, with the whole account. */
const summaryOf = ({ format, images, counts, ledger }: ImportPlan) => ({
  images: images.length,
  format,
  labels: Object.fromEntries([...counts].map(([label, of]) => [label, { images: of.images, boxes: of.boxes }])),
  left_out: ledger.files
    .filter(({ use }) => use === 'left out')
    .map(({ path: place, reason }) => ({ path: place, reason })),
  missing: ledger.missing,
  warnings: ledger.warnings,
  ledger: { counts: ledger.counts, files: ledger.files, annotations: ledger.annotations },
});

function endWithLoss({ ledger }: ImportPlan): void {
  if (hasLoss(ledger)) throw new Ended(exitCodes.leftOut, 'Something was left out: see the lines above.');
}

async function send(
  open: Connection,
  datasetId: string,
  images: ReturnType<typeof contents>,
  { count, concurrency, signal }: { count: number; concurrency: number; signal: AbortSignal },
): Promise<string[]> {
  const refused: string[] = [];
  const screen = countScreen(process.stderr, 'uploaded', count);
  try {
    await open.client.dataClient.uploadImages(images, {
      partId: '',
      datasetIds: [datasetId],
      signal,
      concurrency,
      onProgress: (done) => screen.show(done),
      onRefused: (_, { what }) => refused.push(what),
    });
    return refused;
  } catch (error) {
    if (!signal.aborted) throw error;
    throw stopped();
  } finally {
    screen.close();
  }
}

const stopped = (): Ended =>
  new Ended(exitCodes.stopped, 'Stopped. What was uploaded stays; the same command goes on with the rest.');

async function planOf(folder: string, flags: UploadFlags): Promise<ImportPlan> {
  const below = await folderSource(folder);
  const other = flags.annotations === undefined ? undefined : await withFile(below, folder, flags.annotations);
  return planImport(other?.source ?? below, {
    format: flags.format,
    withoutOutlines: !flags.outlines,
    ...(flags.label && { labels: flags.label }),
    ...(other && { annotations: other.name }),
  });
}

const copyLines = ({ copies, divided }: OneEach): string[] => [
  ...(copies > 0 ? [`${counted(copies, 'file')} equal to another: one image each, with the labels of all.`] : []),
  ...(divided.length > 0
    ? [
        `${counted(divided.length, 'image')} in several splits, held out: ${divided.slice(0, 5).map(printable).join(', ')}.`,
      ]
    : []),
];

async function hashed(folder: string, planned: readonly PlannedImage[], signal: AbortSignal): Promise<HashedImage[]> {
  const images: HashedImage[] = [];
  for (const image of planned) {
    if (signal.aborted) throw stopped();
    const bytes = await readFile(path.join(folder, image.path));
    images.push({ ...image, sha256: createHash('sha256').update(bytes).digest('hex') });
  }
  return images;
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
