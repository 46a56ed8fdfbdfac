import { open, stat } from 'node:fs/promises';
import { isMark } from '../os/output-marks.ts';

const tailBytes = 1 << 20;

/** Returns the last whole lines of a file and the position after them; undefined: the file does not exist. */
export async function lastLinesOf(
  file: string,
  count: number,
): Promise<{ lines: string[]; position: { file: string; offset: number } } | undefined> {
  const found = await stat(file).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (!found) return undefined;
  const begin = Math.max(0, found.size - tailBytes);
  await using handle = await open(file, 'r');
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(found.size - begin), 0, found.size - begin, begin);
  const end = buffer.lastIndexOf(0x0a, bytesRead - 1) + 1; // an incomplete line waits for its end
  const all = buffer.toString('utf8', 0, end).split('\n').slice(0, -1);
  if (begin > 0) all.shift();
  const lines = all.filter((line) => !isMark(line));
  return {
    lines: count === 0 ? [] : lines.slice(-count),
    position: { file: `${found.dev}/${found.ino}`, offset: begin + end },
  };
}
