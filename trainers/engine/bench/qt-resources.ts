// Qt's binary resource files (.rcc): a tree of names, and the bytes of the files in it. All numbers are big-endian.
import { inflateSync } from 'node:zlib';

const isCompressed = 1;
const isFolder = 2;
const isZstd = 4;

/** Yields [path, bytes] of every file. Throws where the bytes are no such resource. */
export function* qtResources(raw: Buffer): Generator<[string, Buffer]> {
  if (raw.toString('latin1', 0, 4) !== 'qres') throw new Error('not a Qt resource file');
  const version = raw.readUInt32BE(4);
  const tree = raw.readUInt32BE(8);
  const bodies = raw.readUInt32BE(12);
  const names = raw.readUInt32BE(16);
  const entryBytes = version >= 2 ? 22 : 14;

  function nameAt(offset: number): string {
    const length = raw.readUInt16BE(names + offset);
    const start = names + offset + 6;
    return Buffer.from(raw.subarray(start, start + 2 * length))
      .swap16()
      .toString('utf16le');
  }
  function* walk(index: number, parent: string): Generator<[string, Buffer]> {
    const at = tree + index * entryBytes;
    const flags = raw.readUInt16BE(at + 4);
    const here = index === 0 ? '' : `${parent}/${nameAt(raw.readUInt32BE(at))}`;
    if (flags & isFolder) {
      const [count, first] = [raw.readUInt32BE(at + 6), raw.readUInt32BE(at + 10)];
      for (let i = 0; i < count; i++) yield* walk(first + i, here);
      return;
    }
    if (flags & isZstd) return;
    const start = bodies + raw.readUInt32BE(at + 10);
    const body = raw.subarray(start + 4, start + 4 + raw.readUInt32BE(start));
    yield [here, flags & isCompressed ? inflateSync(body.subarray(4)) : body];
  }
  yield* walk(0, '');
}
