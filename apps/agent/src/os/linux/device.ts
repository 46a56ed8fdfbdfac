import type { Clock } from '@platform/kit';
import { inMemory } from '@platform/kit/node';
import type { Device } from '../ports.ts';
import { linuxDisk } from './disk.ts';
import { linuxFileSystem } from './file-system.ts';
import { linuxHost } from './host.ts';
import { linuxLines } from './lines.ts';
import { linuxProbe } from './probe.ts';
import { linuxProcesses } from './processes.ts';
import { systemdProcesses } from './systemd.ts';
import type { RequestTrace } from '../request-trace.ts';
import { linuxWeb, webBy } from './web.ts';

/** A machine with a POSIX file system; processes are known again through /proc where there is one. */
export function linuxDevice(of: {
  root: string;
  mark: { name: string; value: string };
  /** How the machine server is started where systemd runs this agent; see systemdProcesses. */
  units?: { unit: string; agentUnit: string; stopMs: number };
  clock: Clock;
  trace?: RequestTrace | undefined;
}): Device {
  const { root, mark, units, clock, trace } = of;
  const host = linuxHost();
  const plain = linuxProcesses(root, mark, clock);
  const isUnit = host.isSupervisedBySystemd && process.getuid?.() === 0;
  return {
    processes: units && isUnit ? systemdProcesses({ root, mark, plain, clock, ...units }) : plain,
    files: linuxFileSystem(root),
    disk: linuxDisk(root),
    lines: linuxLines(root, () => inMemory('log', root)),
    web: trace ? webBy(fetch, { trace, clock }) : linuxWeb,
    probe: linuxProbe(clock, trace),
    host,
  };
}
