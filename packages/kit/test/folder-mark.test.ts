import assert from 'node:assert/strict';
import { cp, mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { type FilePlace, isCopiedMark, isCopy, markFolder } from '../src/node/folder-mark.ts';
import { tempFolder } from '../src/testing/index.ts';

const place: FilePlace = { device: '64768', inode: '131', born: '1700000000000000001', bootId: 'a' };

for (const [name, now, expected] of [
  ['a killed program', place, false],
  ['a power cut', { ...place, bootId: 'b' }, false],
  ['a power cut, after which the disk has another number', { ...place, bootId: 'b', device: '64770' }, false],
  ['a disk or its image in another host', { ...place, bootId: 'c', device: '259' }, false],
  ['a snapshot of the file system, or the subvolume, mounted beside it', { ...place, device: '53' }, false],
  ['a copy on the same disk', { ...place, inode: '950', born: '1700000000000000900' }, true],
  ['a copy on another host', { device: '2049', inode: '77', born: '1700000000000000900', bootId: 'c' }, true],
  ['a copy that got the same inode on a fresh disk', { ...place, device: '2049', born: '1700000000000000900' }, true],
] as const)
  test(`folder mark: ${name}`, () => assert.equal(isCopy(place, now), expected));

const unborn: FilePlace = { ...place, born: null };
for (const [name, now, expected] of [
  ['a killed program', unborn, false],
  ['a power cut, after which the disk has another number', { ...unborn, bootId: 'b', device: '53' }, false],
  ['another disk in the same boot, with the same inode', { ...unborn, device: '53' }, true],
  ['a copy', { ...unborn, inode: '132' }, true],
  ['an unknown boot', { ...unborn, bootId: null, device: '53' }, false],
] as const)
  test(`folder mark without a time of creation: ${name}`, () => assert.equal(isCopy(unborn, now), expected));

test('a mark has the time of its creation, however fast it is written', async () => {
  await using folder = await tempFolder();
  for (let round = 0; round < 20; round++) {
    const mark = folder.file(`running-${round}.json`);
    await markFolder(mark);
    const { born } = JSON.parse(await readFile(mark, 'utf8')) as FilePlace;
    assert.equal(born, String((await stat(mark, { bigint: true })).birthtimeNs));
  }
});

test('a mark knows its folder by any path, and its copy', async () => {
  await using folder = await tempFolder();
  const mark = folder.file('a', 'running.json');
  await mkdir(folder.file('a'));
  assert.equal(await isCopiedMark(mark), false);
  await markFolder(mark);
  assert.equal(await isCopiedMark(mark), false);
  await cp(folder.file('a'), folder.file('b'), { recursive: true, preserveTimestamps: true });
  assert.equal(await isCopiedMark(folder.file('b', 'running.json')), true);
  await rename(folder.file('a'), folder.file('c'));
  assert.equal(await isCopiedMark(folder.file('c', 'running.json')), false);
  const { bootId, ...rest } = JSON.parse(await readFile(folder.file('c', 'running.json'), 'utf8')) as FilePlace;
  assert.ok(bootId);
  for (const other of [{ bootId: 'of an earlier boot', device: '1' }, { device: '1' }]) {
    await writeFile(folder.file('c', 'running.json'), JSON.stringify({ ...rest, bootId, ...other }));
    assert.equal(await isCopiedMark(folder.file('c', 'running.json')), false, JSON.stringify(other));
  }
});
