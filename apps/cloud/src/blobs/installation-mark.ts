// A file in the folder of the blobs that says whose they are: an empty folder may be a disk that is not mounted.
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { PlatformError } from '@platform/contract/errors/errors';
import { atomicWrite, readJson } from '@platform/kit/node';
import type { BlobStore } from './blob-store.ts';

const markFile = (folder: string): string => path.join(folder, 'installation.json');

/** @returns the id of the installation whose files these are; undefined: the folder has no mark. */
export async function readBlobMark(folder: string): Promise<string | undefined> {
  const found = (await readJson(markFile(folder))) as { installation_id?: unknown } | undefined;
  return found === undefined ? undefined : String(found.installation_id);
}

/** Marks the folder, and gives the file to the owner of the folder. */
export async function writeBlobMark(folder: string, installationId: string): Promise<void> {
  const { uid, gid } = await stat(folder);
  await atomicWrite(markFile(folder), `${JSON.stringify({ format: 1, installation_id: installationId })}\n`, {
    ...(process.getuid?.() === 0 && { owner: { uid, gid } }),
  });
}

/** @throws PlatformError BLOBS_NOT_MOUNTED */
export async function requireBlobMark(folder: string, installationId: string): Promise<void> {
  const found = await readBlobMark(folder);
  if (found === installationId) return;
  const problem =
    found === undefined
      ? 'it has no installation.json, which marks the files of this installation'
      : `they are those of installation ${found}, and this is installation ${installationId}`;
  throw new PlatformError('BLOBS_NOT_MOUNTED', { path: folder, problem });
}

/** The store, as long as its folder has the mark: a disk can go while the server runs. */
export const markedBlobs = (blobs: BlobStore, folder: string, installationId: string): BlobStore => ({
  ...blobs,
  async put(from, options) {
    await requireBlobMark(folder, installationId);
    return blobs.put(from, options);
  },
  async checkWritable() {
    await requireBlobMark(folder, installationId);
    await blobs.checkWritable();
  },
});
