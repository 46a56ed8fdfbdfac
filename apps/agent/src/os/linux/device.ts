import type { Clock, Log } from '@platform/kit';
import type { Device } from '../ports.ts';
import { linuxDisk } from './disk.ts';
import { linuxHost } from './host.ts';
import { linuxLines } from './lines.ts';
import { linuxProbe } from './probe.ts';
import { linuxProcesses } from './processes.ts';
import { systemdProcesses } from './systemd.ts';
import { linuxVersions } from './versions.ts';

/** A machine with a POSIX file system; processes are known again through /proc where there is one. */
export function linuxDevice(of: {
  root: string;
  program: string;
  mark: { name: string; value: string };
  idOf: (version: string, sha256: string) => string;
  /** How the machine server is started where systemd runs this agent; see systemdProcesses. */
  units?: { unit: string; agentUnit: string; stopMs: number };
  clock: Clock;
  log: Log;
}): Device {
  const { root, program, mark, idOf, units, clock, log } = of;
  const host = linuxHost();
  const plain = linuxProcesses(root, mark, clock);
  const isUnit = host.isSupervisedBySystemd && process.getuid?.() === 0;
  return {
    processes: units && isUnit ? systemdProcesses({ root, mark, plain, clock, ...units }) : plain,
    disk: linuxDisk(root),
    lines: linuxLines(root),
    versions: linuxVersions(root, program, idOf, { clock, log }),
    probe: linuxProbe(clock),
    host,
  };
}
