import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, stat } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { createGzip, gzipSync } from 'node:zlib';
import type { ArchiveLimits } from '@platform/contract/job/archive-rules';
import { tempFolder } from '@platform/kit/testing';
import tar from 'tar-stream';
import type { Header } from 'tar-stream';
import { checkModelArchive, unpackModelArchive } from './model-archive.ts';

type Entry = Partial<Header> & { name: string; content?: string | Buffer };

/** Writes the entries unchanged, including ones that no regular program writes. */
async function packed(entries: readonly Entry[]): Promise<Buffer> {
  const pack = tar.pack();
  for (const { content, ...entry } of entries) {
    if (content === undefined) pack.entry(entry);
    else pack.entry(entry, content);
  }
  pack.finalize();
  return gzipSync(await buffer(pack));
}
const file = (name: string, content: string | Buffer = 'x'): Entry => ({ name, content });
const odd = (type: Header['type'], linkname?: string): Entry[] => [
  file('m.onnx'),
  { name: 'odd', type: type ?? null, ...(linkname === undefined ? {} : { linkname }) },
];
/** One header of 512 bytes that announces `size` bytes, whatever follows. */
function header(name: string, size: number, typeflag = '0'): Buffer {
  const bytes = Buffer.alloc(512);
  bytes.write(name, 0);
  bytes.write('0000644\0', 100);
  bytes.write(`${size.toString(8).padStart(11, '0')}\0`, 124);
  bytes.write('        ', 148);
  bytes.write(typeflag, 156);
  bytes.write('ustar\u000000', 257);
  const sum = bytes.reduce((total, byte) => total + byte, 0);
  bytes.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return bytes;
}
const mib = 2 ** 20;
const limits: ArchiveLimits = { unpackedBytes: 8 * mib, entries: 20, ratio: 200 };
const roomy: ArchiveLimits = { ...limits, unpackedBytes: 512 * mib };
/** Zeros compressed by a factor of a thousand, generated in bounded memory. */
async function zeros(bytes: number): Promise<Buffer> {
  const gzip = createGzip();
  const made = buffer(gzip);
  gzip.write(header('weights', bytes));
  const piece = Buffer.alloc(mib);
  for (let left = bytes; left > 0; left -= mib) gzip.write(piece);
  gzip.end(Buffer.alloc(1024));
  return made;
}

type Row = [name: string, archive: () => Promise<Buffer>, problem: RegExp, limits?: ArchiveLimits];
const hostile: Row[] = [
  ['an absolute path', () => packed([file('/etc/cron.d/x')]), /path is absolute \(entry "\/etc\/cron\.d\/x"\)/],
  ['a path of a drive', () => packed([file('C:x')]), /path is absolute/],
  ['a path that leads out', () => packed([file('a/../../x')]), /leads out of the archive/],
  ['a folder that leads out', () => packed([{ name: '../x', type: 'directory' }]), /leads out of the archive/],
  ['a backslash', () => packed([file('a\\..\\x')]), /backslash/],
  ['a line break', () => packed([file('a\nb')]), /control character/],
  ['a name of 300 bytes', () => packed([file('x'.repeat(300))]), /a name in it than 255/],
  [
    'a path of 2000 bytes',
    () => packed([file(Array.from({ length: 20 }, () => 'x'.repeat(99)).join('/'))]),
    /1024 bytes/,
  ],
  [
    'a symbolic link',
    () => packed(odd('symlink', '/etc/passwd')),
    /a symbolic link, which is not allowed \(entry "odd"\)/,
  ],
  ['a hard link', () => packed(odd('link', 'm.onnx')), /a hard link/],
  ['a character device', () => packed(odd('character-device')), /neither a file nor a folder/],
  ['a block device', () => packed(odd('block-device')), /neither a file nor a folder/],
  ['a pipe', () => packed(odd('fifo')), /neither a file nor a folder/],
  ['an unknown type', async () => gzipSync(Buffer.concat([header('a', 0, 'Z'), Buffer.alloc(1024)])), /neither/],
  ['a name twice', () => packed([file('a'), file('b'), file('a')]), /it is there twice \(entry "a"\)/],
  ['a name twice, written otherwise', () => packed([file('a/b'), file('./a//b')]), /it is there twice/],
  ['a file in a file', () => packed([file('a'), file('a/b')]), /same name/],
  ['a file where a folder is', () => packed([file('a/b'), file('a')]), /same name/],
  ['a folder where a file is', () => packed([file('a'), { name: 'a', type: 'directory' }]), /same name/],
  [
    'a link, then a file through it',
    () => packed([{ name: 'a', type: 'symlink', linkname: '/tmp' }, file('a/x')]),
    /link/,
  ],
  ['21 entries', () => packed(Array.from({ length: 21 }, (_, i) => file(`${i}`))), /more than 20 entries/],
  [
    '21 folders',
    () => packed(Array.from({ length: 21 }, (_, i) => ({ name: `${i}`, type: 'directory' }))),
    /20 entries/,
  ],
  [
    'files too large together',
    () => packed([file('a', Buffer.alloc(5 * mib)), file('b', Buffer.alloc(5 * mib))]),
    /8 MiB/,
  ],
  ['a size that is announced', async () => gzipSync(header('a', 2 ** 33 - 1)), /larger than 8 MiB/],
  [
    'a name of many MiB',
    async () => gzipSync(Buffer.concat([header('x', 9 * mib, 'L'), Buffer.alloc(9 * mib)])),
    /larger|max size/,
  ],
  ['400 MiB of zeros', () => zeros(400 * mib), /compression bomb: more than 200 bytes/, roomy],
  ['padding without a file', async () => gzipSync(Buffer.alloc(12 * mib)), /larger than 8 MiB|holds no file/],
  ['no file', () => packed([{ name: 'a', type: 'directory' }]), /holds no file/],
  ['nothing', async () => Buffer.alloc(0), /no file|not a \.tar\.gz/],
  ['another format', async () => Buffer.from('PK\u0003\u0004'), /not a \.tar\.gz/],
  ['no tar in it', async () => gzipSync(Buffer.alloc(2000, 7)), /damaged/],
  ['its end missing', async () => (await packed([file('a', Buffer.alloc(5000, 3))])).subarray(0, 60), /damaged/],
];

function* pieces(bytes: Buffer): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536);
}

for (const [name, archive, problem, most = limits] of hostile) {
  test(`a hostile model archive is refused when it is sent and when it is unpacked: ${name}`, async () => {
    await using folder = await tempFolder();
    await mkdir(folder.file('out'));
    const bytes = await archive();
    const expected = (error: Error): boolean => {
      assert.match(error.message, problem);
      return 'code' in error && error.code === 'MODEL_ARCHIVE_INVALID';
    };
    await assert.rejects(checkModelArchive(pieces(bytes), most), expected);
    await assert.rejects(unpackModelArchive(pieces(bytes), folder.file('out'), most), expected);
    assert.deepEqual(await readdir(folder.path), ['out']);
  });
}

test('the reading of a bomb ends early: it is neither held nor written', async () => {
  await using folder = await tempFolder();
  await mkdir(folder.file('out'));
  const bytes = await zeros(400 * mib);
  const before = process.memoryUsage().rss;
  await assert.rejects(unpackModelArchive(pieces(bytes), folder.file('out'), roomy), /compression bomb/);
  assert.ok(process.memoryUsage().rss - before < 150 * mib);
  assert.ok((await stat(folder.file('out', 'weights'))).size < 200 * mib);
});

test('a model as trainers make it is taken: folders, long names, zeros in measure; programs are none', async () => {
  await using folder = await tempFolder();
  await mkdir(folder.file('out'));
  const long = `deep/${'x'.repeat(150)}/model.onnx`;
  const entries = [
    { name: './', type: 'directory' as const },
    { ...file('./labels.txt', 'a'), mode: 0o6777 },
    { name: 'docs/', type: 'directory' as const },
    { name: 'docs', type: 'directory' as const },
    file('docs/größe 模型.md', 'card'),
    file(long, Buffer.alloc(3 * mib)),
  ];
  const bytes = await packed(entries);
  const files = [long, 'docs/größe 模型.md', 'labels.txt'];
  assert.deepEqual(await checkModelArchive(pieces(bytes)), { files, unpackedBytes: 3 * mib + 5 });
  assert.deepEqual((await unpackModelArchive(pieces(bytes), folder.file('out'))).files, files);
  assert.equal(await readFile(folder.file('out', 'docs/größe 模型.md'), 'utf8'), 'card');
  assert.equal((await stat(folder.file('out', 'labels.txt'))).mode & 0o7777, 0o644);
});

test('nothing is written over what is there', async () => {
  await using folder = await tempFolder();
  const bytes = await packed([file('a', 'one')]);
  await unpackModelArchive([bytes], folder.path);
  await assert.rejects(unpackModelArchive([await packed([file('a', 'two')])], folder.path), { code: 'EEXIST' });
  assert.equal(await readFile(folder.file('a'), 'utf8'), 'one');
});
