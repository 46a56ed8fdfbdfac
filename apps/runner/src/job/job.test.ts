import assert from 'node:assert/strict';
import { chmod, link, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { jobFiles, type DatasetLine } from '@platform/contract/job/job';
import { tempFolder } from '@platform/kit/testing';
import { makePrivate, imageCache } from './cache.ts';
import { createJobFolder, placeImage, leftJobFolders, removeJobFolders } from './folder.ts';
import { readOutputs } from './outputs.ts';

const a = 'a'.repeat(64);
const b = 'b'.repeat(64);

test('the cache requests the same image once, also at the same time, and again when the file is damaged', async () => {
  await using folder = await tempFolder();
  let asked = 0;
  const fetch = async (file: string): Promise<void> => {
    asked++;
    await writeFile(file, 'four');
  };
  const cache = imageCache(folder.path, 1000, () => 0);
  const [one, two] = await Promise.all([cache.get(a, 4, fetch), cache.get(a, 4, fetch)]);
  assert.deepEqual([one === two, asked], [true, 1]);
  await cache.get(a, 4, fetch);
  assert.equal(asked, 1);
  await writeFile(one, 'fo');
  assert.equal(await readFile(await cache.get(a, 4, fetch), 'utf8'), 'four');
  assert.equal(asked, 2);
});

const modeOf = async (file: string): Promise<number> => (await stat(file)).mode & 0o7777;

test('the cache is for its owner alone', async () => {
  await using folder = await tempFolder();
  const root = folder.file('cache');
  await mkdir(root);
  await chmod(root, 0o755);
  await makePrivate(root);
  const cache = imageCache(root, 1000, () => 0);
  const file = await cache.get(b, 4, (partial) => writeFile(partial, 'four', { mode: 0o644 }));
  assert.deepEqual(await Promise.all(['', 'bb'].map((name) => modeOf(`${root}/${name}`))), [0o700, 0o700]);
  assert.equal(await modeOf(file), 0o600);
  await makePrivate(folder.file('new'));
  assert.equal(await modeOf(folder.file('new')), 0o700);
});

test('another user gets copies of its images, in a folder that others cannot enter', async () => {
  await using root = await tempFolder();
  const folder = await createJobFolder(root.path, 'job', 1);
  await writeFile(root.file('cached'), 'pixels', { mode: 0o600 });
  const line = { sha256: b, file_name: 'x.png' } as DatasetLine;
  for (const _ of ['once', 'twice']) await placeImage(folder, line, root.file('cached'), 'other');
  assert.equal(await readFile(`${folder.path}/data/${b}.png`, 'utf8'), 'pixels');
  assert.deepEqual(
    [await modeOf(`${folder.path}/data/${b}.png`), await modeOf(root.file('cached')), await modeOf(root.file('jobs'))],
    [0o644, 0o600, 0o700],
  );
});

async function broken(file: string): Promise<void> {
  await writeFile(file, 'ha');
  throw new Error('broke off');
}

test('a failed download leaves nothing, the next one may succeed', async () => {
  await using folder = await tempFolder();
  const cache = imageCache(folder.path, 1000, () => 0);
  await assert.rejects(
    cache.get(a, 4, (file) => broken(file)),
    /broke off/,
  );
  assert.deepEqual((await readdir(folder.path, { recursive: true })).toSorted(), ['aa']);
  await cache.get(a, 4, (file) => writeFile(file, 'four'));
});

test('the cache is trimmed to its limit, what was used last stays', async () => {
  await using folder = await tempFolder();
  let now = 1_000_000;
  const cache = imageCache(folder.path, 10, () => now);
  const get = (name: string): Promise<string> => cache.get(name.repeat(64), 4, (file) => writeFile(file, 'four'));
  for (const name of ['a', 'b', 'c']) {
    await get(name);
    now += 60_000;
    await get(name); // a second use sets the time stamp from our clock
  }
  await get('a');
  assert.equal(await cache.trim(), 4);
  const left = (await readdir(folder.path, { recursive: true })).filter((name) => name.length > 10);
  assert.deepEqual(left.map((name) => name.slice(0, 2)).toSorted(), ['aa', 'cc']);
  assert.equal(await cache.trim(), 0);
});

test('a job folder begins empty; those of before are removed', async () => {
  await using root = await tempFolder();
  const first = await createJobFolder(root.path, 'job', 1);
  await writeFile(first.file('events'), 'old');
  const again = await createJobFolder(root.path, 'job', 1);
  assert.deepEqual((await readdir(again.path)).toSorted(), [jobFiles.images, jobFiles.out].toSorted());
  await createJobFolder(root.path, '../../escape', 2);
  const left = await leftJobFolders(root.path);
  assert.equal(left.length, 2);
  await removeJobFolders(left);
  assert.deepEqual(await leftJobFolders(root.path), []);
});

test('an image is placed under its content, twice is once', async () => {
  await using root = await tempFolder();
  const folder = await createJobFolder(root.path, 'job', 1);
  await writeFile(root.file('cached'), 'pixels');
  const line = { sha256: b, file_name: 'x.PNG' } as DatasetLine;
  await placeImage(folder, line, root.file('cached'));
  await placeImage(folder, line, root.file('cached'));
  assert.equal(await readFile(`${folder.path}/data/${b}.png`, 'utf8'), 'pixels');
});

test('outputs: regular files with their hashes; no tmp, no links; limits hold', async () => {
  await using out = await tempFolder();
  await assert.rejects(readOutputs(out.path, 1000), { code: 'TRAINER_FAILED' });
  await mkdir(out.file('tmp'));
  await mkdir(out.file('sub'));
  await writeFile(out.file('tmp', 'scratch'), 'x');
  await assert.rejects(readOutputs(out.path, 1000), { code: 'TRAINER_FAILED' });
  await writeFile(out.file('sub', 'b.txt'), 'b');
  await writeFile(out.file('a.txt'), '');
  await symlink('/etc/hostname', out.file('link'));
  await link(out.file('a.txt'), out.file('z.txt'));
  const { files, evaluation } = await readOutputs(out.path, 1000);
  assert.deepEqual(
    files.map(({ path, sizeBytes }) => [path, sizeBytes]),
    [
      ['a.txt', 0],
      ['sub/b.txt', 1],
      ['z.txt', 0],
    ],
  );
  assert.equal(files[0]?.sha256, 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
  assert.equal(evaluation, undefined);
  await writeFile(out.file('evaluation.json'), '{"accuracy":1}');
  assert.deepEqual((await readOutputs(out.path, 1000)).evaluation, { accuracy: 1 });
  await writeFile(out.file('evaluation.json'), '[1]');
  assert.equal((await readOutputs(out.path, 1000)).evaluation, undefined);
  await assert.rejects(readOutputs(out.path, 2), /larger than the limit of 2 bytes/);
});
