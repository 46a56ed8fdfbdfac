import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import path from 'node:path';
import { childEnvironment } from '../environment.ts';
import type { Exit, Processes } from '../ports.ts';
import { createJob } from './win32.ts';

/**
 * Runs each process and its children in a job object, which Windows ends with this agent. So no process can be adopted,
 * and the next agent starts the machine server again. TERM and QUIT are Ctrl+C in the console of the process; KILL ends
 * the job. A process that cannot be asked is killed.
 *
 * @param interrupt - sends Ctrl+C to all processes of the console of `pid`. @throws if it cannot
 */
export const windowsProcesses = (root: string, interrupt: (pid: number) => Promise<void>): Processes => ({
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
