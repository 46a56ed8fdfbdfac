import { spawnSync } from 'node:child_process';
import path from 'node:path';

const main = path.join(import.meta.dirname, '../src/main.ts');

/**
 * Runs the program as a separate process, without an API key. The URL keeps it from the key that `npm start` has stored
 * in this checkout.
 */
export function platform(...args: string[]): { code: number | null; stdout: string; stderr: string } {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', main, ...args],
    { encoding: 'utf8', env: { PATH: process.env['PATH'], PLATFORM_URL: 'http://127.0.0.1:1' } },
  );
  return { code: status, stdout, stderr };
}
