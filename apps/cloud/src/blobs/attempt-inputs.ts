import { createInterface } from 'node:readline';
import { LRUCache } from 'lru-cache';
import type { BlobStore } from './blob-store.ts';

/** Inputs of an attempt: its manifest, the images in it, and its script. */
export type AttemptInputs = {
  has(attempt: { manifestSha256: string; scriptSha256: string | undefined }, sha256: string): Promise<boolean>;
};

const hashBytes = 32;
/** Limit of the cached hashes of manifests, in bytes. */
const mostBytes = 32 * 1024 * 1024;

export function attemptInputs(blobs: BlobStore): AttemptInputs {
  const kept = new LRUCache<string, Buffer>({
    maxSize: mostBytes,
    sizeCalculation: ({ length }) => Math.max(1, length),
  });
  const reading = new Map<string, Promise<Buffer>>();
  const imageHashesOf = (manifestSha256: string): Promise<Buffer> => {
    const known = kept.get(manifestSha256);
    if (known) return Promise.resolve(known);
    const started =
      reading.get(manifestSha256) ??
      hashesIn(blobs, manifestSha256)
        .then((hashes) => {
          kept.set(manifestSha256, hashes);
          return hashes;
        })
        .finally(() => reading.delete(manifestSha256));
    reading.set(manifestSha256, started);
    return started;
  };
  return {
    async has({ manifestSha256, scriptSha256 }, sha256) {
      if (sha256 === manifestSha256 || sha256 === scriptSha256) return true;
      return isAmong(await imageHashesOf(manifestSha256), Buffer.from(sha256, 'hex'));
    },
  };
}

/** The hashes of all images, concatenated. A manifest is ordered by them, so they can be searched by bisection. */
async function hashesIn(blobs: BlobStore, manifestSha256: string): Promise<Buffer> {
  const hashes: Buffer[] = [];
  for await (const line of createInterface({ input: await blobs.get(manifestSha256), crlfDelay: Infinity })) {
    if (line !== '') hashes.push(Buffer.from((JSON.parse(line) as { sha256: string }).sha256, 'hex'));
  }
  return Buffer.concat(hashes);
}

function isAmong(hashes: Buffer, wanted: Buffer): boolean {
  let [from, until] = [0, hashes.length / hashBytes];
  while (from < until) {
    const middle = (from + until) >> 1;
    const order = hashes.compare(wanted, 0, hashBytes, middle * hashBytes, (middle + 1) * hashBytes);
    if (order === 0) return true;
    if (order < 0) from = middle + 1;
    else until = middle;
  }
  return false;
}
