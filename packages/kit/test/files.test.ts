import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { atomicWrite, lockFolder, processStartTime, readJson } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';

test('atomicWrite replaces content and mode and leaves nothing beside the file', async () => {
  await using folder = await tempFolder();
  const file = folder.file('a.json');
  await writeFile(file, 'old', { mode: 0o644 });
  await atomicWrite(file, '{"n":1}', { mode: 0o600 });
  assert.deepEqual(await readJson(file), { n: 1 });
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  assert.deepEqual(await readdir(folder.path), ['a.json']);
});

test('atomicWrite that fails leaves the old file whole and nothing beside it', async () => {
  await using folder = await tempFolder();
  const file = folder.file('a.json');
  await writeFile(file, 'old');
  const torn = {
    [Symbol.iterator]: () => {
      throw new Error('torn');
    },
  } as unknown as string;
  await assert.rejects(atomicWrite(file, torn));
  assert.equal(await readFile(file, 'utf8'), 'old');
  assert.deepEqual(await readdir(folder.path), ['a.json']);

  await mkdir(folder.file('folder'));
  await assert.rejects(atomicWrite(folder.file('folder'), 'x')); // the rename itself fails
  assert.deepEqual((await readdir(folder.path)).toSorted(), ['a.json', 'folder']);
});

test('readJson: absent is undefined, damaged names the file', async () => {
  await using folder = await tempFolder();
  assert.equal(await readJson(folder.file('none.json')), undefined);
  await writeFile(folder.file('torn.json'), '{');
  await assert.rejects(readJson(folder.file('torn.json')), /torn\.json is not valid JSON/);
});

test('one process holds a folder; letting go frees it', async () => {
  await using folder = await tempFolder();
  const file = folder.file('lock');
  {
    await using lock = await lockFolder(file);
    assert.equal(lock.takenOver, false);
    await assert.rejects(lockFolder(file), {
      name: 'FolderLocked',
      pid: process.pid,
      message: `${file} is held by process ${process.pid}. Stop that process, or use another folder.`,
    });
  }
  await using again = await lockFolder(file);
  assert.equal(again.takenOver, false);
});

const stale: [name: string, content: string][] = [
  ['its process is gone', JSON.stringify({ pid: 2 ** 22 + 1, startTime: 'x/1' })],
  ['its pid belongs to another process now', JSON.stringify({ pid: process.pid, startTime: 'another-boot/1' })],
  ['a power cut left it empty', ''],
  ['it is damaged', '{"pid":'],
];
for (const [name, content] of stale) {
  test(`a stale lock is taken over: ${name}`, async () => {
    await using folder = await tempFolder();
    await writeFile(folder.file('lock'), content);
    await using lock = await lockFolder(folder.file('lock'));
    assert.equal(lock.takenOver, true);
    assert.deepEqual(await readdir(folder.path), ['lock']);
    const mine = { pid: process.pid, startTime: processStartTime(process.pid) };
    assert.deepEqual(await readJson(folder.file('lock')), mine);
  });
}

test('of several that want a stale lock at once, one gets it', async () => {
  await using folder = await tempFolder();
  await writeFile(folder.file('lock'), JSON.stringify({ pid: 2 ** 22 + 1, startTime: 'x/1' }));
  const tries = await Promise.allSettled([1, 2, 3, 4].map(() => lockFolder(folder.file('lock'))));
  assert.equal(tries.filter((t) => t.status === 'fulfilled').length, 1);
  assert.deepEqual(await readdir(folder.path), ['lock']);
});

test('a lock in a folder that does not exist is an error', async () => {
  await using folder = await tempFolder();
  await assert.rejects(lockFolder(folder.file('none', 'lock')), { code: 'ENOENT' });
});

test('where the disk takes no lock, it is held elsewhere, by one alone', async () => {
  await using folder = await tempFolder();
  await writeFile(folder.file('broken'), 'a file, where a folder has to be');
  const [broken, spare] = [folder.file('broken', 'lock'), folder.file('spare')];
  {
    await using lock = await lockFolder(broken, { spare });
    assert.equal(lock.takenOver, false);
    await assert.rejects(lockFolder(broken, { spare }), { name: 'FolderLocked', pid: process.pid });
    // The disk works again: the one that holds it elsewhere still does.
    await assert.rejects(lockFolder(folder.file('lock'), { spare }), { name: 'FolderLocked', pid: process.pid });
  }
  await using _lock = await lockFolder(folder.file('lock'), { spare });
  await assert.rejects(lockFolder(folder.file('lock'), { spare }), { name: 'FolderLocked' });
  assert.deepEqual((await readdir(folder.path)).toSorted(), ['broken', 'lock']);
  await assert.rejects(lockFolder(broken, { spare: folder.file('none', 'spare') }), { code: 'ENOENT' });
});
