import { readFileSync } from 'node:fs';

/**
 * Resident memory of this process that is not backed by a file, in bytes; undefined where the system does not report
 * it.
 */
export function ownMemory(): number | undefined {
  try {
    const kilobytes = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
  } catch {
    return undefined;
  }
}
