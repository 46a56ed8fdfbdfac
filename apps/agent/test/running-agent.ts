import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { AgentStatus } from '@platform/contract/machine/agent-status';
import { spawnGroup, systemClock, type ProcessGroup } from '@platform/kit/node';
import type { TempFolder } from '@platform/kit/testing';
import { controlOf } from '../src/control/client.ts';
import type { TestCloud } from './test-cloud.ts';

export const runtimes = {
  Node: process.execPath,
  Bun: path.join(
    import.meta.dirname,
    `../../../node_modules/@oven/bun-linux-${process.arch === 'arm64' ? 'aarch64' : 'x64'}/bin/bun`,
  ),
} as const;

export const mainFile = path.join(import.meta.dirname, '../src/main.ts');

export interface Ran {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs one agent command as a separate process. */
export const command = (args: readonly string[], env: Record<string, string> = {}, input = ''): Promise<Ran> =>
  new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [mainFile, ...args],
      { env: { PATH: process.env['PATH'], ...env }, maxBuffer: 1 << 24 },
      (error, stdout, stderr) =>
        resolve({ code: typeof error?.code === 'number' ? error.code : error ? -1 : 0, stdout, stderr }),
    );
    child.stdin?.end(input);
  });

export interface RunningAgent extends AsyncDisposable {
  root: string;
  credentialsFile: string;
  process: ProcessGroup;
  /** Polls until `look` returns a value. */
  until<T>(what: string, look: (status: AgentStatus) => T | undefined | false): Promise<T>;
}

/** Starts the real agent below `folder`, with the credentials of `cloud`; from source unless a program is given. */
export async function startAgent(
  folder: TempFolder,
  cloud: TestCloud,
  url: string,
  {
    program,
    runtime = process.execPath,
    env,
  }: { program?: string; runtime?: string; env?: Record<string, string> } = {},
): Promise<RunningAgent> {
  const root = folder.file('agent');
  const credentialsFile = folder.file('platform.json');
  await writeFile(
    credentialsFile,
    JSON.stringify({ cloud: { app_address: url, id: cloud.partId, secret: cloud.secret } }),
  );
  const agent = await spawnGroup({
    command: program ?? runtime,
    args: [...(program === undefined ? [mainFile] : []), 'run', '--config', credentialsFile, '--root', root],
    ...(env && { env }),
    logFile: folder.file('agent.log'),
  });
  const control = controlOf(root, systemClock);
  return {
    root,
    credentialsFile,
    process: agent,
    async until(what, look) {
      const end = systemClock.now() + 60_000;
      let last: unknown;
      while (systemClock.now() < end) {
        try {
          const status = await control.status();
          last = status;
          const found = look(status);
          if (found !== undefined && found !== false) return found;
        } catch (error) {
          last = error;
        }
        await systemClock.sleep(50);
      }
      const log = (await readFile(folder.file('agent.log'), 'utf8')).slice(-3000);
      throw new Error(`${what} did not happen; last: ${JSON.stringify(last) ?? String(last)}\n${log}`);
    },
    async [Symbol.asyncDispose]() {
      await agent.stop({ termMs: 20_000 });
    },
  };
}
