import { mkdir, open, stat, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Lines, Position } from '../ports.ts';
import { watchFile } from './file-watch.ts';
import { makeRoom } from './spare-lines.ts';

const chunkBytes = 64 * 1024;
const countBytes = 2 ** 20;
const mostTurns = 20;
const newLine = 0x0a;

/** @param spareFolder - where lines may lie while the disk of `root` is full; undefined: nowhere. */
export function linuxLines(root: string, spareFolder?: () => Promise<string | undefined>): Lines {
  const at = (file: string) => path.join(root, file);
  const look = async (file: string): Promise<{ id: string; size: number }> => {
    try {
      const s = await stat(at(file));
      return { id: `${s.dev}/${s.ino}`, size: s.size };
    } catch {
      return { id: '', size: 0 }; // not there yet
    }
  };
  const end = async (file: string): Promise<Position> => {
    await mkdir(path.dirname(at(file)), { recursive: true, mode: 0o700 });
    await (await open(at(file), 'a', 0o640)).close(); // its identity is needed before its first line
    const { id, size } = await look(file);
    return { file: id, offset: size };
  };

  return {
    end,
    async makeRoom(file) {
      await mkdir(path.dirname(at(file)), { recursive: true, mode: 0o700 }).catch(() => {});
      return makeRoom(at(file), await spareFolder?.());
    },
    async read(file, from) {
      const { id, size } = await look(file);
      // Another file, or one that was cut off, is read from its beginning.
      const offset = from && from.file === id && from.offset <= size ? from.offset : 0;
      if (size <= offset) return { lines: [], position: { file: id, offset } };
      await using handle = await open(at(file), 'r');
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(chunkBytes), 0, chunkBytes, offset);
      const bytes = buffer.subarray(0, bytesRead);
      const last = bytes.lastIndexOf(newLine);
      // A line longer than the chunk is given in parts; else an unfinished line waits for its end.
      const used = last >= 0 ? last + 1 : bytesRead === chunkBytes ? bytesRead : 0;
      const text = bytes.toString('utf8', 0, used);
      const lines =
        used === 0
          ? []
          : text
              .replace(/\n$/, '')
              .split('\n')
              .map((line) => line.replace(/\r$/, ''));
      return { lines, position: { file: id, offset: offset + used } };
    },
    follow: (file, clock) => watchFile(at(file), clock),
    async trim(file, read, limitBytes) {
      const { id, size } = await look(file);
      if (read.file !== id || size <= limitBytes || read.offset < size) return read;
      await truncate(at(file), 0); // its writer appends, so it goes on at the new end
      return { file: id, offset: 0 };
    },
    async empty(file, from, limitBytes) {
      const { id, size: first } = await look(file);
      const seen = from && from.file === id && from.offset <= first ? from.offset : 0;
      if (first - seen <= limitBytes) return undefined;
      let lines = 0;
      let size = seen;
      await using handle = await open(at(file), 'r');
      const chunk = Buffer.alloc(countBytes);
      // What is written between the last look and the cut is lost uncounted: the look comes just before it.
      for (let until = first, turns = 0; size < until && turns < mostTurns; until = (await look(file)).size, turns++) {
        while (size < until) {
          const { bytesRead } = await handle.read(chunk, 0, chunk.length, size);
          if (bytesRead === 0) break;
          for (let i = chunk.indexOf(newLine); i >= 0 && i < bytesRead; i = chunk.indexOf(newLine, i + 1)) lines++;
          size += bytesRead;
        }
      }
      const { bytesRead } = await handle.read(chunk, 0, chunk.length, Math.max(0, size - chunk.length));
      await writeFile(`${at(file)}.1`, chunk.subarray(0, bytesRead), { mode: 0o640 }).catch(() => {}); // a full disk
      await truncate(at(file), 0);
      return { position: { file: id, offset: 0 }, lines };
    },
  };
}
