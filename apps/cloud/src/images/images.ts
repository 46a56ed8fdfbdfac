/** What the server knows of images: measurements, small copies, and the processes that decode. */
import { availableParallelism } from 'node:os';
import path from 'node:path';
import type { Clock, Log } from '@platform/kit';
import type { BlobStore, StoredBlob } from '../blobs/blob-store.ts';
import type { Database } from '../database/database.ts';
import { openDecoders } from './decoders.ts';
import { measure } from './measure.ts';
import { measureFiles } from './measurements.ts';
import type { ImageContent } from './rules/image-content.ts';
import { openThumbnails, type Thumbnails } from './thumbnails.ts';

export type Images = {
  /** Measures what a stored file is. */
  measure(blob: StoredBlob): Promise<ImageContent>;
  thumbnail: Thumbnails['read'];
};

/** Limit of all small copies, about 70,000. */
const cacheBytes = 2 ** 30;
const forgetEveryMs = 3_600_000;

/** Images that are decoded at the same time: half of the processor stays with the server. */
const processes = (): number => Math.min(4, Math.max(1, availableParallelism() >> 1));

type Deps = { db: Database; blobs: BlobStore; dataFolder: string; clock: Clock; log: Log };

/** @returns with its background work, which ends with `signal`. */
export function startImages(deps: Deps, signal: AbortSignal): Images & { done: Promise<unknown> } {
  const { clock, blobs, log } = deps;
  const decoders = openDecoders({ clock, processes: processes() });
  signal.addEventListener('abort', () => decoders.close(), { once: true });
  const folder = path.join(deps.dataFolder, 'cache', 'thumbnails');
  const thumbnails = openThumbnails({ folder, blobs, decoders, log }, cacheBytes);
  return {
    measure: (blob) => measure({ ...deps, decoders }, blob),
    thumbnail: async (sha256, edge) => (await thumbnails).read(sha256, edge),
    done: Promise.all([measureFiles({ ...deps, decoders }, signal), forget(thumbnails, clock, signal)]),
  };
}

async function forget(opened: Promise<Thumbnails>, clock: Clock, signal: AbortSignal): Promise<void> {
  const thumbnails = await opened;
  while (!signal.aborted) {
    await clock.sleep(forgetEveryMs, signal);
    if (!signal.aborted) await thumbnails.forgetDeleted().catch(() => {});
  }
}
