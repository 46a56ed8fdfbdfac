import { createHash } from 'node:crypto';
import { PlatformError } from '@platform/contract/errors';
import type { Clock } from '@platform/kit';
import type { Versions } from '../ports.ts';
import type { SimFiles } from './files.ts';

/** The world outside of a simulated device: what URLs lead to. */
export interface SimReleases {
  files: Map<string, Uint8Array>;
  /** False: nothing can be reached. */
  isReachable: boolean;
  /** A download never goes on after it began. */
  isStuck: boolean;
  freeBytes: number;
}

const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const link = 'bin/platform-server';
const encoder = new TextEncoder();

const fileOf = (id: string): string => `versions/${id}/platform-server`;

export function simVersions(
  files: SimFiles,
  releases: SimReleases,
  idOf: (version: string, sha256: string) => string,
  clock: Clock,
): Versions {
  const list = () =>
    files
      .names()
      .map((name) => /^versions\/([^/]+)\/platform-server$/.exec(name)?.[1])
      .filter((id) => id !== undefined);
  const isSound = (id: string): boolean => {
    const bytes = files.get(fileOf(id))?.bytes;
    if (!bytes) return false;
    if (id.endsWith(hashOf(bytes).slice(0, 12))) return true;
    files.remove(fileOf(id));
    return false;
  };
  return {
    list: async () => list(),
    async linked() {
      const bytes = files.get(link)?.bytes;
      const id = bytes && new TextDecoder().decode(bytes);
      return id !== undefined && isSound(id) ? id : null;
    },
    async known(url) {
      const known = files.get(`known/${url}`)?.bytes;
      const source = releases.files.get(url);
      const id = known && new TextDecoder().decode(known);
      if (id === undefined) return null;
      return !releases.isReachable || !source || id.endsWith(hashOf(source).slice(0, 12)) ? id : null;
    },
    async download({ url, version, sha256 }, signal) {
      await clock.sleep(1_000, signal);
      if (releases.isStuck) await clock.sleep(Infinity, signal);
      signal.throwIfAborted();
      const bytes = releases.files.get(url);
      if (!releases.isReachable || !bytes) throw new PlatformError('DOWNLOAD_FAILED', { url, problem: 'out of reach' });
      if (bytes.length > releases.freeBytes) throw new PlatformError('DISK_FULL', { path: 'cache' });
      const got = hashOf(bytes);
      if (sha256 !== '' && got !== sha256)
        throw new PlatformError('DOWNLOAD_CORRUPT', { url, wantSha256: sha256, gotSha256: got });
      if (sha256 === '' && !/^(#!|\x7fELF)/.test(new TextDecoder().decode(bytes.subarray(0, 4)))) {
        throw new PlatformError('DOWNLOAD_FAILED', { url, problem: 'it leads to something that is no program' });
      }
      const id = idOf(version, got);
      files.put(fileOf(id), bytes.slice());
      if (sha256 === '') files.put(`known/${url}`, encoder.encode(id));
      return id;
    },
    async link(id) {
      if (!isSound(id)) throw new PlatformError('DOWNLOAD_CORRUPT', { url: id });
      files.put(link, encoder.encode(id));
    },
    async remove(id) {
      files.remove(fileOf(id));
    },
  };
}
