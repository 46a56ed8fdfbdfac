import { parseReadyLine } from '@platform/contract/machine-server/machine-server';
import type { Readiness } from '@platform/contract/machine-server/machine-server';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { FakeCloud } from './fake-cloud.ts';
import { plainEnvironment } from '@platform/kit/node';

const fromSource = [process.execPath, path.join(import.meta.dirname, '..', 'src', 'main.ts')];

export interface ServerProcess extends AsyncDisposable {
  readonly ready: Readiness;
  readonly stdout: readonly string[];
  json(path: string, init?: RequestInit): Promise<{ status: number; body: Record<string, unknown> }>;
  /** Polls `read` until `is` holds for its result. Fails after 20 s with the last result. */
  until<T>(what: string, read: () => T | Promise<T>, is: (value: T) => boolean): Promise<T>;
  kill(signal: NodeJS.Signals): Promise<number | null>;
}

interface ServerOptions {
  readonly cloud: FakeCloud;
  readonly folder: string;
  /** Default: from source. */
  readonly command?: readonly string[];
  /** Added to the environment of the test. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Writes the credentials file into `folder` and returns the command line of a server for the machine of `cloud`. */
export async function serverCommand({
  cloud,
  folder,
  command = fromSource,
}: ServerOptions): Promise<readonly string[]> {
  const credentials = path.join(folder, 'credentials.json');
  const content = { cloud: { app_address: cloud.url, id: cloud.partId, secret: cloud.secret } };
  await writeFile(credentials, JSON.stringify(content), { mode: 0o644 });
  return [...command, '-config', credentials, '-data', path.join(folder, 'data'), '--poll-seconds', '0.1'];
}

/** Starts platform-server (by default from source) and waits for its readiness line. */
export async function startServer(of: ServerOptions): Promise<ServerProcess> {
  const { folder } = of;
  const [program = '', ...args] = await serverCommand(of);
  const child = spawn(program, args, {
    cwd: folder,
    env: plainEnvironment({ ...of.env }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'exit') as Promise<[number | null]>;
  const stdout: string[] = [];
  const stderr: string[] = [];
  createInterface(child.stderr).on('line', (line) => stderr.push(line));
  const ready = await new Promise<Readiness>((resolve, reject) => {
    createInterface(child.stdout).on('line', (line) => {
      stdout.push(line);
      const found = parseReadyLine(line);
      if (found) resolve(found);
    });
    child.once('error', reject);
    void exited.then(([code]) => reject(new Error(`ended with ${code}:\n${[...stdout, ...stderr].join('\n')}`)));
  });
  const kill = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    return (await exited)[0];
  };
  return {
    ready,
    stdout,
    kill,
    json: async (route, init) => {
      const response = await fetch(`${ready.url}${route}`, init);
      return { status: response.status, body: (await response.json()) as Record<string, unknown> };
    },
    until: async (what, read, is) => {
      const end = performance.now() + 20_000;
      for (;;) {
        const value = await read();
        if (is(value)) return value;
        if (performance.now() > end) {
          throw new Error(`never: ${what}; last ${JSON.stringify(value)}\n${stdout.slice(-30).join('\n')}`);
        }
        await new Promise((resolve) => setTimeout(resolve, 30));
      }
    },
    [Symbol.asyncDispose]: async () => {
      await kill('SIGKILL');
    },
  };
}
