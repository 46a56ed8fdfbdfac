import { readFileSync } from 'node:fs';

/** Resident memory of a process in MiB; undefined if the process is gone or the system has no /proc. */
export function residentMib(pid: number): number | undefined {
  try {
    const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return kib === undefined ? undefined : Number(kib) / 1024;
  } catch {
    return undefined;
  }
}
