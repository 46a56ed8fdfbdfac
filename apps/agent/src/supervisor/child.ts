import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { systemClock } from '@platform/kit/node';
import type { Job } from '../os/windows-ports.ts';
import type { AgentProcess } from './supervise.ts';
import { isStateMessage, stopMessage, watchdogVariable } from './messages.ts';

const lastLinesMs = 500;
const tailCharacters = 8_192;

/** Starts an agent as a child with an IPC channel. Its output goes where ours goes. */
export async function startChild(
  file: string,
  args: readonly string[],
  of: {
    cwd: string;
    watchdogMs: number;
    output: 'inherit' | number;
    /** On Windows, a job object ends the agent's children with it; elsewhere a machine server outlives its agent. */
    createJob: (() => Promise<Job>) | undefined;
  },
  notify: (line: string) => void,
): Promise<AgentProcess> {
  const child = spawn(file, [...args], {
    cwd: of.cwd,
    env: { ...process.env, [watchdogVariable]: String(of.watchdogMs) },
    // Piped through this process, to have the last lines after a crash; a file of its own is written directly.
    stdio: ['ignore', of.output, of.output === 'inherit' ? 'pipe' : of.output, 'ipc'],
    windowsHide: true,
  });
  const tail = new Tail();
  child.stderr?.on('data', (chunk: Buffer) => {
    process.stderr.write(chunk);
    tail.add(chunk);
  });
  const isRead = child.stderr ? once(child.stderr, 'close') : Promise.resolve([]);
  const exited = new Promise<string>((resolve) =>
    child.once('exit', (code, signal) => {
      // The last output may arrive after the exit event, and another process may hold the pipe open: wait for a limited
      // time.
      void Promise.race([isRead, systemClock.sleep(lastLinesMs)]).then(() =>
        resolve(signal === null ? `exit ${code}` : `signal ${signal}`),
      );
    }),
  );
  await once(child, 'spawn'); // rejects with the error event
  child.on('error', () => undefined); // a message that cannot be delivered; the exit event follows anyway
  child.on('message', (message: unknown) => {
    if (isStateMessage(message)) for (const line of message.tell.split('\n')) notify(line);
  });
  const pid = child.pid ?? 0;
  const job = await of.createJob?.();
  try {
    await job?.add(pid);
  } catch (error) {
    child.kill('SIGKILL'); // outside the job nothing could end it and its children later
    throw error;
  }
  return {
    pid,
    exited,
    lines: () => tail.lines(),
    askToStop: () => void (child.connected && child.send(stopMessage)),
    kill: () => (job ? job.end() : void child.kill('SIGKILL')),
  };
}

/** The last characters of a child's output. */
class Tail {
  #text = '';

  add(chunk: Buffer): void {
    this.#text = (this.#text + chunk.toString('utf8')).slice(-tailCharacters);
  }

  lines(): string[] {
    return this.#text.split('\n').filter((line) => line !== '');
  }
}
