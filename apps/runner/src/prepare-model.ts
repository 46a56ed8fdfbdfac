/** Downloads the model of a prediction into its job folder. */
import { createReadStream } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import type { JobModel } from '@platform/contract/job/job';
import { retry, type Clock } from '@platform/kit';
import { unpackModelArchive } from '@platform/sandbox/model-archive';
import type { Blobs } from './cloud/blobs.ts';
import { isPassing } from './cloud/queue.ts';
import type { JobFolder } from './job/folder.ts';

/** @throws PlatformError MODEL_ARCHIVE_INVALID */
export async function prepareModel(
  model: JobModel,
  { folder, blobs, clock, signal }: { folder: JobFolder; blobs: Blobs; clock: Clock; signal: AbortSignal },
): Promise<void> {
  const archive = path.join(folder.path, 'model.tar.gz');
  const get = (_: number, inner: AbortSignal): Promise<void> => blobs.get(model.package_sha256, archive, inner);
  await retry(get, { clock, signal, attempts: Infinity, firstMs: 200, maxMs: 5_000, isRetryable: isPassing });
  await mkdir(folder.file('model'));
  await unpackModelArchive(createReadStream(archive), folder.file('model'));
  await rm(archive);
}
