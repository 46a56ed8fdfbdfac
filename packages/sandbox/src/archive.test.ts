import assert from 'node:assert/strict';
import { readdir, readFile, stat, writeFile, mkdir, symlink } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { PlatformError } from '@platform/contract/errors/errors';
import { tempFolder } from '@platform/kit/testing';
import tar from 'tar-stream';
import { checkScriptArchive, packScriptFolder, unpackScriptArchive, type ArchiveLimits } from './archive.ts';

interface Entry {
  name: string;
  content?: string | Buffer;
  type?: 'file' | 'symlink' | 'link' | 'directory' | 'fifo' | 'character-device' | 'block-device';
  linkname?: string;
  mode?: number;
}
async function packed(entries: readonly Entry[]): Promise<Buffer> {
  const pack = tar.pack();
  for (const { name, content = '', type = 'file', linkname, mode } of entries) {
    const header = {
      name,
      type,
      ...(linkname === undefined ? {} : { linkname }),
      ...(mode === undefined ? {} : { mode }),
    };
    if (type === 'file') pack.entry(header, content);
    else pack.entry(header);
  }
  pack.finalize();
  return gzipSync(await buffer(pack));
}
const project: Entry[] = [
  { name: 'setup.py', content: 'setup()' },
  { name: 'model/__init__.py' },
  { name: 'model/training.py', content: 'print(1)' },
];
const below = (folder: string): Entry[] => project.map((entry) => ({ ...entry, name: `${folder}/${entry.name}` }));
/** Splits the bytes into chunks, as a network delivers them. */
function* pieces(bytes: Buffer, size = 1000): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
const isRefusal = (pattern: RegExp) => (error: unknown) => {
  assert.ok(error instanceof PlatformError, String(error));
  assert.equal(error.code, 'SCRIPT_ARCHIVE_INVALID');
  assert.match(error.message, pattern);
  return true;
};

const good: [string, Entry[], { root: string; project: string }][] = [
  ['at the top', project, { root: '', project: 'setup.py' }],
  ['with ./ before each name', [{ name: './', type: 'directory' }, ...below('.')], { root: '', project: 'setup.py' }],
  ['in one top folder', below('my-script'), { root: 'my-script', project: 'setup.py' }],
  [
    'with pyproject.toml and a folder named twice',
    [
      { name: 'a/model', type: 'directory' },
      { name: 'a/model/', type: 'directory' },
      { name: 'a/pyproject.toml', content: '[project]' },
      { name: 'a/model/training.py' },
    ],
    { root: 'a', project: 'pyproject.toml' },
  ],
  [
    'with letters of every script',
    [...project, { name: 'model/größe 模型.txt', content: 'x' }],
    { root: '', project: 'setup.py' },
  ],
  [
    'with a long path',
    [...project, { name: `model/${'d'.repeat(150)}/${'f'.repeat(150)}` }],
    { root: '', project: 'setup.py' },
  ],
];
for (const [name, entries, { root, project: kind }] of good) {
  test(`an archive is taken: ${name}`, async () => {
    await using folder = await tempFolder();
    const bytes = await packed(entries);
    const archive = await checkScriptArchive(pieces(bytes));
    assert.deepEqual([archive.root, archive.project], [root, kind]);
    const target = folder.file('src');
    assert.deepEqual(await unpackScriptArchive(pieces(bytes, 7), target), archive);
    assert.ok((await stat(`${target}/model/training.py`)).isFile());
    assert.deepEqual(await readdir(folder.path), ['src']);
  });
}

const small: ArchiveLimits = { unpackedBytes: 4096, entries: 20, ratio: 200 };
const many = Array.from({ length: 30 }, (_, i): Entry => ({ name: `model/f${i}` }));
const bad: [string, Entry[], RegExp][] = [
  ['an absolute path', [...project, { name: '/etc/cron.d/x' }], /absolute \(entry "\/etc\/cron.d\/x"\)/],
  ['a path of another system', [...project, { name: 'C:\\x' }], /absolute/],
  ['a path that leads out', [...project, { name: 'model/../../x' }], /leads out of the archive/],
  ['a path that leads out and back', [...project, { name: '../setup.py' }], /leads out of the archive/],
  ['a symbolic link', [...project, { name: 'x', type: 'symlink', linkname: '/etc/passwd' }], /a symbolic link/],
  ['a hard link', [...project, { name: 'x', type: 'link', linkname: 'setup.py' }], /a hard link/],
  ['a pipe', [...project, { name: 'x', type: 'fifo' }], /neither a file nor a folder/],
  ['a character device', [...project, { name: 'x', type: 'character-device' }], /neither a file nor a folder/],
  ['a block device', [...project, { name: 'x', type: 'block-device' }], /neither a file nor a folder/],
  ['a file twice', [...project, { name: './setup.py', content: 'other' }], /twice/],
  ['a file where a folder is', [...project, { name: 'model' }], /a file and a folder have the same name/],
  ['a folder where a file is', [...project, { name: 'setup.py/x' }], /a file and a folder have the same name/],
  ['a backslash in a name', [...project, { name: 'model\\x' }], /backslash/],
  ['a line break in a name', [...project, { name: 'a\nb' }], /control character/],
  ['too many entries', [...project, ...many], /more than 20 entries/],
  ['too large', [...project, { name: 'x', content: Buffer.alloc(5000) }], /larger than 0 MiB/],
  [
    'no module',
    [{ name: 'setup.py' }, { name: 'model/__init__.py' }],
    /model\.training is missing: there is no model\/training\.py/,
  ],
  ['no project', [{ name: 'a/model/training.py' }], /no a\/setup\.py and no a\/pyproject\.toml/],
  ['two top folders', [...below('a'), { name: 'b/x' }], /at the top or in one top folder/],
  ['nothing', [], /no file/],
  ['folders only', [{ name: 'model', type: 'directory' }], /no file/],
];
for (const [name, entries, pattern] of bad) {
  test(`an archive is refused and leaves nothing: ${name}`, async () => {
    await using folder = await tempFolder();
    const bytes = await packed(entries);
    await assert.rejects(checkScriptArchive(pieces(bytes), small), isRefusal(pattern));
    await assert.rejects(unpackScriptArchive(pieces(bytes), folder.file('in', 'src'), small), isRefusal(pattern));
    assert.deepEqual(await readdir(folder.file('in')), []);
  });
}

test('bytes that are not an archive and archives that end early are refused with the reason', async () => {
  const whole = await packed([...project, { name: 'x', content: Buffer.alloc(3000, 1) }]);
  await assert.rejects(checkScriptArchive([Buffer.from('PK\u0003\u0004 not a tar')]), isRefusal(/not a \.tar\.gz/));
  await assert.rejects(checkScriptArchive([]), isRefusal(/no file|not a \.tar\.gz/));
  await assert.rejects(checkScriptArchive([whole.subarray(0, whole.length - 30)]), isRefusal(/damaged/));
  await assert.rejects(checkScriptArchive([gzipSync(Buffer.alloc(2048, 7))]), isRefusal(/damaged/));
});

/** A header that announces more than follows: `size` bytes of zeros, compressed by a factor of a thousand. */
function bomb(typeflag: string, size: number, bytes: number): Buffer {
  const header = Buffer.alloc(512);
  header.write('x', 0);
  header.write('0000644\0', 100);
  header.write(`${size.toString(8).padStart(11, '0')}\0`, 124);
  header.write('        ', 148);
  header.write(typeflag, 156);
  header.write('ustar\u000000', 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return gzipSync(Buffer.concat([header, Buffer.alloc(bytes)]));
}
for (const [name, bytes] of [
  ['one large file', bomb('0', 8 * 2 ** 30, 1000)],
  ['a name of 200 MiB', bomb('L', 200 * 2 ** 20, 200 * 2 ** 20)],
  ['200 MiB of padding', gzipSync(Buffer.alloc(200 * 2 ** 20))],
] as const) {
  test(`a bomb ends the reading at the limit: ${name}`, async () => {
    await using folder = await tempFolder();
    const before = process.memoryUsage().rss;
    await assert.rejects(
      unpackScriptArchive(pieces(bytes), folder.file('in', 'src')),
      isRefusal(/larger than 100 MiB|Header exceeds max size|no file|compression bomb/),
    );
    assert.deepEqual(await readdir(folder.file('in')), []);
    assert.ok(process.memoryUsage().rss - before < 500 * 2 ** 20);
  });
}

test('files keep only the right to be run; what the source throws passes', async () => {
  await using folder = await tempFolder();
  const entries = [...project, { name: 'run.sh', content: '#!/bin/sh', mode: 0o6777 }];
  await unpackScriptArchive(pieces(await packed(entries)), folder.file('src'));
  const modes = await Promise.all(
    ['run.sh', 'setup.py'].map(async (name) => (await stat(folder.file('src', name))).mode & 0o7777),
  );
  assert.deepEqual(modes, [0o755, 0o644]);
  async function* broken(): AsyncGenerator<Uint8Array> {
    yield (await packed(project)).subarray(0, 20);
    throw new Error('the line is dead');
  }
  await assert.rejects(checkScriptArchive(broken()), /the line is dead/);
});

test('a folder is packed to bytes that depend on its content alone, and unpacks to the same', async () => {
  await using folder = await tempFolder();
  const script = folder.file('script');
  await mkdir(`${script}/model/__pycache__`, { recursive: true });
  await mkdir(`${script}/.git`);
  for (const { name, content = '' } of project) await writeFile(`${script}/${name}`, content);
  await writeFile(`${script}/model/__pycache__/x.pyc`, 'x');
  const bytes = await packScriptFolder(script);
  assert.deepEqual(await packScriptFolder(script), bytes);
  await unpackScriptArchive([bytes], folder.file('src'));
  assert.equal(await readFile(folder.file('src', 'model/training.py'), 'utf8'), 'print(1)');
  assert.deepEqual((await readdir(folder.file('src'), { recursive: true })).toSorted(), [
    'model',
    'model/__init__.py',
    'model/training.py',
    'setup.py',
  ]);
  await symlink('/etc/passwd', `${script}/link`);
  await assert.rejects(packScriptFolder(script), isRefusal(/a symbolic link/));
});
