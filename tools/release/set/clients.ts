// The packages of both clients.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { plainEnvironment } from '../../../packages/kit/src/node/environment.ts';
import { pythonClient, typescriptClient } from './contents.ts';

const root = path.resolve(import.meta.dirname, '..', '..', '..');

function run(command: string, args: readonly string[], cwd: string): string {
  const done = spawnSync(command, args, {
    cwd,
    encoding: 'utf8',
    // A fixed time in archives: the same sources give the same bytes.
    env: plainEnvironment({ SOURCE_DATE_EPOCH: '1577836800', NODE_NO_WARNINGS: '1' }),
    maxBuffer: 2 ** 24,
  });
  if (done.status === 0) return done.stdout;
  throw new Error(`${command} ${args.join(' ')} ended with ${done.error?.message ?? done.status}: ${done.stderr}`);
}

/** Runs `use` with an empty folder. */
function inFolder<T>(use: (folder: string) => T): T {
  const folder = mkdtempSync(path.join(tmpdir(), 'platform-clients-'));
  try {
    return use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export function packTypescriptClient(version: string, out: string): void {
  inFolder((folder) => {
    run(process.execPath, [path.join(root, 'tools/client-package.ts'), '--out', path.join(folder, 'client')], root);
    run('npm', ['pack', '--pack-destination', folder, path.join(folder, 'client')], folder);
    // npm names the file after the scope and the name of the package.
    copyFileSync(path.join(folder, `platform-client-${version}.tgz`), path.join(out, typescriptClient(version)));
  });
}

export function packPythonClient(version: string, out: string): void {
  inFolder((folder) => {
    run(hatchling(), ['build', '-d', folder], path.join(root, 'clients/python'));
    for (const file of Object.values(pythonClient(version)))
      copyFileSync(path.join(folder, file), path.join(out, file));
  });
}

/** The program that builds Python packages, from an environment that is made once. @returns its path. */
function hatchling(): string {
  const pins = path.join(root, 'tools/release/python-build.txt');
  const wanted = createHash('sha256').update(readFileSync(pins)).digest('hex').slice(0, 12);
  const folder = path.join(root, '.cache', `python-build-${wanted}`);
  const stamp = path.join(folder, '.complete');
  if (!existsSync(stamp)) {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(path.dirname(folder), { recursive: true });
    run('python3', ['-m', 'venv', folder], root);
    run(path.join(folder, 'bin/pip'), ['install', '--quiet', '--disable-pip-version-check', '-r', pins], root);
    copyFileSync(pins, `${stamp}.tmp`);
    renameSync(`${stamp}.tmp`, stamp);
  }
  return path.join(folder, 'bin/hatchling');
}
