import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import type { Platform } from './platforms.ts';
import { plainEnvironment } from '../../packages/kit/src/node/environment.ts';

const root = path.resolve(import.meta.dirname, '..', '..');
const pins = path.join(root, 'tools', 'bun');
const manifest = ['package.json', 'package-lock.json', '.npmrc'] as const;

/** A runtime that is not on this machine and cannot be installed. */
export class RuntimeMissing extends Error {}

/** Path of the runtime for programs of `platform`; installs the runtime of another platform than this machine's. */
export function runtimeFor(platform: Platform): string {
  const own = path.join(root, 'node_modules', platform.runtime, platform.program);
  if (existsSync(own)) return own;
  const other = path.join(installed(), 'node_modules', platform.runtime, platform.program);
  if (!existsSync(other)) throw new RuntimeMissing(`${platform.runtime} holds no ${platform.program}.`);
  return other;
}

/** npm refuses packages of another platform unless forced, and checks each against the hash in the lock file. */
function installed(): string {
  const wanted = createHash('sha256')
    .update(readFileSync(path.join(pins, 'package-lock.json')))
    .digest('hex');
  const folder = path.join(root, '.cache', `bun-${wanted.slice(0, 12)}`);
  if (existsSync(folder)) return folder;
  process.stderr.write('Installing the runtimes of the other platforms (once, about 10 s) …\n');
  mkdirSync(path.dirname(folder), { recursive: true });
  const fresh = mkdtempSync(path.join(path.dirname(folder), '.bun-'));
  try {
    for (const file of manifest) copyFileSync(path.join(pins, file), path.join(fresh, file));
    const done = spawnSync('npm', ['ci', '--no-progress', '--loglevel=error'], {
      cwd: fresh,
      encoding: 'utf8',
      env: plainEnvironment({ NODE_NO_WARNINGS: '1' }),
      shell: process.platform === 'win32',
    });
    if (done.status !== 0) {
      throw new RuntimeMissing(
        `The runtimes of the other platforms can't be installed (${done.error?.message ?? done.stderr.trim().replaceAll('\n', ' ')}). Check that the npm registry can be reached, then try again.`,
      );
    }
    renameSync(fresh, folder);
  } catch (error) {
    rmSync(fresh, { recursive: true, force: true });
    if (!existsSync(folder)) throw error; // otherwise a parallel run has finished the installation
  }
  return folder;
}
