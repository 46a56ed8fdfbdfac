/**
 * Rules for an untrusted .tar.gz, entry by entry. The server and every program that unpacks training scripts and models
 * use the same rules.
 */
import { PlatformError, type ErrorCode } from '../errors/errors.ts';

export interface ArchiveLimits {
  /** Sum of the sizes of all files. */
  readonly unpackedBytes: number;
  readonly entries: number;
  /** Maximum unpacked bytes per packed byte. Model weights have less than ten, zeros a thousand. */
  readonly ratio: number;
}
/** Kind of an archive: its error code and its limits. */
export interface ArchiveKind {
  readonly code: Extract<ErrorCode, 'SCRIPT_ARCHIVE_INVALID' | 'MODEL_ARCHIVE_INVALID'>;
  readonly limits: ArchiveLimits;
}
export const scriptArchive: ArchiveKind = {
  code: 'SCRIPT_ARCHIVE_INVALID',
  limits: { unpackedBytes: 100 * 2 ** 20, entries: 10_000, ratio: 200 },
};
export const modelArchive: ArchiveKind = {
  code: 'MODEL_ARCHIVE_INVALID',
  limits: { unpackedBytes: 4 * 2 ** 30, entries: 10_000, ratio: 200 },
};
/** The ratio limit applies only above this unpacked size. */
const ratioFromBytes = 64 * 2 ** 20;

/** The problem as the end of the sentence "it …"; undefined if the ratio is allowed. */
export function ratioProblem(unpackedBytes: number, packedBytes: number, { ratio }: ArchiveLimits): string | undefined {
  if (unpackedBytes <= ratioFromBytes || unpackedBytes <= ratio * packedBytes) return undefined;
  return `is a compression bomb: more than ${ratio} bytes unpacked for each packed one`;
}

/** Entry of a tar file as tar-stream reports it. */
export interface ArchiveEntry {
  readonly name: string;
  /** `file`, `directory`, `symlink`, `link`, `fifo` … ; null for an unknown type. */
  readonly type: string | null | undefined;
  readonly sizeBytes: number;
}
export interface Accepted {
  readonly kind: 'file' | 'folder';
  /** Relative, with slashes, without a leading `../`. Empty: the root itself. */
  readonly path: string;
}

const longestPathBytes = 1024;
const longestNameBytes = 255;
const links: Readonly<Record<string, string>> = { symlink: 'a symbolic link', link: 'a hard link' };
const bytesIn = (text: string): number => new TextEncoder().encode(text).length;

/** Replaces control, format and separator characters, which could disguise a name; at most 120 characters. */
function readable(name: string): string {
  const clean = name.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '�');
  return clean.length > 120 ? `${clean.slice(0, 119)}…` : clean;
}

/** Applies the rules to one archive. Each method throws the error of its kind. */
export class ArchiveRules {
  readonly limits: ArchiveLimits;
  readonly #code: ArchiveKind['code'];
  readonly #files = new Set<string>();
  readonly #folders = new Set<string>();
  #entries = 0;
  #bytes = 0;

  constructor({ code, limits }: ArchiveKind) {
    this.#code = code;
    this.limits = limits;
  }

  /** Paths of the regular files so far. */
  get files(): ReadonlySet<string> {
    return this.#files;
  }
  get unpackedBytes(): number {
    return this.#bytes;
  }

  /** Call it before reading an entry. */
  accept(entry: ArchiveEntry): Accepted {
    if (++this.#entries > this.limits.entries) throw this.invalid(`it has more than ${this.limits.entries} entries`);
    const kind = this.#kindOf(entry);
    const path = this.#pathOf(entry.name);
    if (kind === 'folder') {
      if (this.#files.has(path)) throw this.invalid('a file and a folder have the same name', entry.name);
      this.#addFolders(path, entry.name);
      return { kind, path };
    }
    if (path === '') throw this.invalid('a file has no name', entry.name);
    if (this.#files.has(path)) throw this.invalid('it is there twice', entry.name);
    if (this.#folders.has(path)) throw this.invalid('a file and a folder have the same name', entry.name);
    this.#bytes += entry.sizeBytes;
    if (this.#bytes > this.limits.unpackedBytes) throw this.tooLarge(entry.name);
    this.#addFolders(path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '', entry.name);
    this.#files.add(path);
    return { kind, path };
  }
  /** Call it while reading, with the bytes after and before decompression. */
  checkRatio(unpackedBytes: number, packedBytes: number): void {
    const problem = ratioProblem(unpackedBytes, packedBytes, this.limits);
    if (problem !== undefined) throw this.invalid(`it ${problem}`);
  }
  tooLarge(entry?: string): PlatformError {
    const limit = `${Math.floor(this.limits.unpackedBytes / 2 ** 20)} MiB`;
    return this.invalid(`its files are larger than ${limit} when they are unpacked`, entry);
  }
  /** Call it after the last entry. */
  end(): void {
    if (this.#files.size === 0) throw this.invalid('it holds no file');
  }
  /** Creates the error of this archive kind, with a readable form of the entry's name. */
  invalid(problem: string, entry?: string, cause?: unknown): PlatformError {
    const shown = entry === undefined ? {} : { entry: readable(entry) };
    return new PlatformError(this.#code, { problem, ...shown }, cause);
  }

  #addFolders(path: string, name: string): void {
    for (let at = path; at !== ''; at = at.includes('/') ? at.slice(0, at.lastIndexOf('/')) : '') {
      if (this.#files.has(at)) throw this.invalid('a file and a folder have the same name', name);
      this.#folders.add(at);
    }
  }
  #kindOf({ name, type }: ArchiveEntry): Accepted['kind'] {
    if (type === 'file' || type === 'contiguous-file') return 'file';
    if (type === 'directory') return 'folder';
    throw this.invalid(`it is ${links[type ?? ''] ?? 'neither a file nor a folder'}, which is not allowed`, name);
  }
  #pathOf(name: string): string {
    if (name.startsWith('/') || /^[A-Za-z]:/.test(name)) throw this.invalid('its path is absolute', name);
    if (/[\p{Cc}\\]|\uFFFD/u.test(name)) {
      throw this.invalid('its name has a control character, a backslash or bytes that are not UTF-8', name);
    }
    const parts = name.split('/').filter((part) => part !== '' && part !== '.');
    if (parts.includes('..')) throw this.invalid('its path leads out of the archive (..)', name);
    const path = parts.join('/');
    if (bytesIn(path) > longestPathBytes || parts.some((part) => bytesIn(part) > longestNameBytes)) {
      const limit = `longer than ${longestPathBytes} bytes, or a name in it than ${longestNameBytes}`;
      throw this.invalid(`its path is ${limit}`, name);
    }
    return path;
  }
}
