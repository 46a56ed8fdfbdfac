// The files of a cluster with a migrated database, made once for all test files of a checkout: initdb and all migrations
// take seconds, a copy of the files does not.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Log } from '@platform/kit';
import { systemClock } from '@platform/kit/node';
import { memoryFolder, type TempFolder } from '@platform/kit/testing';
import { migrate } from '../src/database/migrate.ts';
import { type Cluster, type ClusterOptions, startCluster } from '../src/postgres/cluster.ts';
import { openOwnDatabase } from '../src/postgres/roles.ts';

const root = path.resolve(import.meta.dirname, '../../..');
const cache = path.join(root, '.cache', 'test-clusters');
/** What the files depend on. */
const sources = ['apps/cloud/src/database', 'apps/cloud/src/postgres', 'package-lock.json'];
const dayMs = 24 * 3_600_000;

/** Name of the migrated database, from which those of tests are made. */
export const template = 'migrated';

/** Nothing in a cluster of tests must last. */
const settings = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: '100' };
const optionsOf = (folder: string, log: Log): ClusterOptions => ({ folder, clock: systemClock, log, settings });

async function filesOf(place: string): Promise<string[]> {
  if (!(await stat(place)).isDirectory()) return [place];
  const names = await readdir(place, { recursive: true });
  return names.filter((name) => /\.(?:ts|sql)$/.test(name)).map((name) => path.join(place, name));
}

async function keyOfSources(): Promise<string> {
  const hash = createHash('sha256').update(`${process.getuid?.() ?? ''} ${os.platform()} ${os.arch()}`);
  for (const source of sources)
    for (const file of (await filesOf(path.join(root, source))).toSorted()) hash.update(await readFile(file));
  return hash.digest('hex').slice(0, 16);
}

/** With owners and rights: the database has a user of its own. */
const copyFolder = async (from: string, to: string): Promise<void> =>
  void (await promisify(execFile)('cp', ['-a', from, to]));

async function prepare(folder: string, log: Log): Promise<void> {
  const cluster = await startCluster(optionsOf(folder, log));
  try {
    // The rights match the server's: no test works with more.
    await openOwnDatabase(cluster, template, log);
    const { host, port, user } = cluster;
    await migrate({ is: 'socket', host, port, user, database: template }, path.dirname(folder));
  } finally {
    await cluster.stop();
  }
}

/** Moves the prepared files to their place at once; of several processes, one is first. */
async function keep(folder: string, kept: string): Promise<void> {
  await mkdir(cache, { recursive: true });
  const aside = await mkdtemp(path.join(cache, 'new-'));
  await copyFolder(folder, path.join(aside, 'postgres'));
  await rename(aside, kept).catch(() => rm(aside, { recursive: true, force: true }));
  for (const name of await readdir(cache)) {
    const other = path.join(cache, name);
    const found = await stat(other).catch(() => undefined);
    if (found && Date.now() - found.mtimeMs > dayMs && other !== kept)
      await rm(other, { recursive: true, force: true });
  }
}

/** Starts a cluster with the migrated database, in a folder of its own. */
export async function startPrepared(log: Log): Promise<{ cluster: Cluster; folder: TempFolder }> {
  const folder = await memoryFolder();
  const files = folder.file('postgres');
  const kept = path.join(cache, await keyOfSources());
  if (existsSync(kept)) await copyFolder(path.join(kept, 'postgres'), files);
  else {
    await prepare(files, log);
    await keep(files, kept);
  }
  return { cluster: await startCluster(optionsOf(files, log)), folder };
}
