import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { PlatformError } from '@platform/contract/errors/errors';
import { isSemanticVersion } from '@platform/contract/releases/semantic-version';
import { type Archive, readArchive } from '../archive.ts';
import { checkout } from '../data-folder.ts';
import { proveArchive, type Trust } from './archive-trust.ts';
import { places } from './places.ts';
import { versionFolder } from './state.ts';
import { attempt, diskUsage, flush, must, requireSpace } from './system.ts';

const hostPlatform = `${process.platform}-${process.arch}`;

/** An unpacked archive. */
export interface Unpacked {
  readonly folder: string;
  readonly archive: Archive;
}

/** The archive that this program runs from. @throws PlatformError ARCHIVE_UNUSABLE */
export function ownArchive(): Unpacked {
  const archive = readArchive();
  if (archive) return { folder: checkout, archive };
  throw new PlatformError('ARCHIVE_UNUSABLE', {
    file: checkout,
    problem: 'it is a checkout; make an archive with "npm run build:server", unpack it, and run "./platform" there',
  });
}

/**
 * Unpacks an archive beside the installed versions, once its signature is proven.
 *
 * @returns it, and the key that signed it.
 * @throws PlatformError ARCHIVE_UNTRUSTED, ARCHIVE_UNUSABLE, DISK_FULL
 */
export async function unpack(
  file: string,
  of: { pinned: string | undefined; trust: Trust },
): Promise<Unpacked & { key: string | undefined }> {
  const refuse = (problem: string): never => {
    throw new PlatformError('ARCHIVE_UNUSABLE', { file, problem });
  };
  if (!existsSync(file)) refuse('the file does not exist');
  const folder = path.join(places.programs, '.unpacked');
  const copy = path.join(places.programs, '.archive');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  requireSpace(places.programs, 2 ** 29 + statSync(file).size, 'the new version');
  try {
    // Root's copy: the owner of the file could exchange it between the check and the unpacking.
    must('cp', '--reflink=auto', path.resolve(file), copy);
    const key = await proveArchive(path.resolve(file), { ...of, copy });
    const { code, text } = attempt('tar', '-xzf', copy, '-C', folder, '--strip-components=1', '--no-same-owner');
    if (/No space left/.test(text)) throw new PlatformError('DISK_FULL', { path: places.programs });
    if (code !== 0) refuse(`tar cannot unpack it: ${text.split('\n').at(-1)}`);
    const archive = readArchive(folder);
    if (!archive) return refuse('it is not an archive of the server: release.json is missing');
    return { folder, archive, key };
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  } finally {
    rmSync(copy, { force: true });
  }
}

/**
 * Makes the version complete below /opt, unless it is there.
 *
 * @returns whether it was missing.
 * @throws PlatformError VERSION_DIFFERS, ARCHIVE_UNUSABLE, DISK_FULL
 */
export function placeVersion({ folder, archive }: Unpacked): boolean {
  const { version, platform } = archive;
  if (platform !== hostPlatform || !isSemanticVersion(version)) {
    const problem = `it is version ${version} for ${platform}, and this host is ${hostPlatform}`;
    throw new PlatformError('ARCHIVE_UNUSABLE', { file: folder, problem });
  }
  const target = versionFolder(version);
  if (folder === target) return false;
  if (existsSync(target)) {
    const release = (at: string): string => readFileSync(path.join(at, 'release.json'), 'utf8');
    if (release(folder) !== release(target)) throw new PlatformError('VERSION_DIFFERS', { version, path: target });
    return false;
  }
  const fresh = path.join(places.programs, '.fresh');
  rmSync(fresh, { recursive: true, force: true });
  if (folder.startsWith(`${places.programs}/`)) renameSync(folder, fresh);
  else {
    requireSpace(places.programs, diskUsage(folder) * 1.05, `version ${version}`);
    mkdirSync(fresh);
    // Data of a first try in the unpacked folder stay there.
    for (const name of readdirSync(folder)) if (name !== '.platform') must('cp', '-a', path.join(folder, name), fresh);
  }
  must('chown', '-R', 'root:root', fresh);
  must('chmod', '-R', 'u+rwX,go-w,go+rX', fresh);
  flush(fresh);
  renameSync(fresh, target);
  flush(places.programs);
  return true;
}
