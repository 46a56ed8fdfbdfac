/** File descriptors that the process inherits. */
import { closeSync, readdirSync, readlinkSync } from 'node:fs';

const ofNode = ['/dev/', '/sys/devices/system/cpu/'];

/**
 * Closes files, folders and sockets inherited from the process that started the runner: an open folder would bypass a
 * sandbox. Call it before the program opens any file. Node's own descriptors are of other types, but for files about the
 * processor: its threads read these, and close them a moment later.
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
      if (target.startsWith('/') && !ofNode.some((folder) => target.startsWith(folder))) closeSync(fd);
    } catch {
      // the descriptor of the folder listing itself
    }
  }
}
