/** The files that a runner names as results of a job, as the server stores them. */
import { modelArchive } from '@platform/contract/job/archive-rules';
import { PlatformError } from '@platform/contract/errors/errors';
import type { JobFile } from '@platform/contract/gen/platform/runner/v1/runner_pb';
import { resultFileLimits } from '@platform/contract/job/result-files';
import type { PackedFile } from '../blobs/package-archive.ts';
import { readableBlobs } from '../blobs/store/owned-blobs.ts';
import * as check from '../rpc/rules/field-checks.ts';
import type { RunnerDeps } from './own-attempt.ts';
import { invalidArgument } from '../rpc/rules/invalid-argument.ts';

const maxFiles = resultFileLimits.files;

/** @throws PlatformError INVALID_ARGUMENT, BLOB_MISSING */
export async function storedFiles(
  { db, blobs }: Pick<RunnerDeps, 'db' | 'blobs'>,
  orgId: string,
  files: readonly JobFile[],
): Promise<PackedFile[]> {
  if (files.length === 0 || files.length > maxFiles) {
    throw invalidArgument('files', `${files.length} files`, `1 to ${maxFiles}`);
  }
  const readable = await readableBlobs(
    db,
    [orgId],
    files.map((file) => file.sha256),
  );
  const paths = new Set<string>();
  const stored: PackedFile[] = [];
  for (const [index, file] of files.entries()) {
    const path = check.packagePath(`files[${index}].path`, file.path);
    if (paths.has(path)) throw invalidArgument(`files[${index}].path`, path, 'each path once');
    paths.add(path);
    // `touch` keeps sweeps from deleting it before the package is built.
    const isThere = readable.has(file.sha256) && (await blobs.touch(file.sha256));
    const head = isThere ? await blobs.head(file.sha256) : undefined;
    if (!head) throw new PlatformError('BLOB_MISSING', { sha256: file.sha256, path });
    if (head.sizeBytes !== Number(file.sizeBytes)) {
      throw invalidArgument(
        `files[${index}].size_bytes`,
        Number(file.sizeBytes),
        `the stored file has ${head.sizeBytes} bytes`,
      );
    }
    stored.push({ path, sha256: file.sha256, sizeBytes: head.sizeBytes });
  }
  const bytes = stored.reduce((sum, file) => sum + file.sizeBytes, 0);
  const { unpackedBytes: limit } = modelArchive.limits;
  if (bytes > limit) {
    const sizes = { value: `${bytes} bytes`, limit: `at most ${limit} bytes in all` };
    throw new PlatformError('INVALID_ARGUMENT', { field: 'files', ...sizes });
  }
  return stored;
}
