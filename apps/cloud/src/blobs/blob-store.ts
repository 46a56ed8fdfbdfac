import type { Readable } from 'node:stream';

/** Bytes from `start` to `end`, both included, as in HTTP. */
export type Range = { start: number; end: number };

export type StoredBlob = { sha256: string; sizeBytes: number };

export type PutOptions = {
  /** Lower-case hex. The bytes must have it, else HASH_MISMATCH and nothing is stored. */
  sha256?: string;
  /** More bytes than this: BLOB_TOO_LARGE and nothing is stored. */
  limitBytes?: number;
};

/** Files by their sha256 (lower-case hex), so that writing twice is harmless. They are on the disk before `put` answers. */
export type BlobStore = {
  /** @throws PlatformError HASH_MISMATCH, BLOB_TOO_LARGE, DISK_FULL; what the stream throws. Nothing half-written stays. */
  put(bytes: AsyncIterable<Uint8Array>, options?: PutOptions): Promise<StoredBlob>;
  head(sha256: string): Promise<{ sizeBytes: number } | undefined>;
  /** @throws PlatformError BLOB_MISSING */
  get(sha256: string, range?: Range): Promise<Readable>;
  /** Makes the file count as stored now. @returns whether there is one. */
  touch(sha256: string): Promise<boolean>;
  /** Files whose sha256 begins with these two digits. */
  list(prefix: string): Promise<string[]>;
  /** Removes the file unless it was put or touched since. @returns whether it was removed. */
  deleteStoredBefore(sha256: string, before: number): Promise<boolean>;
  /** Absent: nothing happens. */
  delete(sha256: string): Promise<void>;
};

export const isSha256 = (text: string): boolean => /^[0-9a-f]{64}$/.test(text);

/** The whole of a small blob. */
export async function readBlob(blobs: BlobStore, sha256: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of await blobs.get(sha256)) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
