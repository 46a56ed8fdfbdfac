/** Reads a file that another process appends to, line by line. */
import { closeSync, openSync, readSync } from 'node:fs';

/** Truncates longer lines, so that a trainer without line breaks cannot exhaust the memory. */
const longestLine = 64 * 1024;

export interface Tail {
  /** The lines completed since the last call. */
  read(): string[];
  /** The remaining lines, including an incomplete last one; closes the file. */
  end(): string[];
}

/** The file must exist. */
export function tailOf(path: string): Tail {
  const file = openSync(path, 'r');
  const chunk = Buffer.alloc(64 * 1024);
  const decoder = new TextDecoder();
  let position = 0;
  let rest = '';
  const read = (): string[] => {
    const lines: string[] = [];
    for (;;) {
      const count = readSync(file, chunk, 0, chunk.length, position);
      if (count === 0) return lines;
      position += count;
      const parts = (rest + decoder.decode(chunk.subarray(0, count), { stream: true })).split('\n');
      rest = (parts.pop() ?? '').slice(0, longestLine);
      lines.push(...parts.map((line) => line.slice(0, longestLine)));
    }
  };
  return {
    read,
    end: () => {
      const lines = read();
      closeSync(file);
      return rest === '' ? lines : [...lines, rest];
    },
  };
}
