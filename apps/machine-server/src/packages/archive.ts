import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { extract } from 'tar-stream';

type Entry = ReturnType<typeof extract> extends AsyncIterable<infer E> ? E : never;

/** What an archive may unpack to. */
export const unpackLimits = { bytes: 4 * 1024 ** 3, files: 10_000 };

/**
 * Unpacks a .tar.gz into `folder`, which must exist and be empty. Only plain files and folders inside of `folder` are
 * taken; anything else in the archive refuses it whole, so a half-unpacked folder must be thrown away on an error.
 *
 * @throws Error that says what is wrong with the archive.
 */
export async function unpack(archive: string, folder: string, limits = unpackLimits): Promise<void> {
  const tar = extract();
  const left = { ...limits };
  const failure = { error: undefined as unknown };
  const reading = pipeline(createReadStream(archive), createGunzip(), tar).catch((error: unknown) => {
    failure.error ??= error;
  });
  try {
    for await (const entry of tar) {
      left.files -= 1;
      left.bytes -= entry.header.size;
      if (left.files < 0) throw new Error(`the archive holds more than ${limits.files} files`);
      if (left.bytes < 0) throw new Error(`the archive unpacks to more than ${limits.bytes} bytes`);
      await unpackEntry(entry, folder);
    }
  } catch (error) {
    failure.error ??= error;
    tar.destroy();
  }
  await reading;
  if (failure.error !== undefined) throw failure.error;
}

async function unpackEntry(entry: Entry, folder: string): Promise<void> {
  const { name, type } = entry.header;
  const target = inside(folder, name);
  switch (type) {
    case 'directory':
      await mkdir(target, { recursive: true });
      entry.resume();
      return;
    case 'file':
      await mkdir(path.dirname(target), { recursive: true });
      // 'wx': a name that comes twice is refused, so nothing is ever written through something unpacked before.
      await pipeline(Readable.from(entry), createWriteStream(target, { flags: 'wx', mode: 0o644 }));
      return;
    default:
      throw new Error(`the archive holds a ${type} ("${name}"); only files and folders are taken`);
  }
}

/** @throws Error when `name` is absolute, leads out of `folder` or means something else elsewhere. */
export function inside(folder: string, name: string): string {
  const parts = name.split('/').filter((part) => part !== '' && part !== '.');
  const isPlain = !name.startsWith('/') && !/[\\\0]/.test(name) && !/^[A-Za-z]:/.test(name);
  if (!isPlain || parts.includes('..')) throw new Error(`the archive holds a file outside of its folder: "${name}"`);
  return path.join(folder, ...parts);
}
