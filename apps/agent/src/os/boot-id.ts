import { readFileSync } from 'node:fs';

/** Changes at each boot of the kernel; a container sees its host's. */
export const bootIdFile = '/proc/sys/kernel/random/boot_id';

/** Empty if the system has none. */
export function machineBootId(): string {
  try {
    return readFileSync(bootIdFile, 'utf8').trim();
  } catch {
    return '';
  }
}
