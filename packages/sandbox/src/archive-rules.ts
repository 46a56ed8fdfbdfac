/** What may stand in the archive of a training script, entry by entry, as data. Nothing here touches the disk. */
import { PlatformError } from '@platform/contract/errors';

export interface ArchiveLimits {
  /** Sum of the sizes of all files. */
  readonly unpackedBytes: number;
  readonly entries: number;
}
export const archiveLimits: ArchiveLimits = { unpackedBytes: 100 * 2 ** 20, entries: 10_000 };

/** Entry of a tar file as its reader names it. */
export interface ArchiveEntry {
  readonly name: string;
  /** `file`, `directory`, `symlink`, `link`, `fifo` … ; null when the reader does not know it. */
  readonly type: string | null | undefined;
  readonly sizeBytes: number;
}
export interface ScriptArchive {
  /** Regular files. */
  readonly files: number;
  readonly unpackedBytes: number;
  /** Folder of the project in the archive: empty, or the one top folder. */
  readonly root: string;
  /** Says what the script depends on. */
  readonly project: 'setup.py' | 'pyproject.toml';
}
export interface Accepted {
  readonly kind: 'file' | 'folder';
  /** Relative, with slashes, without a leading `./`. Empty: the root itself. */
  readonly path: string;
}

const longestPathBytes = 1024;
const longestNameBytes = 255;
export const entryModule = 'model/training.py';
const projects = ['setup.py', 'pyproject.toml'] as const;
const links: Readonly<Record<string, string>> = { symlink: 'a symbolic link', link: 'a hard link' };

/** SCRIPT_ARCHIVE_INVALID; the entry as a person can read it, whatever its name holds. */
export function invalidArchive(problem: string, entry?: string, cause?: unknown): PlatformError {
  const shown = entry === undefined ? {} : { entry: readable(entry) };
  return new PlatformError('SCRIPT_ARCHIVE_INVALID', { problem, ...shown }, cause);
}

/** Without control, format and separator characters that could disguise a name; at most 120 characters. */
function readable(name: string): string {
  const clean = name.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '�');
  return clean.length > 120 ? `${clean.slice(0, 119)}…` : clean;
}

/** The rules over one archive. Each method throws SCRIPT_ARCHIVE_INVALID. */
export class ArchiveRules {
  readonly #limits: ArchiveLimits;
  readonly #files = new Set<string>();
  readonly #folders = new Set<string>();
  #entries = 0;
  #bytes = 0;

  constructor(limits: ArchiveLimits = archiveLimits) {
    this.#limits = limits;
  }

  /** To be asked before anything of the entry is read. */
  accept(entry: ArchiveEntry): Accepted {
    if (++this.#entries > this.#limits.entries)
      throw invalidArchive(`it has more than ${this.#limits.entries} entries`);
    const kind = kindOf(entry);
    const path = pathOf(entry.name);
    if (kind === 'folder') {
      if (this.#files.has(path)) throw invalidArchive('a file and a folder have the same name', entry.name);
      this.#addFolders(path, entry.name);
      return { kind, path };
    }
    if (path === '') throw invalidArchive('a file has no name', entry.name);
    if (this.#files.has(path)) throw invalidArchive('it is there twice', entry.name);
    if (this.#folders.has(path)) throw invalidArchive('a file and a folder have the same name', entry.name);
    this.#bytes += entry.sizeBytes;
    if (this.#bytes > this.#limits.unpackedBytes) throw this.tooLarge(entry.name);
    this.#addFolders(path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '', entry.name);
    this.#files.add(path);
    return { kind, path };
  }
  tooLarge(entry?: string): PlatformError {
    const limit = `${Math.floor(this.#limits.unpackedBytes / 2 ** 20)} MiB`;
    return invalidArchive(`its files are larger than ${limit} when they are unpacked`, entry);
  }
  /** After the last entry. */
  end(): ScriptArchive {
    if (this.#files.size === 0) throw invalidArchive('it holds no file');
    const roots = ['', ...this.#topFolders()];
    for (const root of roots) {
      const project = projects.find((name) => this.#files.has(`${root}${name}`));
      if (project === undefined || !this.#files.has(`${root}${entryModule}`)) continue;
      return { files: this.#files.size, unpackedBytes: this.#bytes, root: root.replace(/\/$/, ''), project };
    }
    const base = roots.find((root) => projects.some((name) => this.#files.has(`${root}${name}`)));
    if (base !== undefined)
      throw invalidArchive(`the module model.training is missing: there is no ${base}${entryModule}`);
    const module = roots.find((root) => this.#files.has(`${root}${entryModule}`));
    if (module !== undefined) throw invalidArchive(`there is no ${module}setup.py and no ${module}pyproject.toml`);
    const problem = `there is no setup.py (or pyproject.toml) with ${entryModule} beside it, at the top or in one top folder`;
    throw invalidArchive(problem);
  }

  /** The one top folder, when there is no second one beside it. */
  #topFolders(): string[] {
    const tops = new Set([...this.#files].filter((path) => path.includes('/')).map((path) => path.split('/')[0] ?? ''));
    return tops.size === 1 ? [...tops].map((top) => `${top}/`) : [];
  }
  #addFolders(path: string, name: string): void {
    for (let at = path; at !== ''; at = at.includes('/') ? at.slice(0, at.lastIndexOf('/')) : '') {
      if (this.#files.has(at)) throw invalidArchive('a file and a folder have the same name', name);
      this.#folders.add(at);
    }
  }
}

function kindOf({ name, type }: ArchiveEntry): Accepted['kind'] {
  if (type === 'file' || type === 'contiguous-file') return 'file';
  if (type === 'directory') return 'folder';
  throw invalidArchive(`it is ${links[type ?? ''] ?? 'neither a file nor a folder'}, which is not allowed`, name);
}

function pathOf(name: string): string {
  if (name.startsWith('/') || /^[A-Za-z]:[\\/]/.test(name)) throw invalidArchive('its path is absolute', name);
  if (/[\p{Cc}\\]|\uFFFD/u.test(name)) {
    throw invalidArchive('its name has a control character, a backslash or bytes that are not UTF-8', name);
  }
  const parts = name.split('/').filter((part) => part !== '' && part !== '.');
  if (parts.includes('..')) throw invalidArchive('its path leads out of the archive (..)', name);
  const path = parts.join('/');
  if (Buffer.byteLength(path) > longestPathBytes || parts.some((part) => Buffer.byteLength(part) > longestNameBytes)) {
    throw invalidArchive(
      `its path is longer than ${longestPathBytes} bytes, or a name in it than ${longestNameBytes}`,
      name,
    );
  }
  return path;
}
