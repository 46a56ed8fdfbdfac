import type { Clock } from '@platform/kit';
import { fileDisk } from '../file-disk.ts';
import { thisHost } from '../host.ts';
import { posixLines } from '../posix/lines.ts';
import { httpProbe } from '../probe.ts';
import { systemWeb } from '../web.ts';
import type { Device } from '../ports.ts';
import { windowsFileSystem } from './file-system.ts';
import { windowsProcesses } from './processes.ts';

/** Uses the POSIX code for all that does not depend on Windows. */
export function windowsDevice({ root, clock }: { root: string; clock: Clock }): Device {
  const files = windowsFileSystem(root);
  return {
    processes: windowsProcesses(root),
    files,
    disk: fileDisk(files),
    lines: posixLines(root),
    web: systemWeb,
    probe: httpProbe(clock),
    host: thisHost(),
  };
}
