import { randomUUID } from 'node:crypto';
import type { Clock } from '@platform/kit';
import { fileDisk } from '../file-disk.ts';
import { thisHost } from '../host.ts';
import { posixLines } from '../posix/lines.ts';
import { httpProbe } from '../probe.ts';
import { systemWeb } from '../web.ts';
import type { Device, OpenControl, UsageReading, Exit, Processes } from '../ports.ts';
import { windowsFileSystem } from './file-system.ts';
import { rm, statfs } from 'node:fs/promises';
import path from 'node:path';
import { atomicWrite } from '@platform/kit/node';
import { closePipeToOthers } from './win32-machine.ts';
import os from 'node:os';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { childEnvironment } from '../environment.ts';
import { createJob } from './win32.ts';

/** Uses the POSIX code for all that does not depend on Windows. */
export function windowsDevice(of: {
  root: string;
  clock: Clock;
  /** Below the root: holds the name of the control channel. */
  pipeFile: string;
  /** Sends Ctrl+C to the console of a process. @throws if it cannot */
  interrupt: (pid: number) => Promise<void>;
  bootId: string;
}): Device {
  const { root, clock, pipeFile, interrupt, bootId } = of;
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

/**
 * A named pipe for the system and the administrators. Any program can take a pipe's name before we do, and then read
 * what commands send: the name is new at each start, and is written to a file that only the same users can read.
 *
 * @param file - below the root, holds the name.
 */
export const controlPipe =
  (root: string, file: string): OpenControl =>
  async (listen) => {
    const name = String.raw`\\.\pipe\platform-agent-${randomUUID()}`;
    const nameFile = path.join(root, file);
    await listen(name);
    await closePipeToOthers(name);
    await atomicWrite(nameFile, `${name}\n`, { mode: 0o600 });
    return () => rm(nameFile, { force: true });
  };

// What Node reports of any machine. It reports neither the temperature nor the bytes of the network.

/** @param folder - on the disk that is measured */
export async function windowsUsage(folder: string): Promise<UsageReading> {
  const times = os.cpus().map((processor) => processor.times);
  const idle = times.reduce((sum, time) => sum + time.idle, 0);
  const total = times.reduce((sum, { user, nice, sys, idle: rest, irq }) => sum + user + nice + sys + rest + irq, 0);
  const space = await statfs(folder).catch(() => undefined);
  return {
    ...(total > 0 && { processor: { busy: total - idle, total } }),
    memory: { usedBytes: os.totalmem() - os.freemem(), sizeBytes: os.totalmem() },
    ...(space &&
      space.blocks > 0 && {
        disk: { usedBytes: (space.blocks - space.bfree) * space.bsize, sizeBytes: space.blocks * space.bsize },
      }),
  };
}

/**
 * Runs each process and its children in a job object, which Windows ends with this agent. So no process can be adopted,
 * and the next agent starts the machine server again. TERM and QUIT are Ctrl+C in the console of the process; KILL ends
 * the job. A process that cannot be asked is killed.
 *
 * @param interrupt - sends Ctrl+C to all processes of the console of `pid`. @throws if it cannot
 */
const windowsProcesses = (root: string, interrupt: (pid: number) => Promise<void>): Processes => ({
  async start(command) {
    const at = (file: string) => path.join(root, file);
    const out = openSync(at(command.stdoutFile), 'a');
    const err = openSync(at(command.stderrFile), 'a');
    try {
      const job = await createJob();
      const child = spawn(at(command.program), [...command.args], {
        cwd: root,
        env: { ...childEnvironment(process.env), ...command.env },
        stdio: ['ignore', out, err],
        windowsHide: true,
      });
      const exited = new Promise<Exit>((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })));
      await once(child, 'spawn'); // rejects with the error event
      const pid = child.pid ?? 0;
      try {
        await job.add(pid);
      } catch (error) {
        child.kill('SIGKILL'); // it would outlive this agent
        throw error;
      }
      const signal = (name: 'TERM' | 'QUIT' | 'KILL'): void => {
        if (name === 'KILL') job.end();
        else if (child.exitCode === null) void interrupt(pid).catch(() => job.end());
      };
      return { id: { pid, startTime: '' }, exited, signal };
    } finally {
      closeSync(out);
      closeSync(err);
    }
  },
  adopt: () => undefined,
  find: async () => [],
  ended: async () => undefined,
  foreignProcesses: async () => [],
  listener: async () => undefined,
  isReplaced: async () => false, // Windows locks the file of a running program
});
