import { atomicWrite, readJson } from '@platform/kit/node';
import { mkdirSync } from 'node:fs';
import { mkdir, readdir, readlink, rename, rm, symlink } from 'node:fs/promises';
import path from 'node:path';
import type { PackageSpec } from '../machine-config.ts';
import type { InstalledPackage } from '../plans/resources.ts';
import { unpack } from './archive.ts';

/**
 * Packages on the disk:
 *
 *     packages/<name>                               link to the folder in use
 *     packages/data/ml_model/<name>-<version>       unpacked
 *     packages/data/ml_model/<name>-<version>.json  written last: marks a complete folder
 */
export class PackageStore {
  readonly #root: string;
  readonly #models: string;

  constructor(root: string) {
    this.#root = root;
    this.#models = path.join(root, 'data', 'ml_model');
  }

  /**
   * The packages in use, according to their links; ignores incomplete ones. Removes unfinished work of earlier runs.
   */
  async open(): Promise<ReadonlyMap<string, InstalledPackage>> {
    // A full disk allows no new folder: installed packages still run.
    await mkdir(this.#models, { recursive: true }).catch((error: unknown) => {
      if (!isDiskFault(error)) throw error;
    });
    const installed = new Map<string, InstalledPackage>();
    for (const file of await namesIn(this.#models)) {
      if (file.endsWith('.unpacking') || file.endsWith('.tmp')) {
        await rm(path.join(this.#models, file), { recursive: true, force: true });
      }
    }
    for (const name of await namesIn(this.#root)) {
      if (name.endsWith('.tmp')) await rm(path.join(this.#root, name), { force: true });
      else {
        const found = await this.#linked(name);
        if (found) installed.set(name, found);
      }
    }
    return installed;
  }

  /** Path for the download of a package's archive. */
  archiveFile(spec: PackageSpec): string {
    mkdirSync(this.#models, { recursive: true }); // the disk may have been full before
    return path.join(this.#models, `${folderName(spec)}.tar.gz.part`);
  }

  /**
   * Unpacks the downloaded archive and links it.
   *
   * @throws Error with a `code` of the system for disk errors, otherwise one that describes the archive's problem.
   */
  async install(spec: PackageSpec): Promise<InstalledPackage> {
    const folder = path.join(this.#models, folderName(spec));
    const unpacking = `${folder}.unpacking`;
    await rm(unpacking, { recursive: true, force: true });
    await mkdir(unpacking);
    try {
      await unpack(this.archiveFile(spec), unpacking);
    } catch (error) {
      await rm(unpacking, { recursive: true, force: true });
      if (!isDiskFault(error)) await rm(this.archiveFile(spec), { force: true });
      throw error;
    }
    await rm(`${folder}.json`, { force: true });
    await rm(folder, { recursive: true, force: true });
    await rename(unpacking, folder);
    const { name, id, version } = spec;
    await atomicWrite(`${folder}.json`, JSON.stringify({ name, id, version }));
    await this.#link(name, folder);
    await rm(this.archiveFile(spec), { force: true });
    return { name, id, version, folder };
  }

  /** Removes every version of `name` except `keep`, and abandoned downloads. */
  async clear(name: string, keep?: InstalledPackage): Promise<void> {
    if (keep === undefined) await rm(path.join(this.#root, name), { force: true });
    for (const file of await namesIn(this.#models)) {
      if (file.startsWith(`${name}-`) && file.endsWith('.part'))
        await rm(path.join(this.#models, file), { force: true });
      if (!file.endsWith('.json')) continue;
      const found = await this.#manifest(file.slice(0, -'.json'.length));
      if (found?.name !== name || found.folder === keep?.folder) continue;
      await rm(`${found.folder}.json`, { force: true });
      await rm(found.folder, { recursive: true, force: true });
    }
  }

  /** Replaces the link atomically: readers see the old or the new folder. */
  async #link(name: string, folder: string): Promise<void> {
    const link = path.join(this.#root, name);
    const temporary = `${link}.${crypto.randomUUID()}.tmp`;
    await symlink(path.relative(this.#root, folder), temporary);
    await rename(temporary, link);
  }

  async #linked(name: string): Promise<InstalledPackage | undefined> {
    const target = await readlink(path.join(this.#root, name)).catch(() => undefined); // no link
    const found = target === undefined ? undefined : await this.#manifest(path.basename(target));
    return found?.name === name ? found : undefined;
  }

  async #manifest(base: string): Promise<InstalledPackage | undefined> {
    const folder = path.join(this.#models, base);
    const json = (await readJson(`${folder}.json`).catch(() => undefined)) as Partial<PackageSpec> | undefined;
    if (typeof json?.name !== 'string' || typeof json.id !== 'string' || typeof json.version !== 'string')
      return undefined;
    return { name: json.name, id: json.id, version: json.version, folder };
  }
}

/** Empty if the folder does not exist yet. */
const namesIn = (folder: string): Promise<string[]> =>
  readdir(folder).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  });

/** Whether the disk caused the error, not the archive: a retry may succeed. */
export function isDiskFault(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^E(NOSPC|DQUOT|ROFS|ACCES|PERM|IO|MFILE|NFILE)$/.test(code);
}

const folderName = ({ name, version }: PackageSpec): string => `${name}-${version}`;
