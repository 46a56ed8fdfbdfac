/** Downloads everything that a trainer needs to this host: manifest, images, job.json. */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { PlatformError } from '@platform/contract/errors/errors';
import { JobFormatError, parseDatasetLine } from '@platform/contract/job/job';
import type { DatasetLine, JobFile, JobSpec } from '@platform/contract/job/job';
import { retry, type Clock } from '@platform/kit';
import { readText } from '@platform/kit/node';
import type { Blobs } from './cloud/blobs.ts';
import { isPassing } from './cloud/queue.ts';
import type { ImageCache } from './job/cache.ts';
import { placeImage, writeJobFiles, type JobFolder } from './job/folder.ts';

export interface Preparation {
  spec: JobSpec;
  manifestSha256: string;
  folder: JobFolder;
  command: string[];
  blobs: Blobs;
  cache: ImageCache;
  clock: Clock;
  signal: AbortSignal;
  onDone(done: number, of: number): void;
  /** Maps an image's path in the job folder to the path that the trainer sees. */
  seenAs?(local: string): string;
  /** `other`: the training runs as another user than the runner. */
  reader: 'owner' | 'other';
}

const downloadsAtOnce = 8;
const mostMismatches = 3;

/**
 * @returns the number of images.
 * @throws PlatformError INVALID_ARGUMENT when the manifest is malformed.
 */
export async function prepareJob({ spec, folder, cache, ...to }: Preparation): Promise<number> {
  const { signal, clock } = to;
  const fetchBlob = (sha256: string, file: string): Promise<void> => {
    let mismatches = 0;
    // Retries for as long as the server is unreachable. Hash mismatches come from a broken disk, so their retries are
    // limited.
    const isRetryable = (error: unknown): boolean =>
      isPassing(error) || (isMismatch(error) && ++mismatches < mostMismatches);
    const options = { clock, signal, attempts: Infinity, firstMs: 200, maxMs: 5_000, isRetryable };
    return retry((_, inner) => to.blobs.get(sha256, file, inner), options);
  };
  const manifestFile = path.join(folder.path, 'manifest.part');
  await fetchBlob(to.manifestSha256, manifestFile);
  const lines = linesOf(await readText(manifestFile));
  await rm(manifestFile);

  let done = 0;
  const queue = lines.values();
  const failed = new AbortController();
  const lane = async (): Promise<void> => {
    for (const line of queue) {
      signal.throwIfAborted();
      if (failed.signal.aborted) return;
      const cached = await cache.get(line.sha256, line.size_bytes, (file) => fetchBlob(line.sha256, file));
      await placeImage(folder, line, cached, to.reader);
      to.onDone(++done, lines.length);
    }
  };
  const lanes = Array.from({ length: downloadsAtOnce }, () =>
    lane().catch((error: unknown) => {
      failed.abort();
      throw error;
    }),
  );
  // Every download must settle before the caller may remove the folder.
  const results = await Promise.allSettled(lanes);
  for (const result of results) if (result.status === 'rejected') throw result.reason;
  const job: JobFile = { ...spec, command: to.command };
  await writeJobFiles(folder, job, lines, to.seenAs);
  return lines.length;
}

const isMismatch = (error: unknown): boolean => error instanceof PlatformError && error.code === 'HASH_MISMATCH';

function linesOf(text: string): DatasetLine[] {
  const lines: DatasetLine[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    if (line === '') continue;
    try {
      lines.push(parseDatasetLine(JSON.parse(line)));
    } catch (error) {
      if (!(error instanceof JobFormatError) && !(error instanceof SyntaxError)) throw error;
      throw new PlatformError('INVALID_ARGUMENT', { field: `manifest line ${index + 1}`, limit: error.message }, error);
    }
  }
  return lines;
}
