// One contract test for every file system: the simulated folder behaves like the real one.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom, tempFolder } from '@platform/kit/testing';
import { chunksOf, fileDisk, makeFolder, readFile, replaceFile } from '../src/os/file-disk.ts';
import { posixFileSystem } from '../src/os/posix/file-system.ts';
import type { FileSystem } from '../src/os/ports.ts';
import { simFileSystem, type Fate, type Step } from '../src/os/sim/file-system.ts';
import { SimFiles } from '../src/os/sim/files.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const text = async (files: FileSystem, path: string) => {
  const found = await readFile(files, path);
  return found && new TextDecoder().decode(found);
};
const put = async (files: FileSystem, path: string, content: string, append = false) => {
  const file = await files.openWrite(path, { mode: 0o644, append });
  await file.write(bytes(content));
  await file.close();
};

async function linux(): Promise<{ files: FileSystem } & AsyncDisposable> {
  const folder = await tempFolder();
  return { files: posixFileSystem(folder.path), [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
}
async function sim(): Promise<{ files: FileSystem } & AsyncDisposable> {
  return { files: simFileSystem(new SimFiles()), [Symbol.asyncDispose]: async () => {} };
}

for (const [kind, make] of [
  ['linux', linux],
  ['sim', sim],
] as const) {
  const on = (name: string, f: (files: FileSystem) => Promise<void>): void => {
    void test(`${kind}: ${name}`, async () => {
      await using world = await make();
      await f(world.files);
    });
  };

  on('what is not there', async (files) => {
    assert.deepEqual(
      [await files.stat('a'), await files.readlink('a'), await files.readdir('a'), await readFile(files, 'a')],
      [undefined, undefined, [], undefined],
    );
    await files.unlink('a');
    await files.rmdir('a');
    await assert.rejects(files.openRead('a'), { code: 'ENOENT' });
    await assert.rejects(files.rename('a', 'b'), { code: 'ENOENT' });
    await assert.rejects(files.openWrite('a/b', { mode: 0o644 }), { code: 'ENOENT' });
    await assert.rejects(files.mkdir('a/b'), { code: 'ENOENT' });
    await assert.rejects(files.symlink('x', 'a/b'), { code: 'ENOENT' });
    await assert.rejects(files.syncFolder('a'), { code: 'ENOENT' });
    assert.ok((await files.freeBytes()) > 0);
  });

  on('folders: made once and again, listed, removed when empty', async (files) => {
    await files.mkdir('a');
    await files.mkdir('a');
    await put(files, 'a/two', '2');
    await put(files, 'a/one', '1');
    await files.mkdir('a/three');
    assert.deepEqual(await files.readdir('a'), ['one', 'three', 'two']);
    assert.deepEqual([(await files.stat('a'))?.kind, (await files.stat('a/one'))?.kind], ['folder', 'file']);
    await assert.rejects(files.rmdir('a'), { code: 'ENOTEMPTY' });
    await files.unlink('a/one');
    await files.unlink('a/two');
    await files.rmdir('a/three');
    await files.rmdir('a');
    assert.equal(await files.stat('a'), undefined);
  });

  on('a file: written, emptied, appended to, read in parts', async (files) => {
    await put(files, 'f', 'hello');
    const first = (await files.stat('f'))!;
    await put(files, 'f', 'hi');
    assert.equal(await text(files, 'f'), 'hi');
    assert.notEqual((await files.stat('f'))!.mark, first.mark);
    await put(files, 'f', ' there', true);
    const file = await files.openRead('f');
    const parts = await Promise.all([file.read(0, 2), file.read(3, 99), file.read(99, 1)]);
    assert.deepEqual([file.sizeBytes, ...parts.map((part) => new TextDecoder().decode(part))], [8, 'hi', 'there', '']);
    await file.close();
    const writing = await files.openWrite('g', { mode: 0o755, append: true });
    await writing.write(bytes('new'));
    await writing.sync();
    await writing.close();
    await files.syncFolder('.');
    assert.equal(await text(files, 'g'), 'new');
  });

  on('a rename replaces a file and a link; a link is read, followed, never overwritten', async (files) => {
    await files.mkdir('bin');
    await files.mkdir('versions');
    await put(files, 'versions/a', 'A');
    await put(files, 'versions/b', 'B');
    await files.symlink('../versions/a', 'bin/p');
    await assert.rejects(files.symlink('../versions/b', 'bin/p'), { code: 'EEXIST' });
    assert.deepEqual(
      [await files.readlink('bin/p'), await text(files, 'bin/p'), (await files.stat('bin/p'))?.kind],
      ['../versions/a', 'A', 'link'],
    );
    await files.symlink('../versions/b', 'bin/p.tmp');
    await files.rename('bin/p.tmp', 'bin/p');
    assert.deepEqual([await text(files, 'bin/p'), await files.readdir('bin')], ['B', ['p']]);
    await files.rename('versions/a', 'versions/b');
    assert.deepEqual([await text(files, 'bin/p'), await files.readlink('versions/b')], ['A', undefined]);
    await files.unlink('bin/p');
    assert.equal(await text(files, 'versions/b'), 'A');
  });

  on('small files in one step, folders made on the way', async (files) => {
    await makeFolder(files, 'x/y');
    await replaceFile(files, 'x/y/f', bytes('1'));
    await replaceFile(files, 'x/y/f', bytes('2'));
    assert.deepEqual([await text(files, 'x/y/f'), await files.readdir('x/y')], ['2', ['f']]);
    const disk = fileDisk(files);
    await Promise.all(['3', '4', '5'].map((n) => disk.write('x/y/g', bytes(n))));
    assert.equal(await text(files, 'x/y/g'), '5');
    const parts: Uint8Array[] = [];
    for await (const part of chunksOf(files, 'x/y/g')) parts.push(part);
    assert.equal(parts.length, 1);
  });
}

/** Cuts a sequence of steps in every possible way and collects the states that may remain. */
async function afterCuts(
  before: (files: SimFiles) => void,
  work: (files: FileSystem) => Promise<void>,
  look: (files: SimFiles, at: string) => void,
): Promise<number> {
  let worlds = 0;
  for (let cut = 0; ; cut++) {
    for (const seed of [-2, -1, 0, 1, 2, 3, 4, 5, 6, 7]) {
      const files = new SimFiles();
      before(files);
      let steps = 0;
      const cutting: { isOver: boolean; at: Step | undefined } = { isOver: false, at: undefined };
      const fate = (step: Step): Fate => {
        if (steps++ !== cut) return 'ok';
        cutting.isOver = true;
        cutting.at = step;
        return seed % 2 ? 'lostHalf' : 'lostBefore';
      };
      const done = work(simFileSystem(files, fate));
      for (let turn = 0; turn < 50; turn++) await Promise.resolve();
      if (!cutting.isOver) {
        await done;
        return worlds;
      }
      files.cutPower(
        seed === -2 ? { of: 'nothing' } : seed === -1 ? { of: 'names' } : { of: 'some', random: seededRandom(seed) },
      );
      look(files, `${cut} ${JSON.stringify(cutting.at)}`);
      worlds++;
    }
  }
}

test('a small file is the old or the new one, wherever the power fails', async () => {
  const worlds = await afterCuts(
    (files) => files.put('state/f', bytes('old')),
    (files) => replaceFile(files, 'state/f', bytes('new and longer')),
    (files, at) => {
      const found = new TextDecoder().decode(files.get('state/f')?.bytes);
      assert.ok(found === 'old' || found === 'new and longer', `${at}: ${found}`);
    },
  );
  assert.ok(worlds >= 50, String(worlds));
});

test('the simulation finds what a missing sync would break', async () => {
  const without = (kind: 'sync' | 'syncFolder') =>
    assert.rejects(
      afterCuts(
        (files) => files.put('f', bytes('old')),
        async (files) => {
          const lame: FileSystem = {
            ...files,
            syncFolder: (path) => (kind === 'syncFolder' ? Promise.resolve() : files.syncFolder(path)),
            openWrite: async (path, how) => {
              const file = await files.openWrite(path, how);
              return kind === 'sync' ? { ...file, sync: async () => {} } : file;
            },
          };
          await replaceFile(lame, 'f', bytes('new'));
          await files.mkdir('done'); // a state that contains 'done' must contain the new file
          await files.syncFolder('.');
        },
        (files, at) => {
          const found = new TextDecoder().decode(files.get('f')?.bytes);
          assert.ok(found === 'new' || (found === 'old' && !files.node('done')), `${at}: ${found}`);
        },
      ),
      { name: 'AssertionError' },
    );
  await without('sync');
  await without('syncFolder');
});

test('nothing survives but what was synced; a lost folder takes its files along', async () => {
  const files = new SimFiles();
  const port = simFileSystem(files);
  await port.mkdir('a');
  const file = await port.openWrite('a/f', { mode: 0o644 });
  await file.write(bytes('x'));
  await file.sync();
  await port.syncFolder('a');
  files.cutPower({ of: 'nothing' });
  assert.deepEqual([...files.tree().keys()], ['.']);
});

test('a full disk, an error, half a write', async () => {
  const files = new SimFiles();
  const fates: Fate[] = ['ok', { fail: 'ENOSPC' }, 'ok', { tear: 'EIO' }];
  const port = simFileSystem(files, () => fates.shift() ?? 'ok');
  const file = await port.openWrite('f', { mode: 0o644 });
  await assert.rejects(file.write(bytes('1234')), { code: 'ENOSPC' });
  await file.write(bytes('ab'));
  await assert.rejects(file.write(bytes('1234')), { code: 'EIO' });
  assert.equal(await text(port, 'f'), 'ab12');
  files.capacityBytes = 6;
  assert.equal(await port.freeBytes(), 2);
  await assert.rejects(fileDisk(port).write('g', bytes('123')), { code: 'DISK_FULL' });
});
