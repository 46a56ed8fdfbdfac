/** Measures what a stored file is: by its first bytes and, if these are of an image, by decoding it to its end. */
import { open } from 'node:fs/promises';
import { readImageHeader } from '@platform/dataset-files/image-header';
import type { BlobStore, StoredBlob } from '../blobs/blob-store.ts';
import type { Database } from '../database/database.ts';
import type { Decoders } from './decoders.ts';
import { brokenBecause, contentOf, type ImageContent } from './rules/image-content.ts';
import { knownContent } from './store/image-contents.ts';

export type MeasureDeps = { db: Database; blobs: Pick<BlobStore, 'pathOf'>; decoders: Pick<Decoders, 'measure'> };

/** @throws Error of the file system: the file does not exist, or cannot be read. */
export async function measure({ db, blobs, decoders }: MeasureDeps, blob: StoredBlob): Promise<ImageContent> {
  const known = await knownContent(db, blob.sha256);
  if (known) return known;
  const path = blobs.pathOf(blob.sha256);
  const header = await headerOf(path, blob.sizeBytes);
  if ('problem' in header) return header;
  const answer = await decoders.measure(path);
  if (answer.is === 'failed') return { kind: 'broken', problem: brokenBecause(answer.message) };
  return contentOf(answer.value) ?? { kind: 'other', problem: 'is not a JPEG, PNG or WebP image' };
}

async function headerOf(path: string, sizeBytes: number): ReturnType<typeof readImageHeader> {
  await using file = await open(path);
  // Awaited here: the file closes at the end of this function.
  return await readImageHeader(sizeBytes, async (bytes) => {
    const start = new Uint8Array(bytes);
    const { bytesRead } = await file.read(start, 0, bytes, 0);
    return start.subarray(0, bytesRead);
  });
}
