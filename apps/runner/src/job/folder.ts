/** The job folder on this host, one per attempt. */
import { constants } from 'node:fs';
import { chmod, copyFile, link, mkdir, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { jobFiles, imagePath } from '@platform/contract/job/job';
import type { DatasetLine, JobExit, JobFile } from '@platform/contract/job/job';
import { atomicWrite } from '@platform/kit/node';
import { removeTree } from '@platform/sandbox/removal';
import { privateModes } from './cache.ts';

export interface JobFolder {
  readonly path: string;
  /** Path of one of `jobFiles`. */
  file(name: keyof typeof jobFiles): string;
}

const jobsOf = (root: string): string => path.join(root, 'jobs');

/** In the folder that jobs share. */
export const cacheIn = (shared: string): string => path.join(shared, 'cache');
export const checkpointsIn = (shared: string): string => path.join(shared, 'checkpoints');

/** Creates an empty folder; removes what an earlier run of the same attempt left. */
export async function createJobFolder(root: string, jobId: string, attempt: number): Promise<JobFolder> {
  const folder = path.join(jobsOf(root), `${path.basename(jobId)}-${attempt}`);
  await removeTree(folder);
  await mkdir(jobsOf(root), { recursive: true });
  // Files inside may be readable for all users: a sandbox runs as another user.
  await chmod(jobsOf(root), privateModes.folder);
  await mkdir(path.join(folder, jobFiles.images), { recursive: true });
  await mkdir(path.join(folder, jobFiles.out));
  return { path: folder, file: (name) => path.join(folder, jobFiles[name]) };
}

/** Folders of attempts that an earlier run of the runner left. */
export async function leftJobFolders(root: string): Promise<string[]> {
  const names = await readdir(jobsOf(root)).catch(() => []);
  return names.map((name) => path.join(jobsOf(root), name));
}

/** Every attempt of an earlier run is over: its runner no longer works on it. */
export async function removeJobFolders(folders: readonly string[]): Promise<void> {
  for (const folder of folders) await removeTree(folder);
}

/**
 * Places the cached image in the folder: as a hard link where the file system allows it. `other` may not read the cache
 * and gets a copy, as a reflink where the file system supports it.
 */
export async function placeImage(
  folder: JobFolder,
  line: DatasetLine,
  cached: string,
  reader: 'owner' | 'other' = 'owner',
): Promise<void> {
  const target = path.join(folder.path, imagePath(line));
  if (reader === 'other') {
    await copyFile(cached, target, constants.COPYFILE_FICLONE);
    return chmod(target, 0o644);
  }
  try {
    await link(cached, target);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'EEXIST') return; // the dataset contains the same image twice
    if (code !== 'EXDEV' && code !== 'EPERM' && code !== 'EMLINK') throw error;
    await copyFile(cached, target);
  }
}

export async function writeJobFiles(
  folder: JobFolder,
  job: JobFile,
  lines: readonly DatasetLine[],
  seenAs = (local: string): string => local,
): Promise<void> {
  const local = lines.map((line) => `${JSON.stringify({ ...line, image_path: seenAs(imagePath(line)) })}\n`);
  await writeFile(folder.file('dataset'), local.join(''));
  await writeFile(folder.file('events'), '');
  await writeFile(folder.file('job'), `${JSON.stringify(job, undefined, 2)}\n`);
}

/** Written last and atomically: it marks the end of the attempt. */
export async function writeExit(folder: JobFolder, exit: JobExit): Promise<void> {
  await atomicWrite(folder.file('exit'), `${JSON.stringify(exit, undefined, 2)}\n`);
}
