import type { Filter } from '@platform/client';
import { type BinaryMetadata, TagsFilterType } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { PlatformError } from '@platform/contract/errors/errors';
import type { Command } from 'commander';
import type { Connection } from '../connection.ts';
import { confirmed } from '../confirm.ts';
import { labelsOf } from '../datasets/export-lines.ts';
import { fileSelection } from '../datasets/file-selection.ts';
import { findDataset } from '../find/dataset.ts';
import { counted, isoTime, printable } from '../output.ts';
import type { Run } from '../run.ts';
import { collect, wholeNumber } from '../values.ts';

/** Selects images of a dataset. */
interface Selection {
  readonly withLabel?: string[];
  readonly withTag?: string[];
  readonly withBox?: string[];
  readonly untagged?: boolean;
  readonly file?: string[];
  readonly all?: boolean;
}
const selecting = (command: Command): Command =>
  command
    .option('--with-label <label>', 'images with this label (repeatable)', collect)
    .option(
      '--with-tag <tag>',
      'images with this tag, including capture tags and split: tags such as split:test (repeatable)',
      collect,
    )
    .option('--with-box <label>', 'images with a box of this label (repeatable)', collect)
    .option('--untagged', 'images without any label')
    .option(
      '--file <text>',
      'images whose file name contains this text (repeatable); @list.txt: the images listed in this file, one file name or ID per line (@-: standard input)',
      collect,
    )
    .option('--all', 'all images');

const isGiven = (of: Selection): boolean =>
  of.withLabel !== undefined ||
  of.withTag !== undefined ||
  of.withBox !== undefined ||
  of.file !== undefined ||
  of.untagged === true ||
  of.all === true;

const filterOf = (datasetId: string, { withLabel, withTag, withBox, untagged }: Selection): Filter => ({
  datasetId,
  ...(withBox && { bboxLabels: withBox }),
  ...(withTag && { tagsFilter: { type: TagsFilterType.MATCH_BY_OR, tags: withTag } }),
  ...(withLabel && { tagsFilter: { type: TagsFilterType.MATCH_BY_OR, tags: withLabel, labelsOnly: true } }),
  ...(untagged && { tagsFilter: { type: TagsFilterType.UNTAGGED, labelsOnly: true } }),
});

async function* selected(open: Connection, datasetId: string, of: Selection): AsyncGenerator<BinaryMetadata> {
  const files = of.file && (await fileSelection(of.file));
  for await (const { metadata } of open.client.dataClient.allBinaryData(filterOf(datasetId, of)))
    if (metadata && (files?.takes(metadata.fileName, metadata.binaryDataId) ?? true)) yield metadata;
  const missing = files?.missing() ?? [];
  if (missing.length === 0) return;
  const names = `${missing.slice(0, 5).join(', ')}${missing.length > 5 ? ` and ${missing.length - 5} more` : ''}`;
  throw new PlatformError('INVALID_ARGUMENT', {
    field: '--file',
    value: names,
    limit: 'names of images that the dataset has',
  });
}

/** The given IDs, or those of the selection. @throws PlatformError INVALID_ARGUMENT when neither selects an image. */
async function chosen(open: Connection, datasetId: string, ids: readonly string[], of: Selection): Promise<string[]> {
  if (ids.length > 0 && !isGiven(of)) return [...ids];
  if (ids.length > 0 || !isGiven(of)) {
    const limit = 'give image IDs, or one of --with-label, --with-tag, --with-box, --untagged, --file, --all';
    throw new PlatformError('INVALID_ARGUMENT', { field: 'images', limit });
  }
  const found: string[] = [];
  for await (const one of selected(open, datasetId, of)) found.push(one.binaryDataId);
  return found;
}

const portion = 500;
async function inPortions(ids: readonly string[], send: (ids: readonly string[]) => Promise<unknown>): Promise<void> {
  for (let at = 0; at < ids.length; at += portion) await send(ids.slice(at, at + portion));
}

const imageJson = (one: BinaryMetadata): Record<string, unknown> => ({
  id: one.binaryDataId,
  file_name: one.fileName,
  time_requested: isoTime(one.timeRequested),
  size_bytes: Number(one.fileSizeBytes),
  tags: one.captureMetadata?.tags ?? [],
  labels: labelsOf(one),
  ...(one.split !== '' && { split: one.split }),
  boxes: (one.annotations?.bboxes ?? []).map((box) => ({
    id: box.id,
    label: box.label,
    x_min_normalized: box.xMinNormalized,
    y_min_normalized: box.yMinNormalized,
    x_max_normalized: box.xMaxNormalized,
    y_max_normalized: box.yMaxNormalized,
  })),
});

export function imageCommands(dataset: Command, run: Run): void {
  listCommand(dataset, run);
  addCommand(dataset, run);
  removeCommand(dataset, run);
  deleteImagesCommand(dataset, run);
  tagCommands(dataset, run);
}

function listCommand(dataset: Command, run: Run): void {
  selecting(dataset.command('images <dataset>'))
    .description('list images of a dataset with their labels and IDs, newest first')
    .option('-n, --limit <n>', 'maximum number of images', '50')
    .action(
      run(async ({ connection, output }, name: string, flags: Selection & { limit: string }) => {
        const limit = wholeNumber('--limit', flags.limit, { min: 1 });
        const open = await connection();
        const { id } = await findDataset(open, name);
        const binaries: BinaryMetadata[] = [];
        for await (const one of selected(open, id, flags)) {
          if (binaries.push(one) > limit) break;
        }
        const shown = binaries.slice(0, limit);
        output.json({ images: shown.map(imageJson), has_more: binaries.length > limit });
        if (shown.length === 0) return output.text('No image.');
        output.table(
          ['file', 'labels', 'split', 'boxes', 'id'],
          shown.map((one) => [
            one.fileName,
            labelsOf(one).join(', '),
            one.split,
            String(one.annotations?.bboxes.length || ''),
            one.binaryDataId,
          ]),
        );
        if (binaries.length > limit) output.note('\nThere are more: --limit N shows them.');
      }),
    );
}

function addCommand(dataset: Command, run: Run): void {
  selecting(dataset.command('add <dataset> [images...]'))
    .description('add images, by ID or from another dataset')
    .option('--from <dataset>', 'add images of this dataset')
    .action(
      run(async ({ connection, output }, name: string, ids: string[], flags: Selection & { from?: string }) => {
        const open = await connection();
        const { id } = await findDataset(open, name);
        if (ids.length === 0 && flags.from === undefined)
          throw new PlatformError('INVALID_ARGUMENT', {
            field: 'images',
            limit: 'give image IDs, or --from a dataset',
          });
        const source = flags.from === undefined ? id : (await findDataset(open, flags.from)).id;
        const isWhole = flags.from !== undefined && ids.length === 0 && !isGiven(flags);
        const wanted = await chosen(open, source, ids, isWhole ? { ...flags, all: true } : flags);
        await inPortions(wanted, (some) => open.client.dataClient.addBinaryDataToDatasetByIds(some, id));
        output.json({ dataset_id: id, added: wanted.length });
        output.text(`Added ${counted(wanted.length, 'image')} to dataset ${printable(name)}.`);
      }),
    );
}

function removeCommand(dataset: Command, run: Run): void {
  selecting(dataset.command('remove <dataset> [images...]'))
    .description('remove images from a dataset; they are not deleted')
    .action(
      run(async ({ connection, output }, name: string, ids: string[], flags: Selection) => {
        const open = await connection();
        const { id } = await findDataset(open, name);
        const wanted = await chosen(open, id, ids, flags);
        await inPortions(wanted, (some) => open.client.dataClient.removeBinaryDataFromDatasetByIds(some, id));
        output.json({ dataset_id: id, removed: wanted.length });
        output.text(`Took ${counted(wanted.length, 'image')} out of dataset ${printable(name)}.`);
      }),
    );
}

function deleteImagesCommand(dataset: Command, run: Run): void {
  selecting(dataset.command('delete-images <dataset> [images...]'))
    .description('delete images of a dataset permanently, also from every other dataset')
    .option('-y, --yes', 'do not ask for confirmation')
    .action(
      run(async ({ connection, output }, name: string, ids: string[], flags: Selection & { yes?: boolean }) => {
        const open = await connection();
        const { id } = await findDataset(open, name);
        const wanted = await chosen(open, id, ids, flags);
        const question = `Delete ${counted(wanted.length, 'image')} for good, from every dataset?`;
        if (wanted.length > 0 && !(await confirmed(question, flags))) return;
        let deleted = 0;
        await inPortions(wanted, async (some) => {
          deleted += await open.client.dataClient.deleteBinaryDataByIds(some);
        });
        output.json({ dataset_id: id, deleted });
        output.text(`Deleted ${counted(deleted, 'image')}.`);
      }),
    );
}

function tagCommands(dataset: Command, run: Run): void {
  for (const verb of ['tag', 'untag'] as const)
    selecting(dataset.command(`${verb} <dataset> <labels...>`))
      .description(
        verb === 'tag' ? 'add labels to images' : 'remove labels from images, including those that a model predicted',
      )
      .option('--id <id>', 'ID of an image (repeatable)', collect)
      .action(
        run(async ({ connection, output }, name: string, labels: string[], flags: Selection & { id?: string[] }) => {
          const open = await connection();
          const { id } = await findDataset(open, name);
          const { dataClient } = open.client;
          const wanted = await chosen(open, id, flags.id ?? [], flags);
          await inPortions(wanted, (some) =>
            verb === 'tag'
              ? dataClient.addTagsToBinaryDataByIds(labels, some)
              : dataClient.removeTagsFromBinaryDataByIds(labels, some, { includeClassifications: true }),
          );
          output.json({ dataset_id: id, images: wanted.length, labels });
          const words = labels.map(printable).join(', ');
          output.text(
            verb === 'tag'
              ? `Tagged ${counted(wanted.length, 'image')} with ${words}.`
              : `Took ${words} from ${counted(wanted.length, 'image')}.`,
          );
        }),
      );
}
