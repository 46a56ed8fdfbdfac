import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { bundle, type Build, type Place } from './compile.ts';

/** The fuse string inside every Node binary; injection flips it from 0 to 1. */
const fuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';

function must(command: string, args: readonly string[], cwd: string): void {
  const done = spawnSync(command, args, { cwd, encoding: 'utf8' });
  if (done.status === 0) return;
  throw new Error(`${path.basename(command)} ended with ${done.status ?? done.signal}:\n${done.stdout}${done.stderr}`);
}

/**
 * The fallback if the compiler fails: the same sources as one file on the pinned Node, for this machine's platform
 * only. A test keeps it working; it is never shipped.
 */
export function compileOnNode(of: Omit<Build, 'platform'>, place: Place, target: string): void {
  const parent = path.dirname(target);
  mkdirSync(parent, { recursive: true });
  const folder = mkdtempSync(path.join(parent, '.build-'));
  try {
    bundle(of, place, path.join(folder, 'program.cjs'), { runtime: 'node', format: 'cjs' });
    const settings = {
      main: 'program.cjs',
      output: 'program.blob',
      disableExperimentalSEAWarning: true,
      useCodeCache: true,
    };
    writeFileSync(path.join(folder, 'sea.json'), JSON.stringify(settings));
    must(process.execPath, ['--experimental-sea-config', 'sea.json'], folder);
    const made = path.join(folder, 'program');
    copyFileSync(process.execPath, made);
    const postject = createRequire(import.meta.url).resolve('postject/dist/cli.js');
    const inject = [postject, made, 'NODE_SEA_BLOB', 'program.blob', '--sentinel-fuse', fuse];
    must(process.execPath, inject, folder);
    chmodSync(made, 0o755);
    renameSync(made, target);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
