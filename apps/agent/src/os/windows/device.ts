import type { Clock } from '@platform/kit';
import { fileDisk } from '../file-disk.ts';
import { linuxHost } from '../host.ts';
import { linuxLines } from '../posix/lines.ts';
import { linuxProbe } from '../probe.ts';
import { linuxWeb } from '../web.ts';
import type { Device } from '../ports.ts';
import { windowsFileSystem } from './file-system.ts';
import { windowsProcesses } from './processes.ts';

/** What is not Windows' own is as on Linux. */
export function windowsDevice({ root, clock }: { root: string; clock: Clock }): Device {
  const files = windowsFileSystem(root);
  return {
    processes: windowsProcesses(root),
    files,
    disk: fileDisk(files),
    lines: linuxLines(root),
    web: linuxWeb,
    probe: linuxProbe(clock),
    host: linuxHost(),
  };
}
