import assert from 'node:assert/strict';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { tempFolder } from '@platform/kit/testing';
import { folderSource, withFile } from './folder-source.ts';

test('files in order; a link is not followed, a hidden folder is one entry', async () => {
  await using folder = await tempFolder();
  const place = (name: string): string => path.join(folder.path, 'set', name);
  await mkdir(place('.git/objects'), { recursive: true });
  await mkdir(place('b'));
  await writeFile(place('.git/objects/x'), 'hidden');
  await writeFile(place('b/2.txt'), 'second');
  await writeFile(place('a.txt'), 'first');
  await writeFile(path.join(folder.path, 'outside.txt'), 'outside');
  await symlink(path.join(folder.path, 'outside.txt'), place('c.txt'));
  const source = await folderSource(path.join(folder.path, 'set'));
  assert.deepEqual(source.files, [
    { path: '.git/', sizeBytes: 0 },
    { path: 'a.txt', sizeBytes: 5 },
    { path: 'b/2.txt', sizeBytes: 6 },
    { path: 'c.txt', sizeBytes: 0, isLink: true },
  ]);
  const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString();
  assert.equal(text(await source.readStart('b/2.txt', 3)), 'sec');
  assert.equal(text(await source.readStart('b/2.txt', 100)), 'second');
  for (const file of ['c.txt', '../outside.txt', '.git/objects/x'])
    await assert.rejects(source.read(file), /not below the folder/, file);

  const { source: more, name } = await withFile(
    source,
    path.join(folder.path, 'set'),
    path.join(folder.path, 'outside.txt'),
  );
  assert.equal(text(await more.read(name)), 'outside');
  assert.equal(text(await more.read('a.txt')), 'first');
  const inside = await withFile(source, path.join(folder.path, 'set'), place('b/2.txt'));
  assert.deepEqual([inside.name, inside.source.files], ['b/2.txt', source.files]);
});
