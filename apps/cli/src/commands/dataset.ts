import type { Filter } from '@platform/client';
import { TagsFilterType } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import type { Dataset } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import { type Split, splits } from '@platform/contract/job/job';
import { systemClock } from '@platform/kit/node';
import type { Command } from 'commander';
import { formatBytes } from '@platform/kit';
import { confirmed } from '../confirm.ts';
import type { Connection } from '../connection.ts';
import { findDataset } from '../find/dataset.ts';
import { ago, isoTime, listText, printable } from '../output.ts';
import type { Run } from '../run.ts';
import { exportCommand } from './dataset-export.ts';
import { imageCommands } from './dataset-images.ts';
import { suggestionCommands } from './dataset-suggest.ts';
import { uploadCommand } from './dataset-upload.ts';

const datasetJson = (one: Dataset): Record<string, unknown> => ({
  id: one.id,
  name: one.name,
  organization_id: one.organizationId,
  time_created: isoTime(one.timeCreated),
});

/** Limits concurrency to 8 requests. */
async function inParallel<T, R>(items: readonly T[], ask: (item: T) => Promise<R>): Promise<R[]> {
  const answers: R[] = [];
  const waiting = items.entries();
  const lane = async (): Promise<void> => {
    for (const [index, item] of waiting) answers[index] = await ask(item);
  };
  await Promise.all(Array.from({ length: 8 }, lane));
  return answers;
}

interface Contents {
  readonly images: number;
  readonly sizeBytes: number;
  readonly unlabelled: number;
  /** Number of images that users assigned to each split. */
  readonly splits: readonly { split: Split; images: number }[];
  /** Images with the label, and images with a box of the label. */
  readonly labels: readonly { label: string; images: number; withBoxes: number }[];
}

async function contentsOf(open: Connection, datasetId: string): Promise<Contents> {
  const { dataClient } = open.client;
  const count = async (filter: Filter): Promise<number> =>
    (await dataClient.countBinaryData({ datasetId, ...filter })).count;
  const [all, untagged, tags, boxes] = await Promise.all([
    dataClient.countBinaryData({ datasetId }),
    count({ tagsFilter: { type: TagsFilterType.UNTAGGED, labelsOnly: true } }),
    dataClient.labelsByFilter({ datasetId }),
    dataClient.boundingBoxLabelsByFilter({ datasetId }),
  ]);
  const inSplits = await inParallel(splits, async (split) => ({
    split,
    images: await count({ tagsFilter: { type: TagsFilterType.MATCH_BY_OR, tags: [`split:${split}`] } }),
  }));
  const names = [...new Set([...tags, ...boxes])].toSorted((a, b) => a.localeCompare(b));
  const labels = await inParallel(names, async (label) => ({
    label,
    images: tags.includes(label)
      ? await count({ tagsFilter: { type: TagsFilterType.MATCH_BY_OR, tags: [label], labelsOnly: true } })
      : 0,
    withBoxes: boxes.includes(label) ? await count({ bboxLabels: [label] }) : 0,
  }));
  return { images: all.count, sizeBytes: all.sizeBytes, unlabelled: untagged, splits: inSplits, labels };
}

/** What the dataset lacks for training. */
function adviceOf({ labels, images }: Contents): string[] {
  if (images === 0) return ['It is empty. Add images: platform dataset upload --help'];
  const few = labels.filter((one) => Math.max(one.images, one.withBoxes) < 10);
  const most = Math.max(0, ...labels.map((one) => one.images));
  const rare = labels.filter((one) => one.images >= 10 && one.images * 3 < most);
  const names = (of: typeof few): string => of.map((one) => printable(one.label)).join(', ');
  return [
    ...(few.length > 0
      ? [`Fewer than 10 images: ${names(few)}. Training refuses such labels; name the others with --labels.`]
      : []),
    ...(rare.length > 0 ? [`Less than a third of the most frequent label: ${names(rare)}.`] : []),
  ];
}

export function datasetCommands(program: Command, run: Run): void {
  const dataset = program.command('dataset').description('sets of images to train on');

  createCommand(dataset, run);
  listCommand(dataset, run);
  showCommand(dataset, run);
  renameCommand(dataset, run);
  deleteCommand(dataset, run);
  mergeCommand(dataset, run);
  uploadCommand(dataset, run);
  imageCommands(dataset, run);
  exportCommand(dataset, run);
  suggestionCommands(dataset, run);
}

function createCommand(dataset: Command, run: Run): void {
  dataset
    .command('create <name>')
    .description('create an empty dataset')
    .action(
      run(async ({ connection, output }, name: string) => {
        const open = await connection();
        const id = await open.client.datasetClient.createDataset(name, await open.organizationId());
        output.json({ id, name });
        output.text(`Created dataset ${printable(name)} with ID ${id}.`);
      }),
    );
}

function listCommand(dataset: Command, run: Run): void {
  dataset
    .command('list')
    .description('list datasets with the number and size of their images')
    .action(
      run(async ({ connection, output }) => {
        const open = await connection();
        const all = await open.client.datasetClient.listDatasetsByOrganizationId(await open.organizationId());
        const counts = await inParallel(all, ({ id }) => open.client.dataClient.countBinaryData({ datasetId: id }));
        output.json(
          all.map((one, i) => ({ ...datasetJson(one), images: counts[i]?.count, size_bytes: counts[i]?.sizeBytes })),
        );
        if (all.length === 0) return output.text('No dataset yet. Create one: platform dataset create NAME');
        output.table(
          ['name', 'images', 'size', 'created', 'id'],
          all.map((one, i) => [
            one.name,
            String(counts[i]?.count ?? ''),
            formatBytes(counts[i]?.sizeBytes ?? 0),
            ago(one.timeCreated, systemClock.wall()),
            one.id,
          ]),
        );
      }),
    );
}

function showCommand(dataset: Command, run: Run): void {
  dataset
    .command('show <dataset>')
    .description('show a dataset: images per label, and what it lacks for training')
    .action(
      run(async ({ connection, output }, name: string) => {
        const open = await connection();
        const existing = await findDataset(open, name);
        const contents = await contentsOf(open, existing.id);
        const { images, sizeBytes, unlabelled, splits: inSplits, labels } = contents;
        const chosen = inSplits.filter((one) => one.images > 0);
        output.json({
          ...datasetJson(existing),
          images,
          size_bytes: sizeBytes,
          untagged: unlabelled,
          splits: Object.fromEntries(inSplits.map((one) => [one.split, one.images])),
          labels: labels.map((one) => ({
            label: one.label,
            images: one.images,
            images_with_boxes: one.withBoxes,
          })),
        });
        output.text(
          listText([
            ['name', existing.name],
            ['images', `${images}, ${formatBytes(sizeBytes)}`],
            ['without a label', unlabelled > 0 ? String(unlabelled) : ''],
            ['chosen splits', chosen.map((one) => `${one.split} ${one.images}`).join(', ')],
            ['created', isoTime(existing.timeCreated)],
            ['id', existing.id],
          ]),
        );
        if (labels.length > 0) {
          const hasBoxes = labels.some((one) => one.withBoxes > 0);
          output.text('');
          output.table(
            ['label', 'images', ...(hasBoxes ? ['with boxes'] : [])],
            labels.map((one) => [one.label, String(one.images), ...(hasBoxes ? [String(one.withBoxes)] : [])]),
          );
        }
        for (const line of adviceOf(contents)) output.text(`\n${line}`);
      }),
    );
}

function renameCommand(dataset: Command, run: Run): void {
  dataset
    .command('rename <dataset> <name>')
    .description('rename a dataset')
    .action(
      run(async ({ connection, output }, name: string, newName: string) => {
        const open = await connection();
        const { id } = await findDataset(open, name);
        await open.client.datasetClient.renameDataset(id, newName);
        output.json({ id, name: newName });
        output.text(`Renamed dataset ${printable(name)} to ${printable(newName)}.`);
      }),
    );
}

function deleteCommand(dataset: Command, run: Run): void {
  dataset
    .command('delete <dataset>')
    .description('delete a dataset; its images stay')
    .option('-y, --yes', 'do not ask for confirmation')
    .action(
      run(async ({ connection, output }, name: string, flags: { yes?: boolean }) => {
        const open = await connection();
        const found = await findDataset(open, name);
        if (!(await confirmed(`Delete dataset ${printable(found.name)}? Its images stay.`, flags))) return;
        await open.client.datasetClient.deleteDataset(found.id);
        output.json({ id: found.id, deleted: true });
        output.text(`Deleted dataset ${printable(found.name)} with ID ${found.id}.`);
      }),
    );
}

function mergeCommand(dataset: Command, run: Run): void {
  dataset
    .command('merge <name> <datasets...>')
    .description('create a dataset with the images of several datasets')
    .action(
      run(async ({ connection, output }, name: string, names: string[]) => {
        const open = await connection();
        const datasets = await Promise.all(names.map((one) => findDataset(open, one)));
        const ids = datasets.map((one) => one.id);
        const id = await open.client.datasetClient.mergeDatasets(ids, name, await open.organizationId());
        output.json({ id, name, merged: ids });
        output.text(`Created dataset ${printable(name)} with ID ${id}.`);
      }),
    );
}
