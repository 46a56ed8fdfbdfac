/** The runner's program, with the Python of this host for scripts. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { plainEnvironment } from '@platform/kit/node';

const program = fileURLToPath(new URL('../src/main.ts', import.meta.url));

export interface Runner {
  readonly child: ChildProcess;
  output(): string;
}
export function start(url: string, folder: string, env: Record<string, string> = {}): Runner {
  const args = [
    program,
    '--url',
    url,
    '--folder',
    folder,
    '--script-python',
    'py:3.11=/usr/bin/python3',
    '--grace-seconds',
    '1',
  ];
  const child = spawn(process.execPath, args, {
    // A descriptor that whoever starts the runner left open: the root of this computer.
    stdio: ['ignore', 'inherit', 'pipe', openSync('/', 'r')],
    env: plainEnvironment({ PLATFORM_RUNNER_TOKEN: 'key-id:key', ...env }),
  });
  let output = '';
  child.stderr?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  return { child, output: () => output };
}
export async function end({ child }: Runner, signal: NodeJS.Signals): Promise<void> {
  const gone = once(child, 'exit');
  child.kill(signal);
  await gone;
}
