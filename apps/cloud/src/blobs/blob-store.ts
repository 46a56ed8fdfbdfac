import type { Readable } from 'node:stream';

/** Byte range from `start` to `end`, both inclusive, as in HTTP. */
export type Range = { start: number; end: number };

export type StoredBlob = { sha256: string; sizeBytes: number };

export type PutOptions = {
  /** Lower-case hex. If the bytes have another hash, `put` throws HASH_MISMATCH and stores nothing. */
  sha256?: string;
  /** Beyond this size, `put` throws BLOB_TOO_LARGE and stores nothing. */
  limitBytes?: number;
};

/**
 * Files by their sha256 (lower-case hex), so that repeated writes are harmless. They are synced to disk before `put`
 * resolves.
 */
export type BlobStore = {
  /** Leaves no partial file. @throws PlatformError HASH_MISMATCH, BLOB_TOO_LARGE, DISK_FULL; errors of the stream */
  put(bytes: AsyncIterable<Uint8Array>, options?: PutOptions): Promise<StoredBlob>;
  /** Writes and deletes an empty file. @throws Error of the file system */
  checkWritable(): Promise<void>;
  head(sha256: string): Promise<{ sizeBytes: number } | undefined>;
  /** @throws PlatformError BLOB_MISSING */
  get(sha256: string, range?: Range): Promise<Readable>;
  /** Path of the file, for programs that read it themselves; it may not exist. */
  pathOf(sha256: string): string;
  /** Sets the file's time of storage to now. @returns whether the file exists. */
  touch(sha256: string): Promise<boolean>;
  /** Hashes of the files that begin with these two digits. */
  list(prefix: string): Promise<string[]>;
  /** Deletes the file unless it was put or touched since. @returns whether it was deleted. */
  deleteStoredBefore(sha256: string, before: number): Promise<boolean>;
  /** Has no effect if the file does not exist. */
  delete(sha256: string): Promise<void>;
};

export const isSha256 = (text: string): boolean => /^[0-9a-f]{64}$/.test(text);

/** Reads a small blob into memory. */
export async function readBlob(blobs: BlobStore, sha256: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of await blobs.get(sha256)) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
