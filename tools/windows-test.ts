// Compiles a program of the tests for Windows: node tools/windows-test.ts ENTRY FILE
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { hostPlatform, platforms } from './release/platforms.ts';
import { runtimeFor } from './release/runtimes.ts';

const root = path.resolve(import.meta.dirname, '..');
const [entry = '', file = ''] = process.argv.slice(2);
const windows = platforms.find(({ name }) => name === 'windows/amd64');
const host = hostPlatform();
if (!windows || !host) throw new Error('this platform has no compiler');
const done = spawnSync(
  runtimeFor(host),
  [
    'build',
    '--compile',
    '--format=esm',
    `--target=${windows.target}`,
    `--compile-executable-path=${runtimeFor(windows)}`,
    entry,
    '--outfile',
    file,
  ],
  { cwd: root, stdio: 'inherit' },
);
process.exitCode = done.status ?? 1;
