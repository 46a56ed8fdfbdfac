// Images out of Debian's packages, for measurements alone: fetched with apt where it is there, kept in .cache, never shipped.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const cache = fileURLToPath(new URL('../../../.cache/debian', import.meta.url));

/** Folder of the unpacked package; undefined where it cannot be had. Downloads it the first time (up to 160 MB). */
export function debianPackage(name: string): string | undefined {
  const folder = path.join(cache, name);
  if (existsSync(folder)) return folder;
  mkdirSync(cache, { recursive: true });
  const fetched = (): string | undefined =>
    readdirSync(cache).find((file) => file.startsWith(`${name}_`) && file.endsWith('.deb'));
  try {
    if (fetched() === undefined) execFileSync('apt-get', ['download', name], { cwd: cache, stdio: 'ignore' });
    const partial = `${folder}.partial`;
    rmSync(partial, { recursive: true, force: true });
    execFileSync('dpkg-deb', ['-x', path.join(cache, fetched() ?? ''), partial], { stdio: 'ignore' });
    renameSync(partial, folder);
    return folder;
  } catch {
    return undefined;
  }
}
