import { spawnSync } from 'node:child_process';
import { chmodSync, closeSync, lstatSync, openSync, readdirSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';

/** Time of all files in an archive: the same input gives the same bytes. */
const time = '@1577836800';

/** Packs `folder` under the name of the archive. Unpacking needs tar and gzip only. */
export function pack(folder: string, target: string): void {
  plainModes(folder);
  const fresh = `${target}.tmp`;
  const out = openSync(fresh, 'w', 0o644);
  try {
    const args = ['-C', path.dirname(folder), '--sort=name', `--mtime=${time}`, '--owner=0', '--group=0'];
    const more = ['--numeric-owner', '--format=gnu', '-I', 'gzip -n -6', '-cf', '-', path.basename(folder)];
    const done = spawnSync('tar', [...args, ...more], { stdio: ['ignore', out, 'pipe'], encoding: 'utf8' });
    if (done.status !== 0)
      throw new Error(`tar ended with ${done.error?.message ?? done.status ?? done.signal}: ${done.stderr}`);
  } catch (error) {
    rmSync(fresh, { force: true });
    throw error;
  } finally {
    closeSync(out);
  }
  renameSync(fresh, target);
}

/** The umask of the builder must not show. */
function plainModes(folder: string): void {
  chmodSync(folder, 0o755);
  for (const name of readdirSync(folder)) {
    const file = path.join(folder, name);
    const stat = lstatSync(file);
    if (stat.isDirectory()) plainModes(file);
    else if (stat.isFile()) chmodSync(file, (stat.mode & 0o111) === 0 ? 0o644 : 0o755);
  }
}
