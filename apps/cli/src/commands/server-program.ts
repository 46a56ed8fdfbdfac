import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { checkout } from '../data-folder.ts';

/** Runs the server's own program for its data, because it knows them. The exit code becomes ours. @returns it. */
export async function runServerProgram(
  args: readonly string[],
  signal: AbortSignal,
  env: Readonly<Record<string, string>> = {},
): Promise<number> {
  const program = path.join(checkout, 'apps', 'cloud', 'src', 'admin.ts');
  const child = spawn(process.execPath, [program, ...args], { stdio: 'inherit', env: { ...process.env, ...env } });
  const end = (): void => void child.kill('SIGTERM');
  signal.addEventListener('abort', end, { once: true });
  const [code] = (await once(child, 'exit')) as [number | null];
  process.exitCode = code ?? 1;
  return process.exitCode;
}
