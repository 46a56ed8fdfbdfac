import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { chmod, mkdir, open, readdir, readFile, readlink, rename, rm, stat, symlink } from 'node:fs/promises';
import path from 'node:path';
import { PlatformError } from '@platform/contract/errors';
import { within, type Clock, type Log } from '@platform/kit';
import { atomicWrite, readJson } from '@platform/kit/node';
import type { Versions } from '../ports.ts';
import { fetchFile, freeBytesOf, stampOf, type FreeBytes } from './download.ts';

const stampAgeMs = 120_000;
const stampWaitMs = 15_000;

interface Known {
  id: string;
  stamp: string;
}

/**
 *   versions/<id>/<program>        one complete, checked file per folder
 *   versions/<id>/sha256           of that file; written before the program appears
 *   bin/<program>                  link, only ever replaced by rename
 *   cache/part/                    unfinished downloads
 *   cache/known.json               URL → the version it led to, for releases that come without a hash
 */
export function linuxVersions(
  root: string,
  program: string,
  idOf: (version: string, sha256: string) => string,
  { clock, log, freeBytes = freeBytesOf }: { clock: Clock; log: Log; freeBytes?: FreeBytes },
): Versions {
  const at = (...names: string[]) => path.join(root, ...names);
  const fileOf = (id: string) => at('versions', id, program);
  const knownFile = at('cache', 'known.json');
  const stamps = new Map<string, { stamp: string; at: number }>();
  const sound = new Map<string, string>(); // id → size and time of the file whose hash was right

  const readKnown = async (): Promise<Record<string, Known>> =>
    ((await readJson(knownFile).catch(() => undefined)) ?? {}) as Record<string, Known>;

  /** Hashes a file once and again when it was touched; a damaged version is removed. */
  const isSound = async (id: string): Promise<boolean> => {
    try {
      const seen = await look(fileOf(id));
      if (sound.get(id) === seen) return true;
      const want = (await readFile(at('versions', id, 'sha256'), 'utf8')).trim();
      const got = await hashOf(fileOf(id));
      if (got !== want) {
        log.error('an installed version is damaged and is removed', { id, wantSha256: want, gotSha256: got });
        await rm(at('versions', id), { recursive: true, force: true });
        return false;
      }
      sound.set(id, seen);
      return true;
    } catch {
      return false; // not there
    }
  };

  return {
    async list() {
      const ids = await readdir(at('versions')).catch(() => []);
      const found: { id: string; time: number }[] = [];
      for (const id of ids) {
        const s = await stat(fileOf(id)).catch(() => undefined);
        if (s?.isFile()) found.push({ id, time: s.mtimeMs });
      }
      return found.toSorted((a, b) => a.time - b.time).map(({ id }) => id);
    },

    async linked() {
      const target = await readlink(at('bin', program)).catch(() => undefined);
      const id = target === undefined ? undefined : path.basename(path.dirname(target));
      return id !== undefined && (await isSound(id)) ? id : null;
    },

    async known(url, signal) {
      const known = (await readKnown())[url];
      if (!known) return null;
      const seen = stamps.get(url);
      if (!seen || clock.now() - seen.at >= stampAgeMs) {
        // Out of reach: what is known of it stays valid.
        const stamp = await within(stampWaitMs, { what: 'the answer', clock, signal }, (inner) =>
          stampOf(url, inner),
        ).catch(() => known.stamp);
        stamps.set(url, { stamp, at: clock.now() });
      }
      return stamps.get(url)?.stamp === known.stamp ? known.id : null;
    },

    async download({ url, version, sha256 }, signal) {
      const { file, sha256: got, stamp } = await fetchFile(url, at('cache', 'part'), { clock, log, freeBytes }, signal);
      if (sha256 !== '' && got !== sha256) {
        await rm(file, { force: true });
        throw new PlatformError('DOWNLOAD_CORRUPT', { url, wantSha256: sha256, gotSha256: got });
      }
      if (sha256 === '' && !(await isProgram(file))) {
        await rm(file, { force: true });
        throw new PlatformError('DOWNLOAD_FAILED', { url, problem: 'it leads to something that is no program' });
      }
      const id = idOf(version, got);
      await mkdir(at('versions', id), { recursive: true, mode: 0o755 });
      await atomicWrite(at('versions', id, 'sha256'), `${got}\n`);
      await chmod(file, 0o755);
      await rename(file, fileOf(id));
      await syncFolders(at('versions', id), at('versions'));
      sound.set(id, await look(fileOf(id))); // hashed while it was written
      if (sha256 === '') {
        await atomicWrite(knownFile, JSON.stringify({ ...(await readKnown()), [url]: { id, stamp } }), { mode: 0o600 });
        stamps.set(url, { stamp, at: clock.now() });
      }
      return id;
    },

    async link(id) {
      if (!(await isSound(id))) throw new PlatformError('DOWNLOAD_CORRUPT', { url: `versions/${id}` });
      await mkdir(at('bin'), { recursive: true, mode: 0o755 });
      const temporary = at('bin', `${program}.tmp`);
      await rm(temporary, { force: true });
      await symlink(path.join('..', 'versions', id, program), temporary);
      await rename(temporary, at('bin', program));
      await syncFolders(at('bin'));
    },

    remove: (id) => rm(at('versions', id), { recursive: true, force: true }),
  };
}

/** Changes whenever the file does. */
async function look(file: string): Promise<string> {
  const s = await stat(file);
  return `${s.size}/${s.mtimeMs}/${s.ino}`;
}

async function hashOf(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk as Uint8Array);
  return hash.digest('hex');
}

/** ELF, a script, Mach-O or PE; a web page that says "not found" is none. */
async function isProgram(file: string): Promise<boolean> {
  await using handle = await open(file, 'r');
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(4), 0, 4, 0);
  const head = buffer.toString('latin1', 0, bytesRead);
  return ['\x7fELF', '#!', '\xcf\xfa\xed\xfe', 'MZ'].some((magic) => head.startsWith(magic));
}

async function syncFolders(...folders: string[]): Promise<void> {
  for (const folder of folders) {
    await using handle = await open(folder, 'r');
    await handle.sync();
  }
}
