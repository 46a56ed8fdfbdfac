import { readFileSync } from 'node:fs';

/** The kernel writes another text into it at each start of the machine; a container shows its host's. */
export const bootIdFile = '/proc/sys/kernel/random/boot_id';

/** Empty where there is none. */
export function machineBootId(): string {
  try {
    return readFileSync(bootIdFile, 'utf8').trim();
  } catch {
    return '';
  }
}
