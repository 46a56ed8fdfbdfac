// Files that unattended-upgrades leaves beside those of this agent: ucf keeps the agent's file when the package is
// installed, and puts the package's own beside it.
import { rename, rm } from 'node:fs/promises';
import type { Disk, Programs } from '../os/ports.ts';
import { readPathState } from '../os/path-state.ts';
import { originsFile, periodicFile } from './apt-files.ts';
import { hasInstalledUpgrader, isUpgraderInstalled } from './installed-packages.ts';

interface PackageFileParts {
  disk: Disk;
  programs: Programs;
  /** Goes before every path of the operating system. */
  prefix: string;
}

/**
 * After the agent's files are gone: the package that stays gets its list of origins. Its switch is removed: without the
 * file, automatic upgrades are off, as they were before the agent installed the package.
 *
 * @returns the files that were moved or removed
 */
export async function settlePackageFiles({ disk, programs, prefix }: PackageFileParts): Promise<readonly string[]> {
  if (!(await hasInstalledUpgrader(disk))) return [];
  const settled: string[] = [];
  for (const file of [originsFile, periodicFile]) {
    const [own, beside] = [`${prefix}${file}`, `${prefix}${file}.ucf-dist`];
    if ((await readPathState(beside)).kind !== 'file') continue;
    const isFree = (await readPathState(own)).kind === 'none';
    if (file === originsFile && isFree && (await isUpgraderInstalled(programs))) await rename(beside, own);
    else await rm(beside);
    settled.push(`${file}.ucf-dist`);
  }
  return settled;
}
