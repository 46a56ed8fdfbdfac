/** Reads a trainer's results in out/ for the upload as a model version. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { modelArchive } from '@platform/contract/job/archive-rules';
import { PlatformError } from '@platform/contract/errors/errors';
import { modelFiles } from '@platform/contract/job/job';
import { resultFileLimits } from '@platform/contract/job/result-files';
import { parseObject } from '@platform/contract/text/json-object';
import { readText } from '@platform/kit/node';
import { resultFiles } from '@platform/sandbox/result-files';

export interface OutputFile {
  /** Relative to out/, with slashes. */
  readonly path: string;
  readonly sha256: string;
  readonly sizeBytes: number;
}
export interface JobFiles {
  readonly files: readonly OutputFile[];
  /** Content of evaluation.json, if the trainer wrote one. */
  readonly evaluation: Readonly<Record<string, unknown>> | undefined;
  /** Lines for the job's log about skipped files. */
  readonly leftOut: readonly string[];
}

const mostFiles = resultFileLimits.files;
async function sha256Of(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}

/**
 * The regular files of the folder, without tmp/, ordered by path. Throws TRAINER_FAILED (for a script: SCRIPT_FAILED)
 * when there are none, too many, or when they are too large.
 */
export async function readOutputs(out: string, diskBytes: number, isScript = false): Promise<JobFiles> {
  const limitBytes = Math.min(diskBytes, modelArchive.limits.unpackedBytes);
  const failed = (problem: string): PlatformError =>
    new PlatformError(isScript ? 'SCRIPT_FAILED' : 'TRAINER_FAILED', { problem });
  const { paths, leftOut } = await resultFiles(out);
  if (paths.length === 0) {
    throw failed(`it left no file in its output folder${leftOut.length > 0 ? `. ${leftOut.join(' ')}` : ''}`);
  }
  if (paths.length > mostFiles) throw failed(`it left ${paths.length} files, more than ${mostFiles}`);
  const files: OutputFile[] = [];
  let total = 0;
  for (const name of paths) {
    const file = path.join(out, name);
    const { size } = await stat(file);
    total += size;
    if (total > limitBytes) throw failed(`its output is larger than the limit of ${limitBytes} bytes`);
    files.push({ path: name, sha256: await sha256Of(file), sizeBytes: size });
  }
  return { files, evaluation: await evaluationIn(out), leftOut };
}

async function evaluationIn(out: string): Promise<Record<string, unknown> | undefined> {
  try {
    return parseObject(await readText(path.join(out, modelFiles.evaluation)));
  } catch {
    return undefined; // scripts may omit it
  }
}
