import assert from 'node:assert/strict';
import { chmod, mkdir, readdir, readFile, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { tempFolder } from '@platform/kit/testing';
import { removeAll } from '../src/install/remove.ts';
import { managedFilesOnDisk } from '../src/os/managed-files-on-disk.ts';

const exists = (file: string): Promise<boolean> =>
  stat(file).then(
    () => true,
    () => false,
  );

async function machine() {
  const folder = await tempFolder();
  const root = folder.file('opt');
  const file = folder.file('etc', 'conf.d', '80-platform.conf');
  await mkdir(path.join(root, 'state'), { recursive: true });
  return { root, file, managed: managedFilesOnDisk(root), [Symbol.asyncDispose]: folder[Symbol.asyncDispose] };
}

test('a managed file gets its content once, and restoring removes it', async () => {
  await using at = await machine();
  const { root, file, managed } = at;
  assert.equal(await managed.write(file, 'a'), true);
  assert.equal(await managed.write(file, 'a'), false);
  assert.equal(await managed.write(file, 'b'), true);
  assert.equal(await readFile(file, 'utf8'), 'b');
  assert.deepEqual(await managedFilesOnDisk(root).written(), [file]); // the next run of the agent
  assert.equal(await managedFilesOnDisk(root).restore(file), 'restored');
  assert.equal(await exists(file), false);
  assert.equal(await managed.restore(file), 'not-managed');
  assert.deepEqual(await managed.written(), []);
});

test('a file and a link that stood there before come back with content and mode', async () => {
  await using at = await machine();
  const { file, managed } = at;
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, 'theirs');
  await chmod(file, 0o640);
  const link = `${file}.link`;
  await symlink('elsewhere', link);
  for (const one of [file, link]) await managed.write(one, 'ours');
  await managed.write(file, 'ours again');
  for (const one of [file, link]) assert.equal(await managed.restore(one), 'restored');
  assert.equal(await readFile(file, 'utf8'), 'theirs');
  assert.equal((await stat(file)).mode & 0o777, 0o640);
  assert.equal(await readlink(link), 'elsewhere');
});

test('what a user wrote into a managed file before and since is never lost', async () => {
  await using at = await machine();
  const { file, managed } = at;
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, 'before');
  await managed.write(file, 'ours');
  await writeFile(file, 'edited');
  assert.equal(await managed.write(file, 'ours again'), true);
  assert.equal(await readFile(`${file}.save`, 'utf8'), 'edited');
  await writeFile(file, 'edited again');
  assert.equal(await managed.restore(file), 'foreign');
  assert.equal(await readFile(file, 'utf8'), 'edited again');
  assert.equal(await readFile(`${file}.save`, 'utf8'), 'edited');
  assert.equal(await readFile(`${file}.1.save`, 'utf8'), 'before');
});

test('copies: the same text is kept once, and the number of copies has a limit', async () => {
  await using at = await machine();
  const { file, managed } = at;
  await managed.write(file, 'ours');
  for (let n = 0; n < 30; n++) {
    await writeFile(file, n < 3 ? 'edited' : `edited ${n}`);
    await managed.write(file, 'ours');
  }
  const copies = (await readdir(path.dirname(file))).filter((name) => name.endsWith('.save'));
  assert.equal(copies.length, 20);
  assert.equal(await readFile(`${file}.save`, 'utf8'), 'edited');
  assert.equal(await readFile(`${file}.19.save`, 'utf8'), 'edited 29', 'the newest is among them');
});

test('a managed file that a user removed or replaced by a link stays so, and what stood there before is kept', async () => {
  for (const replace of [() => Promise.resolve(), (file: string) => symlink('elsewhere', file)]) {
    await using at = await machine();
    const { file, managed } = at;
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, 'before');
    await managed.write(file, 'ours');
    await rm(file);
    await replace(file);
    assert.equal(await managed.restore(file), 'foreign');
    assert.equal(await exists(file), false);
    assert.equal(await readFile(`${file}.save`, 'utf8'), 'before');
  }
});

test('a file whose first write failed is still that of its user, also when the user changes it meanwhile', async () => {
  await using at = await machine();
  const { root, file, managed } = at;
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, 'before');
  const state = { kind: 'file', content: Buffer.from('before').toString('base64'), mode: 0o644 };
  const entry = { path: file, before: state, written: 'the hash of a text that was never written', earlier: '' };
  const fail = () =>
    writeFile(path.join(root, 'state/managed-files.json'), JSON.stringify({ format: 1, files: [entry] }));
  await fail();
  assert.equal(await managed.restore(file), 'restored');
  await fail();
  await writeFile(file, 'changed');
  assert.equal(await managed.restore(file), 'not-managed');
  assert.equal(await readFile(file, 'utf8'), 'changed');
  await fail();
  await managed.write(file, 'ours');
  assert.equal(await managed.restore(file), 'restored');
  assert.equal(await readFile(file, 'utf8'), 'changed');
});

test('a damaged or lost record is replaced by its copy; with both damaged, it is put aside', async () => {
  for (const damage of [
    (file: string) => writeFile(file, '{"files":'),
    (file: string) => writeFile(file, 'null'),
    (file: string) => rm(file),
  ]) {
    await using at = await machine();
    const { root, file, managed } = at;
    const record = path.join(root, 'state/managed-files.json');
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, 'before');
    await managed.write(file, 'ours');
    await damage(record);
    await managed.write(file, 'ours again');
    await damage(record);
    assert.equal(await managed.restore(file), 'restored');
    assert.equal(await readFile(file, 'utf8'), 'before');
  }
  await using at = await machine();
  const { root, file, managed } = at;
  const record = path.join(root, 'state/managed-files.json');
  await managed.write(file, 'ours');
  for (const one of [record, `${record}.copy`]) await writeFile(one, '{"files":');
  assert.deepEqual(await managed.written(), []);
  assert.equal(await readFile(`${record}.damaged`, 'utf8'), '{"files":');
});

test('a file that was changed since stays', async () => {
  await using at = await machine();
  const { file, managed } = at;
  await managed.write(file, 'ours');
  await writeFile(file, 'theirs');
  assert.equal(await managed.restore(file), 'foreign');
  assert.equal(await readFile(file, 'utf8'), 'theirs');
});

test('writes at the same time leave every file in the record', async () => {
  await using at = await machine();
  const { file, managed } = at;
  const files = [1, 2, 3, 4].map((n) => `${file}.${n}`);
  await Promise.all(files.map((one) => managed.write(one, one)));
  assert.deepEqual(await managed.written(), files);
});

test('uninstalling restores what the agent wrote while it ran', async () => {
  await using at = await machine();
  const { root, file, managed } = at;
  const foreign = `${file}.foreign`;
  for (const one of [file, foreign]) await managed.write(one, 'ours');
  await writeFile(foreign, 'theirs');
  const system = { run: async () => ({ code: 0, text: '' }) };
  const removal = { root, credentialsFile: undefined, usesSystemd: false, sayGoodbye: async () => false };
  const { done, left } = await removeAll(removal, system);
  assert.equal(await exists(file), false);
  assert.ok(done.includes(`restored ${file}`));
  assert.deepEqual(left, [`${foreign} stays: it was changed after platform-agent wrote it`]);
  assert.equal(await readFile(foreign, 'utf8'), 'theirs');
});

test('folders that were made for a managed file go with it, unless others use them', async () => {
  await using at = await machine();
  const { root, file, managed } = at;
  const etc = path.dirname(path.dirname(file));
  await mkdir(path.join(etc, 'own'), { recursive: true });
  await managed.write(file, 'a');
  await managed.write(file, 'b');
  await managedFilesOnDisk(root).restore(file);
  assert.deepEqual(await readdir(etc), ['own']);

  await managed.write(file, 'a');
  await writeFile(path.join(path.dirname(file), 'theirs.conf'), '');
  await managed.restore(file);
  assert.deepEqual(await readdir(path.dirname(file)), ['theirs.conf']);

  await rm(path.join(path.dirname(file), 'theirs.conf'));
  await managed.write(file, 'a');
  await managed.restore(file);
  assert.deepEqual(await readdir(path.dirname(file)), [], 'an empty folder that was there before');
});
