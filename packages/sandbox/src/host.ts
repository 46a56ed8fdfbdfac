/** Checks whether this host has what a sandbox needs, and reads the layout of its system folders. */
import { constants } from 'node:fs';
import { access, lstat, readlink } from 'node:fs/promises';
import path from 'node:path';
import type { HostLayout } from './bwrap-plan.ts';

const systemFolders = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'];
const needed = ['/bin/sh', '/usr/bin/prlimit'];

export async function findProgram(name: string, searchPath: string): Promise<string | undefined> {
  for (const folder of new Set([...searchPath.split(path.delimiter), '/usr/local/bin', '/usr/bin', '/bin'])) {
    if (!path.isAbsolute(folder)) continue;
    const file = path.join(folder, name);
    if (await isProgram(file)) return file;
  }
  return undefined;
}

async function isProgram(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}

/** @returns the layout, or a text that names what is missing. */
export async function layoutOf(searchPath: string): Promise<HostLayout | string> {
  if (process.platform !== 'linux') return `sandboxes need Linux, and this is ${process.platform}`;
  const bwrap = await findProgram('bwrap', searchPath);
  if (bwrap === undefined) return 'bubblewrap (bwrap) is not installed';
  const isRoot = process.getuid?.() === 0;
  for (const file of [...needed, ...(isRoot ? ['/usr/bin/setpriv'] : [])]) {
    if (!(await isProgram(file))) return `${file} is missing (package util-linux)`;
  }
  const system: { path: string; target?: string }[] = [];
  for (const folder of systemFolders) {
    const stats = await lstat(folder).catch(() => undefined);
    if (stats?.isSymbolicLink()) system.push({ path: folder, target: await readlink(folder) });
    else if (stats?.isDirectory()) system.push({ path: folder });
  }
  return { bwrap, isRoot, system };
}
