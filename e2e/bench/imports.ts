// Plans of imports of large datasets, each in a process of its own: seconds and peak memory.
import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { planImport } from '@platform/dataset-files/plan';
import type { Source } from '@platform/dataset-files/source';
import { plainEnvironment, systemClock } from '@platform/kit/node';

const images = 10_000;
const perImage = 10;
const size = { width: 640, height: 480 };
const nameOf = (n: number): string => `${String(n).padStart(12, '0')}.png`;

/** The start of a PNG file of that size. */
function pngStart(): Uint8Array {
  const bytes = new Uint8Array(57);
  bytes.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const view = new DataView(bytes.buffer);
  view.setUint32(12, 0x49484452);
  view.setUint32(8, 13);
  view.setUint32(16, size.width);
  view.setUint32(20, size.height);
  view.setUint32(37, 0x49444154);
  return bytes;
}

const edges = (n: number): [x: number, y: number, w: number, h: number] => [
  n % 500,
  n % 400,
  20 + (n % 97),
  20 + (n % 61),
];

/** As in COCO's own files: each annotation has an outline of 20 corners beside its box. */
function cocoFile(hasBoxes: boolean): string {
  const annotations = Array.from({ length: images * perImage }, (_, n) => {
    const [x, y, w, h] = edges(n);
    const corners = Array.from({ length: 20 }, (_corner, i) => [
      x + w / 2 + (w / 2) * Math.cos((i * Math.PI) / 10),
      y + h / 2 + (h / 2) * Math.sin((i * Math.PI) / 10),
    ]);
    const box = hasBoxes ? { bbox: [x, y, w, h] } : {};
    const segmentation = [corners.flat().map((corner) => Number(corner.toFixed(2)))];
    return JSON.stringify({
      id: n,
      image_id: n % images,
      category_id: n % 80,
      iscrowd: n % 100 === 0 ? 1 : 0,
      area: w * h,
      segmentation,
      ...box,
    });
  });
  const listed = Array.from({ length: images }, (_, id) => JSON.stringify({ id, file_name: nameOf(id), ...size }));
  const categories = Array.from({ length: 80 }, (_, id) => ({ id, name: `class ${id}` }));
  return `{"images":[${listed.join()}],"annotations":[${annotations.join()}],"categories":${JSON.stringify(categories)}}`;
}

const csvFile = (): string =>
  [
    'filename,width,height,class,xmin,ymin,xmax,ymax',
    ...Array.from({ length: images * perImage }, (_, n) => {
      const [x, y, w, h] = edges(n);
      return [nameOf(n % images), size.width, size.height, `class ${n % 80}`, x, y, x + w, y + h].join();
    }),
  ].join('\n');

const sets: Readonly<Record<string, () => [file: string, text: string]>> = {
  'COCO with boxes and outlines': () => ['instances_train.json', cocoFile(true)],
  'COCO with outlines alone': () => ['instances_train.json', cocoFile(false)],
  'CSV of TensorFlow': () => ['_annotations.csv', csvFile()],
};

function source(file: string, sizeBytes: number): Source {
  const image = pngStart();
  const name = path.basename(file);
  return {
    files: [
      { path: name, sizeBytes },
      ...Array.from({ length: images }, (_, n) => ({ path: nameOf(n), sizeBytes: 50_000 })),
    ],
    read: async (one) => (one === name ? readFile(file) : image),
    readStart: async (one, bytes) => (one === name ? await readFile(file) : image).subarray(0, bytes),
  };
}

async function printPlan(file: string): Promise<void> {
  const { size: sizeBytes } = await stat(file);
  const began = systemClock.now();
  const { counts, ledger } = await planImport(source(file, sizeBytes));
  const seconds = (systemClock.now() - began) / 1000;
  const { seen, used, changed, leftOut } = ledger.counts;
  const peak = process.resourceUsage().maxRSS / 1024;
  process.stdout.write(
    `${(sizeBytes / 1e6).toFixed(1)} MB, ${counts.size} labels; annotations: ${seen}, used ${used}, changed ${changed}, left out ${leftOut}; ${seconds.toFixed(1)} s, peak ${peak.toFixed(0)} MiB\n`,
  );
}

const [given] = process.argv.slice(2);
if (given === undefined) {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'imports-'));
  for (const [name, make] of Object.entries(sets)) {
    const [target, text] = make();
    const file = path.join(folder, target);
    await writeFile(file, text);
    // What making the file took must not count.
    const done = spawnSync(process.execPath, [import.meta.filename, file], {
      encoding: 'utf8',
      env: plainEnvironment(),
    });
    process.stdout.write(`${name}: ${done.stdout}${done.stderr}`);
    if (done.status !== 0) process.exitCode = 1;
  }
  await rm(folder, { recursive: true });
} else await printPlan(given);
