// Imports and exports of images in folders of every format, over the real server.
import assert from 'node:assert/strict';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { composeObjects10, objectLabels } from '@platform/objects-10';
import { tempFolder } from '@platform/kit/testing';
import { clientOf, startCloud } from '../src/cloud-process.ts';
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
    (await json<{ images: Listed[] }>('dataset', 'images', dataset)).images;
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
  const shown = await json<{ images: number; splits: Json; labels: Json[] }>('dataset', 'show', 'set');
  assert.deepEqual(shown.splits, { train: 0, validation: 1, test: 1 });
  assert.deepEqual(
    shown.labels.map((one) => [one['label'], one['images']]),
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
  assert.match(planned.stdout, /\nChanged: 1 annotation, cut at the edge of the image \(labels\/a\.txt: line 2\)\.\n/);
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
    ['cvat', (one: Listed) => [boxesOf(one), labelsOf(one)]],
  ] as const) {
    const target = place('export', format);
    const written = await json<{ notes: string[] }>('dataset', 'export', 'set', target, '--format', format);
    const isWhole = ['jsonl', 'cvat'].includes(format);
    assert.equal(written.notes.length, isWhole ? 0 : 1, written.notes.join());
    await json('dataset', 'import', `from-${format}`, target, '--create');
    assert.deepEqual(summary(await listed(`from-${format}`), has), summary(before, has), format);
    // An import into the original dataset adds nothing.
    const back = await json('dataset', 'import', 'set', target);
    assert.deepEqual([back['uploaded'], back['changed']], [0, 0], format);
    await rm(target, { recursive: true });
  }

  await put(place('list.txt'), 'images/b.jpg\nd.jpg\n');
  assert.equal((await json('dataset', 'tag', 'set', 'seen', '--file', `@${place('list.txt')}`))['images'], 2);
  const seen = await json<{ images: Listed[] }>('dataset', 'images', 'set', '--with-label', 'seen');
  assert.deepEqual(seen.images.map((one) => one.file_name).toSorted(), ['b.jpg', 'd.jpg']);
  await put(place('list.txt'), 'b.jpg\nz.jpg\n');
  const missing = await runCli(env, 'dataset', 'tag', 'set', 'lost', '--file', `@${place('list.txt')}`);
  assert.equal(missing.code, 2);
  assert.match(missing.stderr, /z\.jpg/);
  assert.ok((await listed('set')).every((one) => !one.labels.includes('lost')));
});

test('an import accounts for everything before it stores anything, and its exit code says what was left out', async () => {
  await using folder = await tempFolder();
  await using cloud = await startCloud();
  const { url, api_key_id, api_key } = cloud.ready;
  const env = { PLATFORM_URL: url, PLATFORM_API_KEY_ID: api_key_id, PLATFORM_API_KEY: api_key };
  const place = (...parts: string[]): string => path.join(folder.path, ...parts);
  const [first = Buffer.of(), second = Buffer.of()] = await images();
  const upload = async (name: string, ...args: string[]) =>
    runCli(env, 'dataset', 'upload', 'set', place(name), ...args);
  const put = async (files: Record<string, Buffer | string>): Promise<void> => {
    for (const [target, content] of Object.entries(files)) {
      await mkdir(path.dirname(place(target)), { recursive: true });
      await writeFile(place(target), content);
    }
  };
  await put({ 'half/images/a.jpg': first, 'half/labels/a.txt': '0 0.5 0.5 0.2 0.2\n' });
  const half = await upload('half', '--create');
  assert.equal(half.code, 1);
  assert.match(
    half.stderr,
    /IMPORT_FORMAT_UNCLEAR: Nothing was uploaded: The folder looks like YOLO: labels\/a\.txt has boxes, but the class/,
  );
  assert.match(half.stderr, /--format yolo, --format folders\.$/m);

  await put({
    'bad/a.jpg': first,
    'bad/classes.txt': 'cup\n',
    'bad/a.txt': '0 0.5 0.5 0.2 0.2\n7 1 1 1 1\n9 1 1 1 1\n',
  });
  const bad = await upload('bad', '--create');
  assert.equal(bad.code, 1);
  assert.match(
    bad.stderr,
    /IMPORT_INVALID: Nothing was uploaded: 2 annotations or files in .* are invalid: 1 annotation, class 7 has no name.*a\.txt: line 2.*class 9/,
  );
  const skipped = await upload('bad', '--skip-invalid', '--dry-run', '--ledger', place('ledger.csv'));
  assert.match(await readFile(place('ledger.csv'), 'utf8'), /^"a\.txt","line 3","invalid","class 9 has no name/m);
  assert.equal(skipped.code, 9, skipped.stderr);

  const document = {
    images: Array.from({ length: 8 }, (_, id) => ({ id, file_name: `${id}.jpg` })),
    annotations: Array.from({ length: 8 }, (_, id) => ({ id, image_id: id, category_id: 1, bbox: [2, 2, 9, 9] })),
    categories: [{ id: 1, name: 'cup' }],
  };
  await put({ 'gone/0.jpg': first, 'gone/1.jpg': 'no image', 'gone/set.json': JSON.stringify(document) });
  const gone = await upload('gone', '--create');
  assert.equal(gone.code, 1);
  assert.match(
    gone.stderr,
    /IMPORT_IMAGES_MISSING: Nothing was uploaded: 6 of 7 annotated images are not in .*: 2\.jpg, 3\.jpg/,
  );
  const strict = await upload('gone', '--allow-missing', '--strict', '--create');
  assert.equal(strict.code, 1);
  assert.match(strict.stderr, /IMPORT_LOSS: .*1 file, is text, no image \(1\.jpg\)/);
  assert.equal((await runCli(env, 'dataset', 'show', 'set')).code, 4, 'nothing was stored so far');

  const done = await upload('gone', '--allow-missing', '--create', '--json');
  assert.equal(done.code, 9);
  const { uploaded, ledger } = JSON.parse(done.stdout) as { uploaded: number; ledger: { counts: Json; files: Json[] } };
  assert.deepEqual([uploaded, ledger.counts], [1, { seen: 8, used: 1, changed: 0, leftOut: 7, invalid: 0 }]);
  assert.deepEqual(ledger.files, [
    { path: '0.jpg', use: 'image' },
    { path: '1.jpg', use: 'left out', reason: 'is text, no image' },
    {
      path: 'set.json',
      use: 'annotations',
      annotations: { seen: 8, used: 1, changed: 0, leftOut: 7, invalid: 0 },
    },
  ]);

  // An export goes past a stored file of another type.
  await put({ 'more/heic/b.jpg': second });
  assert.equal((await upload('more')).code, 0);
  const broken = Buffer.from('00000018667479706865696300000000', 'hex');
  const { dataset_id } = JSON.parse(done.stdout) as { dataset_id: string };
  await clientOf(cloud.ready).dataClient.uploadImages(
    [{ bytes: broken, fileName: 'photo.jpg', fileExtension: 'jpg', storeAnyFile: true }],
    {
      partId: '',
      datasetIds: [dataset_id],
    },
  );
  const exported = await runCli(env, 'dataset', 'export', 'set', place('out'), '--format', 'coco');
  assert.equal(exported.code, 0, exported.stderr);
  assert.match(
    exported.stdout,
    /Left out 1 image without a readable size: .*photo\.jpg is a HEIC image: convert it to JPEG\./,
  );
  assert.match(await readFile(place('out/_annotations.coco.json'), 'utf8'), /"name":"cup"/);
});
