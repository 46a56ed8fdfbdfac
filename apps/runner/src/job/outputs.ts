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
  /** For the log of the job. */
  readonly leftOut: readonly string[];
}

const mostFiles = 1000;
const deepestFolder = 16;
/** Path of a file of a model version: it becomes a name in an archive, on machines, and in addresses. */
const nameForm = /^[^\p{C}\p{Zl}\p{Zp}\\\uFFFD]{1,255}$/u;

async function sha256Of(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}

/** Paths relative to the folder, with slashes, and a line about each thing that is no part of a model version. */
async function walk(folder: string): Promise<{ paths: string[]; leftOut: string[] }> {
  const paths: string[] = [];
  const leftOut: string[] = [];
  const leave = (name: string, why: string): void => {
    // Enough to see what is the matter.
    if (leftOut.length < 20) leftOut.push(`Left out of the result: ${JSON.stringify(name)} ${why}.`);
  };
  const enter = async (at: string, depth: number): Promise<void> => {
    for (const entry of await readdir(path.join(folder, at), { withFileTypes: true })) {
      const name = at === '' ? entry.name : `${at}/${entry.name}`;
      if (name === 'tmp' && entry.isDirectory()) continue;
      if (!nameForm.test(entry.name)) leave(name, 'has a name that cannot be stored');
      else if (entry.isSymbolicLink()) leave(name, 'is a link');
      else if (entry.isDirectory() && depth === deepestFolder) leave(name, 'lies too deep');
      else if (entry.isDirectory()) await enter(name, depth + 1);
      else if (!entry.isFile()) leave(name, 'is no regular file');
      else paths.push(name);
    }
  };
  await enter('', 1);
  return { paths: paths.toSorted(), leftOut };
}

/**
 * The regular files of the folder, without tmp/, in order of their paths. Throws TRAINER_FAILED (of a script: SCRIPT_FAILED)
 * when there is none, when there are too many or when they are too large.
 */
export async function readOutputs(out: string, limitBytes: number, isScript = false): Promise<JobFiles> {
  const failed = (problem: string): PlatformError =>
    new PlatformError(isScript ? 'SCRIPT_FAILED' : 'TRAINER_FAILED', { problem });
  const { paths, leftOut } = await walk(out);
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
    const value: unknown = JSON.parse(await readFile(path.join(out, modelFiles.evaluation), 'utf8'));
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined; // a script need not write one
  }
}
