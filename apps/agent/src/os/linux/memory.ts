import { readFileSync } from 'node:fs';

/** Bytes of memory that this process does not share with a file; undefined where the system does not tell. */
export function ownMemory(): number | undefined {
  try {
    const kilobytes = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
  } catch {
    return undefined;
  }
}
