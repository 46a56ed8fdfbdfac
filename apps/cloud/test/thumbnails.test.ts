import assert from 'node:assert/strict';
import { readdir, rm, truncate } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { tempFolder } from '@platform/kit/testing';
import type { Decoders } from '../src/images/decoders.ts';
import { openThumbnails } from '../src/images/thumbnails.ts';
import { testLog } from './database.ts';

const hash = (n: number): string => String(n).padStart(64, '0');
/** Bytes that are whole like a WebP file. */
const whole = (length: number): Uint8Array => {
  const bytes = Buffer.alloc(length);
  bytes.writeUInt32LE(length - 8, 4);
  return bytes;
};

/** A cache whose decoder makes copies of this length, and counts. */
async function cacheOf(folder: string, mostBytes: number, length = 100) {
  const made: string[] = [];
  const stored = new Set<string>();
  const decoders: Pick<Decoders, 'thumbnail'> = {
    thumbnail: async (file) => {
      made.push(file);
      await new Promise((resolve) => setImmediate(resolve));
      return { is: 'done', value: whole(length) };
    },
  };
  const blobs = {
    pathOf: (sha256: string) => sha256,
    head: (sha256: string) => Promise.resolve(stored.has(sha256) ? { sizeBytes: 1 } : undefined),
  };
  return { made, stored, ...(await openThumbnails({ folder, blobs, decoders, log: testLog }, mostBytes)) };
}

const filesIn = async (folder: string): Promise<string[]> =>
  (await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []))
    .filter((entry) => entry.isFile())
    .map(({ name }) => name)
    .toSorted();

/** Files are deleted in the background. */
async function settled(folder: string, count: number): Promise<string[]> {
  for (;;) {
    const found = await filesIn(folder);
    if (found.length <= count) return found;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test('a copy is made once, whoever asks for it, and found after a restart', async () => {
  await using folder = await tempFolder();
  const first = await cacheOf(folder.path, 10_000);
  await Promise.all([first.read(hash(1), 200), first.read(hash(1), 200)]);
  await first.read(hash(1), 200);
  assert.equal(first.made.length, 1);
  const second = await cacheOf(folder.path, 10_000);
  await second.read(hash(1), 200);
  assert.equal(second.made.length, 0);
  await second.read(hash(1), 800);
  assert.equal(second.made.length, 1);
});

test('the folder may be deleted, and a file of it cut, at any time', async () => {
  await using folder = await tempFolder();
  const place = path.join(folder.path, 'copies');
  const cache = await cacheOf(place, 10_000);
  await cache.read(hash(1), 200);
  await rm(place, { recursive: true });
  assert.equal((await cache.read(hash(1), 200)).is, 'done');
  assert.equal(cache.made.length, 2);
  await truncate(path.join(place, '00', `${hash(1)}-200.webp`), 40);
  const again = await cache.read(hash(1), 200);
  assert.ok(again.is === 'done' && again.value.length === 100);
  assert.equal(cache.made.length, 3);
});

test('beyond the limit the least recently read go, also after a restart', async () => {
  await using folder = await tempFolder();
  const cache = await cacheOf(folder.path, 300);
  for (const n of [1, 2, 3]) await cache.read(hash(n), 200);
  await cache.read(hash(1), 200);
  await cache.read(hash(4), 200);
  assert.deepEqual(
    await settled(folder.path, 3),
    [1, 3, 4].map((n) => `${hash(n)}-200.webp`),
  );
  const smaller = await cacheOf(folder.path, 100);
  await smaller.read(hash(5), 200);
  assert.deepEqual(await settled(folder.path, 1), [`${hash(5)}-200.webp`]);
});

test('copies of deleted images go', async () => {
  await using folder = await tempFolder();
  const cache = await cacheOf(folder.path, 10_000);
  for (const n of [1, 2]) await cache.read(hash(n), 200);
  cache.stored.add(hash(2));
  await cache.forgetDeleted();
  assert.deepEqual(await settled(folder.path, 1), [`${hash(2)}-200.webp`]);
});
