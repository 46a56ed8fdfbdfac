import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import path from 'node:path';
import { childEnvironment } from '../environment.ts';
import type { Exit, Processes } from '../ports.ts';
import { createJob } from './win32.ts';

/**
 * Runs each process and its children in a job object, which Windows ends with this agent. So no process can be adopted,
 * and the next agent starts the machine server again. Windows has no signals: any signal ends the job at once.
 */
export const windowsProcesses = (root: string): Processes => ({
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
      return { id: { pid, startTime: '' }, exited, signal: () => job.end() };
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
