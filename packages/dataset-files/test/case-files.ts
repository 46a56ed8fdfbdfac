// Folders as other tools write them, each a JSON file: a checkout on every system keeps their names and bytes.
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Source } from '../src/source.ts';

export type CaseFile = { readonly text: string } | { readonly base64: string };
export interface Case {
  readonly name: string;
  /** The right result, in words. */
  readonly right: string;
  /** Boxes as [label, left, top, right, bottom] in pixels of the upright image, or labels. */
  readonly expected?: Readonly<Record<string, unknown>>;
  readonly files: Readonly<Record<string, CaseFile>>;
}

const folder = path.join(import.meta.dirname, 'cases');
export const cases: readonly Case[] = readdirSync(folder)
  .toSorted()
  .map((file) => ({
    name: path.basename(file, '.json'),
    ...(JSON.parse(readFileSync(path.join(folder, file), 'utf8')) as Omit<Case, 'name'>),
  }));

const bytesOf = (file: CaseFile): Uint8Array =>
  'text' in file ? new TextEncoder().encode(file.text) : Uint8Array.from(Buffer.from(file.base64, 'base64'));

const textBytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** A folder in memory. Files that share one array differ at their ends: images of one size are not equal files. */
export function memorySource(files: Readonly<Record<string, CaseFile | Uint8Array | string>>): Source {
  const known = new Set<Uint8Array>();
  const contents = new Map(
    Object.entries(files).map(([name, file]) => {
      if (typeof file === 'string') return [name, textBytes(file)];
      if (!(file instanceof Uint8Array)) return [name, bytesOf(file)];
      const isShared = known.has(file);
      known.add(file);
      return [name, isShared ? Buffer.concat([file, textBytes(name)]) : file];
    }),
  );
  const read = async (name: string): Promise<Uint8Array> => {
    const bytes = contents.get(name);
    if (!bytes) throw new Error(`${name} is not in the folder`);
    return Promise.resolve(bytes);
  };
  return {
    files: [...contents].map(([name, bytes]) => ({ path: name, sizeBytes: bytes.length })),
    read,
    readStart: async (name, bytes) => (await read(name)).subarray(0, bytes),
  };
}

/** The header of a PNG file with this size: enough for an import, which decodes no pixels. */
export function pngStart(width: number, height: number): Uint8Array {
  const bytes = new Uint8Array(57);
  bytes.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const view = new DataView(bytes.buffer);
  view.setUint32(8, 13);
  view.setUint32(12, 0x49484452);
  view.setUint32(16, width);
  view.setUint32(20, height);
  view.setUint32(37, 0x49444154);
  // Each another file.
  bytes.set(randomBytes(4), 53);
  return bytes;
}
