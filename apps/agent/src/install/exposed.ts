import { realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Exposed } from './facts.ts';

const [writableByOthers, writableByGroup] = [0o002, 0o020];
const sticky = 0o1000;

/**
 * Finds which of this path and its parents other users than root and the current one can change. In a sticky folder
 * such as /tmp, users cannot replace the files of others.
 */
export async function exposedOf(target: string): Promise<Exposed[]> {
  const found: Exposed[] = [];
  let at = await realpath(target).catch(() => target); // root will create what does not exist yet
  for (;;) {
    const entry = await stat(at).catch(() => undefined);
    const isOurs = entry?.uid === 0 || entry?.uid === process.getuid?.();
    const others = entry?.gid === 0 ? writableByOthers : writableByOthers | writableByGroup;
    const isOpen = entry && (entry.mode & others) !== 0 && !(entry.isDirectory() && entry.mode & sticky);
    if (entry && (!isOurs || isOpen)) {
      found.push({ path: at, because: `owner ${entry.uid}, mode ${(entry.mode & 0o7777).toString(8)}` });
    }
    const parent = path.dirname(at);
    if (parent === at) return found;
    at = parent;
  }
}
