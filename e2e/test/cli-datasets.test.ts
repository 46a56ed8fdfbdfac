// Imports and exports of images in folders of every format, over the real server.
import assert from 'node:assert/strict';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { composeObjects10, objectLabels } from '@platform/objects-10';
import { tempFolder } from '@platform/kit/testing';
import { startCloud } from '../src/cloud-process.ts';
import { runCli } from '../src/up-process.ts';

type Json = Record<string, unknown>;
interface Listed {
  file_name: string;
  labels: string[];
  split?: string;
  boxes: { label: string; x_min_normalized: number; y_max_normalized: number }[];
}

const names = ['a.jpg', 'b.jpg', 'c.jpg', 'd.jpg'];
/** Creates as many images as names. */
async function images(): Promise<Buffer[]> {
  const found: Buffer[] = [];
  const composed = composeObjects10({ seed: 3, trainPerClass: 4, testPerClass: 0, objects: objectLabels.slice(0, 1) });
  for await (const { jpeg } of composed) found.push(Buffer.from(jpeg));
  assert.equal(found.length, names.length);
  return found;
}

test('the same images again get labels and boxes, and every format comes back as it was exported', async () => {
  await using folder = await tempFolder();
  await using cloud = await startCloud();
  const { url, api_key_id, api_key } = cloud.ready;
  const env = { PLATFORM_URL: url, PLATFORM_API_KEY_ID: api_key_id, PLATFORM_API_KEY: api_key };
  const json = async <T = Json>(...args: string[]): Promise<T> => {
    const { code, stdout, stderr } = await runCli(env, ...args, '--json');
    assert.equal(code, 0, `${args.join(' ')}: ${stderr}`);
    return JSON.parse(stdout) as T;
  };
  const listed = async (dataset: string): Promise<Listed[]> =>
    (await json<{ pictures: Listed[] }>('dataset', 'images', dataset)).pictures;
  const place = (...parts: string[]): string => path.join(folder.path, ...parts);
  const put = async (target: string, content: Buffer | string): Promise<void> => {
    await mkdir(path.dirname(target), { recursive: true });
    await writeFile(target, content);
  };

  for (const [at, bytes] of (await images()).entries()) await put(place('flat', names[at] ?? ''), bytes);
  const first = await json('dataset', 'upload', 'set', place('flat'), '--create');
  assert.deepEqual([first['uploaded'], first['changed'], first['there_already']], [4, 0, 0]);

  // The same files with labels create no duplicates. One of them is in two folders.
  const folders = ['cup', 'cup', 'valid/pen', 'test/pen'];
  for (const [at, name] of names.entries())
    await put(place('classes', folders[at] ?? '', name), await readFile(place('flat', name)));
  await put(place('classes/mug/other.jpg'), await readFile(place('flat/a.jpg')));
  const labelled = await json('dataset', 'import', 'set', place('classes'));
  assert.deepEqual([labelled['uploaded'], labelled['changed'], labelled['copies']], [0, 4, 1]);
  assert.deepEqual(
    (await listed('set'))
      .map((one) => [one.file_name, one.labels.toSorted().join(), one.split ?? ''])
      .toSorted((a, b) => ((a[0] ?? '') < (b[0] ?? '') ? -1 : 1)),
    [
      ['a.jpg', 'cup,mug', ''],
      ['b.jpg', 'cup', ''],
      ['c.jpg', 'pen', 'validation'],
      ['d.jpg', 'pen', 'test'],
    ],
  );
  const shown = await json<{ pictures: number; splits: Json; labels: Json[] }>('dataset', 'show', 'set');
  assert.deepEqual(shown.splits, { train: 0, validation: 1, test: 1 });
  assert.deepEqual(
    shown.labels.map((one) => [one['label'], one['pictures']]),
    [
      ['cup', 2],
      ['mug', 1],
      ['pen', 2],
    ],
  );

  // Boxes for the same images from YOLO files; one exceeds the edge, which the output reports.
  for (const name of names) await put(place('yolo/images', name), await readFile(place('flat', name)));
  await put(place('yolo/data.yaml'), 'names: [handle, lid]\n');
  await put(place('yolo/labels/a.txt'), '0 0.5 0.5 0.4 0.4\n1 0.9 0.2 0.4 0.2\n');
  await put(place('yolo/labels/d.txt'), '1 0.24 0.24 0.08 0.08\n');
  const planned = await runCli(env, 'dataset', 'upload', 'set', place('yolo'), '--dry-run');
  assert.match(planned.stdout, /^YOLO \(data\.yaml\)\.\n4 images: handle 1 box, lid 2 boxes\.\n/);
  assert.match(planned.stdout, /Cut 1 box at the edge of the image\.\n/);
  assert.equal((await json('dataset', 'upload', 'set', place('yolo')))['changed'], 2);
  const again = await json('dataset', 'upload', 'set', place('yolo'));
  assert.deepEqual([again['uploaded'], again['changed'], again['there_already']], [0, 0, 4]);

  const summary = (all: Listed[], has: (of: Listed) => unknown): unknown[] =>
    all.map((one) => JSON.stringify(has(one))).toSorted();
  const boxesOf = (one: Listed) => [
    one.split ?? '',
    one.boxes
      .map((box) => `${box.label} ${Math.round(box.x_min_normalized * 50)} ${Math.round(box.y_max_normalized * 50)}`)
      .toSorted(),
  ];
  const labelsOf = (one: Listed) => [one.split ?? '', one.labels.toSorted()];
  const before = await listed('set');
  for (const [format, has] of [
    ['jsonl', (one: Listed) => [boxesOf(one), labelsOf(one)]],
    ['folders', labelsOf],
    ['coco', boxesOf],
    ['yolo', boxesOf],
    ['voc', boxesOf],
  ] as const) {
    const target = place('export', format);
    const written = await json<{ notes: string[] }>('dataset', 'export', 'set', target, '--format', format);
    assert.equal(written.notes.length, format === 'jsonl' ? 0 : 1, written.notes.join());
    await json('dataset', 'import', `from-${format}`, target, '--create');
    assert.deepEqual(summary(await listed(`from-${format}`), has), summary(before, has), format);
    // An import into the original dataset adds nothing.
    const back = await json('dataset', 'import', 'set', target);
    assert.deepEqual([back['uploaded'], back['changed']], [0, 0], format);
    await rm(target, { recursive: true });
  }

  await put(place('list.txt'), 'images/b.jpg\nd.jpg\n');
  assert.equal((await json('dataset', 'tag', 'set', 'seen', '--file', `@${place('list.txt')}`))['pictures'], 2);
  const seen = await json<{ pictures: Listed[] }>('dataset', 'pictures', 'set', '--with-label', 'seen');
  assert.deepEqual(seen.pictures.map((one) => one.file_name).toSorted(), ['b.jpg', 'd.jpg']);
  await put(place('list.txt'), 'b.jpg\nz.jpg\n');
  const missing = await runCli(env, 'dataset', 'tag', 'set', 'lost', '--file', `@${place('list.txt')}`);
  assert.equal(missing.code, 2);
  assert.match(missing.stderr, /z\.jpg/);
  assert.ok((await listed('set')).every((one) => !one.labels.includes('lost')));
});
