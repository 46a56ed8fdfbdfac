// Reads folders of texts and images without content.
import type { ImportFormat } from '../src/formats.ts';
import { planImport } from '../src/plan.ts';
import { ledgerGroups } from '../src/summary.ts';
import { memorySource, pngStart } from './case-files.ts';

const size = { width: 200, height: 100 };

/** Images are given without content. */
export const source = (files: Readonly<Record<string, string>>) =>
  memorySource(
    Object.fromEntries(
      Object.entries(files).map(([path, text]) => [
        path,
        text === '' && /\.(jpg|png)$/.test(path) ? pngStart(size.width, size.height) : text,
      ]),
    ),
  );

export const read = async (files: Readonly<Record<string, string>>, format?: ImportFormat) => {
  const plan = await planImport(source(files), format && { format });
  const images = plan.images.map(({ path, split, labels, boxes }) => [
    path,
    split ?? '',
    ...labels,
    ...boxes.map(({ label, xMin, yMin, xMax, yMax }) =>
      [label, ...[xMin, yMin, xMax, yMax].map((edge) => Number(edge.toFixed(3)))].join(' '),
    ),
  ]);
  // The images of these folders have the content of PNG files, whatever their names are.
  const groups = ledgerGroups(plan.ledger)
    .filter(({ reason }) => !reason.startsWith('is PNG'))
    .map(({ outcome, count, reason, examples }) => `${outcome} ${count} ${reason}: ${examples.join(', ')}`);
  const { ledger, refusal, format: title } = plan;
  return { title, images, missing: ledger.missing, groups, problem: refusal?.problem, ledger };
};

export const object = (name: string, box = [20, 10, 100, 60], more = '') =>
  `<object><name>${name}</name>${more}<bndbox><xmin>${box[0]}</xmin><ymin>${box[1]}</ymin><xmax>${box[2]}</xmax><ymax>${box[3]}</ymax></bndbox></object>`;

export const voc = (file: string, objects = '', sizes = '<size><width>200</width><height>100</height></size>') =>
  `<?xml version="1.0"?><annotation><filename>${file}</filename>${sizes}${objects}</annotation>`;

export const coco = (
  names: readonly string[],
  boxes: readonly [image: number, box: number[]][] = [[0, [20, 10, 80, 50]]],
) =>
  JSON.stringify({
    images: names.map((file_name, id) => ({ id, file_name, ...size })),
    categories: [{ id: 3, name: 'cup' }],
    annotations: boxes.map(([image_id, bbox], id) => ({ id, image_id, category_id: 3, bbox })),
  });
