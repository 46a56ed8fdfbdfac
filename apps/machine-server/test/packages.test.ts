import { Code, ConnectError } from '@connectrpc/connect';
import { PackageSchema } from '@platform/contract/gen/platform/app/packages/v1/packages_pb';
import { create } from '@bufbuild/protobuf';
import { Cell, converge } from '@platform/kit';
import { captureLog, FakeClock, tempFolder } from '@platform/kit/testing';
import type { TempFolder } from '@platform/kit/testing';
import { systemClock } from '@platform/kit/node';
import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, readlink, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { Attempts } from '../src/attempts.ts';
import type { PackageSpec } from '../src/machine-config.ts';
import { unpack } from '../src/packages/archive.ts';
import { download, NotAPackage } from '../src/packages/download.ts';
import { packageReconciler } from '../src/packages/installer.ts';
import { PackageStore } from '../src/packages/store.ts';
import type { InstalledPackage } from '../src/plans/resources.ts';
import { tarGz } from './archives.ts';
import { fakeCloud } from './fake-cloud.ts';
import type { FakeCloud } from './fake-cloud.ts';

const hostile: [string, () => Promise<Buffer>, RegExp][] = [
  ['an absolute path', () => tarGz([{ name: '/tmp/evil', content: 'x' }]), /path is absolute/],
  ['a path that leads out', () => tarGz([{ name: 'a/../../evil', content: 'x' }]), /leads out of the archive/],
  ['a Windows path', () => tarGz([{ name: 'a\\..\\evil', content: 'x' }]), /backslash/],
  ['a symbolic link', () => tarGz([{ name: 'link', type: 'symlink', linkname: '/etc' }]), /a symbolic link/],
  ['a hard link', () => tarGz([{ name: 'link', type: 'link', linkname: '/etc/passwd' }]), /a hard link/],
  ['a device', () => tarGz([{ name: 'null', type: 'character-device' }]), /neither a file nor a folder/],
  ['a pipe', () => tarGz([{ name: 'pipe', type: 'fifo' }]), /neither a file nor a folder/],
  [
    'a file twice',
    () =>
      tarGz([
        { name: 'a', content: 'x' },
        { name: './a', content: 'y' },
      ]),
    /twice/,
  ],
  [
    'a file that is a folder, too',
    () =>
      tarGz([
        { name: 'a', content: 'x' },
        { name: 'a/b', content: 'y' },
      ]),
    /same name/,
  ],
  [
    'too many files',
    () => tarGz(Array.from({ length: 12 }, (_, i) => ({ name: `${i}`, content: '' }))),
    /more than 10 entries/,
  ],
  ['too many bytes', () => tarGz([{ name: 'a', content: Buffer.alloc(2 ** 21) }]), /larger than 1 MiB/],
  ['its end missing', async () => (await tarGz([{ name: 'a', content: 'x'.repeat(5000) }])).subarray(0, 60), /damaged/],
  ['no gzip', async () => Buffer.from('hello'), /not a \.tar\.gz/],
  ['no tar', async () => gzipSync(Buffer.alloc(2000, 7)), /./],
];

test('a hostile or broken archive writes nothing outside and is refused whole', async () => {
  for (const [name, make, message] of hostile) {
    await using folder = await tempFolder();
    await mkdir(folder.file('out'));
    await writeFile(folder.file('a.tar.gz'), await make());
    const limits = { unpackedBytes: 2 ** 20, entries: 10, ratio: 200 };
    await assert.rejects(unpack(folder.file('a.tar.gz'), folder.file('out'), limits), message, name);
    assert.deepEqual((await readdir(folder.path)).toSorted(), ['a.tar.gz', 'out'], name);
  }
});

test('names in archives', async () => {
  const good = [
    ['a', 'a'],
    ['./a/b', 'a/b'],
    ['a..b', 'a..b'],
    ['...', '...'],
  ];
  const unpackOne = async (name: string): Promise<string[]> => {
    await using folder = await tempFolder();
    await mkdir(folder.file('out'));
    await writeFile(folder.file('a.tar.gz'), await tarGz([{ name, content: 'x' }]));
    await unpack(folder.file('a.tar.gz'), folder.file('out'));
    const entries = await readdir(folder.file('out'), { recursive: true, withFileTypes: true });
    return entries
      .filter((entry) => entry.isFile())
      .map((entry) => path.relative(folder.file('out'), path.join(entry.parentPath, entry.name)));
  };
  for (const [name = '', wanted] of good) assert.deepEqual(await unpackOne(name), [wanted]);
  for (const name of ['/', '.', '/a', '..', 'a/..', '../f/a', 'C:/a', 'C:a', '\\a'])
    await assert.rejects(unpackOne(name), { code: 'MODEL_ARCHIVE_INVALID' }, name);
});

test('an archive with folders unpacks to the same files, readable by all', async () => {
  await using folder = await tempFolder();
  await mkdir(folder.file('out'));
  const archive = await tarGz([
    { name: 'docs/', type: 'directory' },
    { name: 'docs/card.md', content: 'card', mode: 0o4777 },
    { name: `deep/${'x'.repeat(120)}/model.onnx`, content: Buffer.alloc(100_000, 3) },
  ]);
  await writeFile(folder.file('a.tar.gz'), archive);
  await unpack(folder.file('a.tar.gz'), folder.file('out'));
  assert.equal(await readFile(folder.file('out', 'docs', 'card.md'), 'utf8'), 'card');
  assert.equal((await stat(folder.file('out', 'docs', 'card.md'))).mode & 0o7777, 0o644);
  assert.equal((await stat(folder.file('out', 'deep', 'x'.repeat(120), 'model.onnx'))).size, 100_000);
});

const fetching = (cloud: FakeCloud, file: string) => ({
  url: `${cloud.url}/packages/org/m/1.tar.gz`,
  headers: { part_id: cloud.partId, secret: cloud.secret },
  file,
});
const never = new AbortController().signal;

test('a download goes on where it broke off, and is checked', async () => {
  await using folder = await tempFolder();
  await using cloud = await fakeCloud();
  const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, i) => i % 251));
  const of = fetching(cloud, folder.file('part'));
  const arrivals = [100_000, 150_000];
  const beforeBreak = async () => {
    const wanted = arrivals.shift();
    for (const end = performance.now() + 20_000; performance.now() < end;) {
      if ((await stat(of.file).catch(() => undefined))?.size === wanted) return;
      await new Promise((r) => setImmediate(r));
    }
  };
  cloud.archives.set('org/m/1', { bytes, breaksAfter: [100_000, 50_000], beforeBreak });
  await assert.rejects(download(of, systemClock, never));
  await assert.rejects(download(of, systemClock, never));
  await download(of, systemClock, never);
  assert.deepEqual(cloud.ranges, ['bytes=100000-', 'bytes=150000-']);
  assert.deepEqual(await readFile(of.file), bytes);
  // A complete file is not downloaded again. A wrong file of the same length fails its checksum and is replaced.
  await download(of, systemClock, never);
  await writeFile(of.file, Buffer.alloc(bytes.length));
  await assert.rejects(download(of, systemClock, never), /checksum/);
  await download(of, systemClock, never);
  assert.deepEqual(await readFile(of.file), bytes);
  // A file longer than announced is downloaded again.
  await writeFile(of.file, Buffer.alloc(bytes.length + 1));
  await download(of, systemClock, never);
  assert.deepEqual(await readFile(of.file), bytes);
});

test('an address that offers no package is refused before anything is fetched', async () => {
  await using folder = await tempFolder();
  await using cloud = await fakeCloud();
  const of = fetching(cloud, folder.file('part'));
  await assert.rejects(download(of, systemClock, never), /status 404/);
  cloud.archives.set('org/m/1', { bytes: Buffer.from('x'), contentType: 'text/html' });
  await assert.rejects(download(of, systemClock, never), NotAPackage);
  await assert.rejects(download({ ...of, headers: {} }, systemClock, never), /status 401/);
  assert.deepEqual(await readdir(folder.path), []);
});

const spec = (version: string): PackageSpec => ({ name: 'm', id: 'org/m', version });

test('the store survives its own restart, and clears what a crash left', async () => {
  await using folder = await tempFolder();
  const root = folder.file('packages');
  const store = new PackageStore(root);
  await store.open();
  await writeFile(store.archiveFile(spec('1')), await tarGz([{ name: 'labels.txt', content: 'a' }]));
  const first = await store.install(spec('1'));
  assert.equal(await readFile(path.join(root, 'm', 'labels.txt'), 'utf8'), 'a');

  await mkdir(path.join(root, 'data', 'ml_model', 'm-2.unpacking'));
  await mkdir(path.join(root, 'data', 'ml_model', 'm-3')); // without the record of a complete installation
  await symlink('data/ml_model/m-3', path.join(root, 'n'));
  await symlink('data/ml_model/m-1', path.join(root, 'm.1.tmp'));
  const again = await new PackageStore(root).open();
  assert.deepEqual([...again], [['m', first]]);
  assert.deepEqual((await readdir(root)).toSorted(), ['data', 'm', 'n']);

  await writeFile(store.archiveFile(spec('2')), await tarGz([{ name: 'labels.txt', content: 'b' }]));
  const second = await store.install(spec('2'));
  await store.clear('m', second);
  assert.equal(await readlink(path.join(root, 'm')), path.join('data', 'ml_model', 'm-2'));
  assert.deepEqual((await readdir(path.join(root, 'data', 'ml_model'))).toSorted(), ['m-2', 'm-2.json', 'm-3']);
  await store.clear('m');
  assert.deepEqual([...(await new PackageStore(root).open())], []);
});

/** Runs an installer with its loop, on a clock that the test moves. */
async function installing(folder: TempFolder, cloud: FakeCloud) {
  const clock = new FakeClock();
  const { log, lines } = captureLog(clock);
  const store = new PackageStore(folder.file('packages'));
  const installed = new Cell<ReadonlyMap<string, InstalledPackage>>(await store.open());
  const wanted = new Cell<readonly PackageSpec[]>([]);
  const asked: string[] = [];
  const stop = new AbortController();
  const reconciler = packageReconciler({
    packages: {
      getPackage: async ({ id = '', version = '' }) => {
        asked.push(version);
        if (!cloud.archives.has(`${id}/${version}`)) throw new ConnectError('no such package', Code.NotFound);
        const found = create(PackageSchema, { url: `${cloud.url}/packages/${id}/${version}.tar.gz` });
        return { $typeName: 'platform.app.packages.v1.GetPackageResponse', package: found };
      },
    },
    downloadHeaders: { part_id: cloud.partId, secret: cloud.secret },
    store,
    installed,
    attempts: new Attempts(clock),
    clock,
    log,
  });
  const done = converge(reconciler, wanted, { clock, log }, stop.signal);
  const settle = async (is: () => boolean) => {
    for (const end = performance.now() + 20_000; performance.now() < end && !is();) await clock.settle();
    assert.ok(is());
  };
  return {
    clock,
    lines,
    wanted,
    asked,
    version: () => installed.get().get('m')?.version,
    logged: (message: string) => lines.filter((line) => line.message === message).length,
    settle,
    end: async () => {
      stop.abort();
      await done;
      assert.equal(clock.pending, 0);
    },
  };
}

test('a bad package is refused until its version changes; a missing one is retried with backoff', async () => {
  await using folder = await tempFolder();
  await using cloud = await fakeCloud();
  const it = await installing(folder, cloud);
  const refused = 'package refused until its version changes';
  const later = 'package not installed yet';
  cloud.archives.set('org/m/1', { bytes: await tarGz([{ name: 'a', content: '1' }]) });
  cloud.archives.set('org/m/2', { bytes: await tarGz([{ name: '../a', content: '2' }]) });
  it.wanted.set([spec('1')]);
  await it.settle(() => it.version() === '1');

  it.wanted.set([spec('2')]);
  await it.settle(() => it.logged(refused) === 1);
  await it.clock.advance(3_600_000);
  assert.deepEqual([it.version(), it.asked, it.logged(refused)], ['1', ['1', '2'], 1]);
  const { fields } = it.lines.find(({ message }) => message === refused) ?? {};
  assert.equal(fields?.['stays'], '1');
  assert.match(String(fields?.['error']), /PACKAGE_CORRUPT.*leads out of the archive/);

  it.wanted.set([spec('3')]);
  await it.settle(() => it.logged(later) === 1);
  for (let minute = 0; minute < 10; minute++) await it.clock.advance(60_000);
  const tries = it.logged(later);
  assert.ok(tries >= 5 && tries <= 12, `${tries} attempts in ten minutes`);
  cloud.archives.set('org/m/3', { bytes: await tarGz([{ name: 'a', content: '3' }]) });
  await it.clock.advance(600_000);
  await it.settle(() => it.version() === '3');

  cloud.archives.set('org/m/4', { bytes: await tarGz([{ name: 'a', content: '4' }]), crc: 1 });
  it.wanted.set([spec('4')]);
  await it.settle(() => it.logged(later) === tries + 1 || it.logged(later) > tries);
  assert.equal(it.version(), '3');
  it.wanted.set([]);
  await it.settle(() => it.version() === undefined);
  await it.end();
  assert.deepEqual(
    (await readdir(folder.file('packages', 'data', 'ml_model'))).filter((f) => f.endsWith('.json')),
    [],
  );
});
