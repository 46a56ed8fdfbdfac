import { randomUUID } from 'node:crypto';
import type { Clock } from '@platform/kit';
import { fileDisk } from '../file-disk.ts';
import { thisHost } from '../host.ts';
import { posixLines } from '../posix/lines.ts';
import { httpProbe } from '../probe.ts';
import { systemWeb } from '../web.ts';
import type { Device } from '../ports.ts';
import { controlPipe } from './control-pipe.ts';
import { windowsFileSystem } from './file-system.ts';
import { windowsUsage } from './usage.ts';
import { windowsProcesses } from './processes.ts';

/** Uses the POSIX code for all that does not depend on Windows. */
export function windowsDevice({
  root,
  clock,
  pipeFile,
  interrupt,
  bootId,
}: {
  root: string;
  clock: Clock;
  /** Below the root: holds the name of the control channel. */
  pipeFile: string;
  /** Sends Ctrl+C to the console of a process. @throws if it cannot */
  interrupt: (pid: number) => Promise<void>;
  bootId: string;
}): Device {
  const files = windowsFileSystem(root);
  return {
    processes: windowsProcesses(root, interrupt),
    files,
    disk: fileDisk(files),
    lines: posixLines(root),
    web: systemWeb,
    probe: httpProbe(clock),
    host: { ...thisHost(), bootId },
    runId: randomUUID(),
    openControl: controlPipe(root, pipeFile),
    usage: () => windowsUsage(root),
  };
}
