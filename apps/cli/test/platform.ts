import { spawnSync } from 'node:child_process';
import path from 'node:path';

const main = path.join(import.meta.dirname, '../src/main.ts');

/** Runs the program as a separate process, without a configured server. */
export function platform(...args: string[]): { code: number | null; stdout: string; stderr: string } {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', main, ...args],
    { encoding: 'utf8', env: { PATH: process.env['PATH'] } },
  );
  return { code: status, stdout, stderr };
}
