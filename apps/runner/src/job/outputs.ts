/** What a trainer left in out/, as it becomes a model version. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { PlatformError } from '@platform/contract/errors';
import { modelFiles } from '@platform/contract/job';

export interface OutputFile {
  /** Relative to out/, with slashes. */
  readonly path: string;
  readonly sha256: string;
  readonly sizeBytes: number;
}
export interface JobFiles {
  readonly files: readonly OutputFile[];
  /** Content of evaluation.json, when there is one. */
  readonly evaluation: Readonly<Record<string, unknown>> | undefined;
}

const mostFiles = 1000;

async function sha256Of(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}

/**
 * The regular files of the folder, without tmp/, in order of their paths. Throws TRAINER_FAILED when there is none, when there
 * are too many or when they are too large; links and devices are left out.
 */
export async function readOutputs(out: string, limitBytes: number): Promise<JobFiles> {
  const entries = await readdir(out, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(out, path.join(entry.parentPath, entry.name)).split(path.sep).join('/'))
    .filter((name) => !name.startsWith('tmp/'))
    .toSorted();
  if (paths.length === 0)
    throw new PlatformError('TRAINER_FAILED', { problem: 'it left no file in its output folder' });
  if (paths.length > mostFiles) {
    throw new PlatformError('TRAINER_FAILED', { problem: `it left ${paths.length} files, more than ${mostFiles}` });
  }
  const files: OutputFile[] = [];
  let total = 0;
  for (const name of paths) {
    const file = path.join(out, name);
    const { size } = await stat(file);
    total += size;
    if (total > limitBytes) {
      throw new PlatformError('TRAINER_FAILED', {
        problem: `its output is larger than the limit of ${limitBytes} bytes`,
      });
    }
    files.push({ path: name, sha256: await sha256Of(file), sizeBytes: size });
  }
  return { files, evaluation: await evaluationIn(out) };
}

async function evaluationIn(out: string): Promise<Record<string, unknown> | undefined> {
  try {
    const value: unknown = JSON.parse(await readFile(path.join(out, modelFiles.evaluation), 'utf8'));
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined; // a script need not write one
  }
}
