import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import test from 'node:test';
import { tempFolder } from '@platform/kit/testing';
import { type Disk, localDisk, openDiskBlobs } from '../src/blobs/disk.ts';
import { readBlob } from '../src/blobs/blob-store.ts';

async function* pieces(...parts: (string | Buffer)[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield Buffer.from(part);
}
const sha256 = (...parts: (string | Buffer)[]): string => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest('hex');
};
const files = async (folder: string): Promise<string[]> =>
  (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => entry.name);

test('what is put can be got: whole, in part, from a second store on the same folder; until it is deleted', async () => {
  await using folder = await tempFolder();
  const blobs = await openDiskBlobs(folder.path);
  const big = randomBytes(300_000);
  const stored = await blobs.put(pieces(big.subarray(0, 100_000), big.subarray(100_000)));
  assert.deepEqual(stored, { sha256: sha256(big), sizeBytes: 300_000 });
  assert.deepEqual(await blobs.put(pieces(big), { sha256: stored.sha256 }), stored);
  assert.deepEqual(await readBlob(blobs, stored.sha256), big);
  const part: Buffer[] = [];
  for await (const chunk of await blobs.get(stored.sha256, { start: 99_990, end: 100_009 })) part.push(chunk as Buffer);
  assert.deepEqual(Buffer.concat(part), big.subarray(99_990, 100_010));
  assert.deepEqual(await blobs.put(pieces()), { sha256: sha256(''), sizeBytes: 0 });

  const again = await openDiskBlobs(folder.path);
  assert.deepEqual(await again.head(stored.sha256), { sizeBytes: 300_000 });
  await again.delete(stored.sha256);
  await again.delete(stored.sha256);
  assert.equal(await blobs.head(stored.sha256), undefined);
  await assert.rejects(blobs.get(stored.sha256), { code: 'BLOB_MISSING' });
  await assert.rejects(blobs.head('../../etc/passwd'), { code: 'INVALID_ARGUMENT' });
});

test('fifty writers of the same bytes leave one file', async () => {
  await using folder = await tempFolder();
  const blobs = await openDiskBlobs(folder.path);
  const all = await Promise.all(Array.from({ length: 50 }, () => blobs.put(pieces('a', 'b'))));
  assert.deepEqual(new Set(all.map((one) => one.sha256)), new Set([sha256('ab')]));
  assert.deepEqual(await files(folder.path), [sha256('ab')]);
});

/** A disk with this much room, in bytes. */
function smallDisk(room: number): Disk {
  const left = { bytes: room };
  return {
    ...localDisk,
    async create(file) {
      const real = await localDisk.create(file);
      return {
        ...real,
        async write(bytes) {
          left.bytes -= bytes.length;
          if (left.bytes < 0) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
          await real.write(bytes);
        },
      };
    },
  };
}

async function* broken(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('some');
  throw new Error('connection lost');
}

const refused: [name: string, bytes: () => AsyncIterable<Uint8Array>, options: object, error: object][] = [
  ['other bytes than announced', () => pieces('abc'), { sha256: sha256('abd') }, { code: 'HASH_MISMATCH' }],
  ['one byte too many', () => pieces('abc', 'd'), { limitBytes: 3 }, { code: 'BLOB_TOO_LARGE' }],
  ['a connection that breaks', broken, {}, { message: 'connection lost' }],
  ['a full disk', () => pieces(Buffer.alloc(10), Buffer.alloc(91)), {}, { code: 'DISK_FULL' }],
];
for (const [name, bytes, options, error] of refused) {
  test(`nothing half-written stays after ${name}`, async () => {
    await using folder = await tempFolder();
    const blobs = await openDiskBlobs(folder.path, smallDisk(100));
    await assert.rejects(blobs.put(bytes(), options), error);
    assert.deepEqual(await files(folder.path), []);
  });
}

test('as many bytes as allowed are stored', async () => {
  await using folder = await tempFolder();
  const blobs = await openDiskBlobs(folder.path, smallDisk(3));
  assert.equal((await blobs.put(pieces('abc'), { limitBytes: 3 })).sizeBytes, 3);
});

test('what a killed writer left is swept when the store opens', async () => {
  await using folder = await tempFolder();
  await openDiskBlobs(folder.path);
  const half = await localDisk.create(path.join(folder.path, 'tmp', 'half'));
  await half.write(Buffer.from('half'));
  await half.close();
  await openDiskBlobs(folder.path);
  assert.deepEqual(await files(folder.path), []);
});
