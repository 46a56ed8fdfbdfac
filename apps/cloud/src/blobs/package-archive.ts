import { createGzip } from 'node:zlib';
import { pipeline } from 'node:stream/promises';
import tar from 'tar-stream';
import { PlatformError } from '@platform/contract/errors/errors';
import { crc32c } from '@platform/sandbox/package-checksum';
import type { BlobStore, StoredBlob } from './blob-store.ts';

export type PackedFile = { path: string; sha256: string; sizeBytes: number };
export type Packed = StoredBlob & {
  /** CRC-32C (Castagnoli), unsigned: machines verify downloads with it. */
  crc32c: number;
};

/**
 * Builds a `.tar.gz` of stored files and stores it. Equal files produce equal bytes: sorted by path, without times and
 * owners.
 *
 * @param through - transforms the archive's bytes before they are stored.
 * @throws PlatformError BLOB_MISSING, DISK_FULL, errors of `through`.
 */
export async function packFiles(
  blobs: BlobStore,
  files: readonly PackedFile[],
  through: (bytes: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array> = (bytes) => bytes,
): Promise<Packed> {
  const archive = tar.pack();
  const gzip = createGzip();
  const filled = fill(archive, blobs, files);
  const zipped = pipeline(archive, gzip);
  const stored = putWithCrc(blobs, through(gzip)).finally(() => {
    archive.destroy();
    gzip.destroy();
  });
  try {
    const [packed] = await Promise.all([stored, filled, zipped]);
    return packed;
  } catch (error) {
    // When the store fails, the streams before it fail, too, and may report first. Prefer the store's error.
    const first: unknown = await stored.catch((reason: unknown) => reason);
    throw first instanceof PlatformError ? first : error;
  }
}

async function fill(archive: tar.Pack, blobs: BlobStore, files: readonly PackedFile[]): Promise<void> {
  const since1970 = new Date(0);
  try {
    for (const file of files.toSorted((a, b) => (a.path < b.path ? -1 : 1))) {
      const bytes = await blobs.get(file.sha256);
      await new Promise<void>((resolve, reject) => {
        const entry = archive.entry({ name: file.path, size: file.sizeBytes, mode: 0o644, mtime: since1970 }, (error) =>
          error ? reject(error) : resolve(),
        );
        pipeline(bytes, entry).catch(reject);
      });
    }
    archive.finalize();
  } catch (error) {
    archive.destroy(error as Error);
    throw error;
  }
}

/** Stores a stream and returns its checksum, too. */
export async function putWithCrc(
  blobs: BlobStore,
  from: AsyncIterable<Uint8Array>,
  options: { limitBytes?: number } = {},
): Promise<Packed> {
  const sum = { crc: 0 };
  const stored = await blobs.put(summed(from, sum), options);
  return { ...stored, crc32c: sum.crc };
}

async function* summed(from: AsyncIterable<Uint8Array>, sum: { crc: number }): AsyncGenerator<Uint8Array> {
  for await (const chunk of from) {
    sum.crc = crc32c(chunk, sum.crc);
    yield chunk;
  }
}
