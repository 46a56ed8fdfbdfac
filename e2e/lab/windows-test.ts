// Programs of the tests that run on Windows.
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { spawnSync } from 'node:child_process';
import { plainEnvironment } from '@platform/kit/node';
import { checkout } from '../src/up-process.ts';

/** Compiles a test program for Windows. @returns the file */
export async function compileForWindows(entry: string): Promise<string> {
  const out = path.join(checkout, '.cache', 'lab-builds', `${path.basename(entry, '.ts')}.exe`);
  await mkdir(path.dirname(out), { recursive: true });
  const done = spawnSync(process.execPath, [path.join(checkout, 'tools', 'windows-test.ts'), entry, out], {
    env: plainEnvironment(),
    encoding: 'utf8',
  });
  if (done.status !== 0) throw new Error(`${entry} could not be compiled:\n${done.stdout}${done.stderr}`);
  return out;
}
