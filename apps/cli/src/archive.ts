import { readFileSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { checkout } from './data-folder.ts';

/** A program for machines. */
export interface ReleaseFile {
  readonly name: 'platform-server' | 'platform-agent';
  readonly version: string;
  readonly platform: string;
  readonly file: string;
  readonly sha256: string;
  readonly size: number;
}

/** `release.json` of an unpacked archive of the server (`npm run build:server`); paths are absolute. */
export interface Archive {
  readonly version: string;
  /** linux-x64 or linux-arm64. */
  readonly platform: string;
  readonly node: string;
  readonly postgres: string;
  /** The key that signed the archive (SPKI PEM); absent: it is not signed. */
  readonly signing_key?: string;
  readonly web: string;
  /** The agent for Node. */
  readonly agent: string;
  readonly releases: readonly ReleaseFile[];
}

/** @returns undefined if `folder` is not an unpacked archive, but a checkout. */
export function readArchive(folder = checkout): Archive | undefined {
  let text: string;
  try {
    text = readFileSync(path.join(folder, 'release.json'), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  const archive = JSON.parse(text) as Archive;
  const at = (file: string): string => path.join(folder, file);
  const releases = archive.releases.map((one) => ({ ...one, file: at(one.file) }));
  return { ...archive, web: at(archive.web), agent: at(archive.agent), releases };
}

/** The bytes of a program for machines, which an archive holds compressed. */
export function readProgram(file: string): Buffer<ArrayBuffer> {
  const bytes = readFileSync(file);
  return file.endsWith('.gz') ? gunzipSync(bytes) : bytes;
}
