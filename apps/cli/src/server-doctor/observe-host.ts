import { existsSync } from 'node:fs';
import { readdir, stat, statfs } from 'node:fs/promises';
import path from 'node:path';
import { enabledUnits, places, units, users } from '../installation/places.ts';
import { attempt } from '../installation/system.ts';
import { isEnabled, isOwnUnit } from '../installation/unit-files.ts';
import type { DiskSeen, FileSeen, FoundServer, UnitSeen } from './observations.ts';

/** One entry for each disk, named by the first folder on it. */
export async function observeDisks(folders: readonly string[]): Promise<DiskSeen[]> {
  const seen = new Map<number, DiskSeen>();
  for (const folder of folders) {
    const stats = await stat(folder).catch(() => undefined);
    if (!stats || seen.has(stats.dev)) continue;
    const { bavail, blocks, bsize, files, ffree } = await statfs(folder);
    seen.set(stats.dev, {
      folder,
      freeBytes: bavail * bsize,
      sizeBytes: blocks * bsize,
      inodes: files,
      freeInodes: ffree,
    });
  }
  return [...seen.values()];
}

/** Folders and files with keys or data, as far as they exist. */
export async function observeFiles({ dataFolder, isInstalled, options }: FoundServer): Promise<FileSeen[]> {
  const around = path.dirname(dataFolder);
  const inKeys = path.join(around, 'release-keys');
  const keys = await readdir(inKeys).catch(() => []);
  const closed = [
    ...['secrets.json', 'first-run.json', 'release-key.pem'].map((name) => path.join(dataFolder, name)),
    ...['connection.json', 'runner-options.json'].map((name) => path.join(around, name)),
    ...(keys.length > 0 ? [inKeys, ...keys.map((name) => path.join(inKeys, name))] : []),
  ].map((one) => ({ path: one, forbidden: 0o077 }));
  // The user of the database may pass through, where root runs the server.
  const data = { path: dataFolder, forbidden: 0o067 };
  // A group such as ssl-cert may read the keys of a host.
  const tls = options.tls_key === undefined ? [] : [{ path: options.tls_key, forbidden: 0o007 }];
  const uid = isInstalled ? Number(attempt('id', '-u', users.server).text) : undefined;
  const found: FileSeen[] = [];
  for (const { path: one, forbidden } of [data, ...closed, ...tls]) {
    const at = await stat(one).catch(() => undefined);
    if (!at) continue;
    const isServers = one.startsWith(dataFolder) && uid !== undefined && !Number.isNaN(uid);
    const isOwned = !isServers || at.uid === uid;
    found.push({ path: one, isFolder: at.isDirectory(), mode: at.mode & 0o777, forbidden, isOwned });
  }
  return found;
}

const hasSystemd = (): boolean => existsSync('/run/systemd/system');

/** Undefined: nothing here knows. */
export function isClockSynchronized(): boolean | undefined {
  if (!hasSystemd()) return undefined;
  const { code, text } = attempt('timedatectl', 'show', '-P', 'NTPSynchronized');
  return code === 0 ? text === 'yes' : undefined;
}

export function observeUnits({ isInstalled }: FoundServer): UnitSeen[] | undefined {
  return isInstalled && hasSystemd() ? Object.values(units).map(observeUnit) : undefined;
}

function observeUnit(name: string): UnitSeen {
  const properties = ['LoadState', 'ActiveState', 'NeedDaemonReload', 'Result', 'DropInPaths'];
  const { text } = attempt('systemctl', 'show', `--property=${properties.join(',')}`, name);
  const values = new Map(text.split('\n').map((line) => line.split(/=(.*)/s, 2) as [string, string]));
  const isInstalled = existsSync(path.join(places.units, name));
  return {
    name,
    isInstalled: isInstalled && values.get('LoadState') !== 'not-found',
    isReplaced: isInstalled && !isOwnUnit(name),
    isEnabled: isEnabled(name),
    startsWithSystem: (enabledUnits as readonly string[]).includes(name),
    isLasting: name === units.server || name === units.runner || name === units.timer,
    activeState: values.get('ActiveState') ?? '',
    result: values.get('Result') ?? '',
    needsReload: values.get('NeedDaemonReload') === 'yes',
    dropIns: values.get('DropInPaths') ?? '',
  };
}
