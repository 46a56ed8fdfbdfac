/** Descriptors that a program is born with. */
import { closeSync, readdirSync, readlinkSync } from 'node:fs';

/**
 * Closes files, folders and sockets that whoever started the runner had left open, which reach through every program on the way:
 * an open folder would lead out of a sandbox. To be called before the program opens anything. Node's own are neither.
 */
export function closeInherited(): void {
  let names: string[];
  try {
    names = readdirSync('/proc/self/fd');
  } catch {
    return; // not Linux
  }
  for (const fd of names.map(Number).filter((number) => number > 2)) {
    try {
      const target = readlinkSync(`/proc/self/fd/${fd}`);
      if (target.startsWith('/') && !target.startsWith('/dev/')) closeSync(fd);
    } catch {
      // the one that listed the folder
    }
  }
}
