import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { errorText, type Clock } from '@platform/kit';
import { readJson } from '@platform/kit/node';
import { checkout, isRoot } from '../data-folder.ts';
import { places, units } from '../installation/places.ts';
import { findServer, type ServerHints } from './found-server.ts';
import type { BlobsSeen, DatabaseSeen, FoundServer, Health, Observations, ChangeSeen } from './observations.ts';
import { observeCertificate, observePublicUrl } from './observe-certificate.ts';
import { isClockSynchronized, observeDisks, observeFiles, observeUnits } from './observe-host.ts';
import { observeReleases } from './observe-releases.ts';
import { isReplacing, readSwitch } from '../installation/state.ts';
import { attempt } from '../installation/system.ts';

const answerMs = 5_000;

/** Inspects everything and changes nothing. @throws Usage if there is no server's data folder. */
export async function observe(dataDir: string, known: ServerHints, clock: Clock): Promise<Observations> {
  const server = await findServer(dataDir, known);
  const database = observeDatabase(server);
  const [health, certificate, publicUrl, files, releases] = await Promise.all([
    observeHealth(server),
    observeCertificate(server),
    observePublicUrl(server, () => clock.wall()),
    observeFiles(server),
    observeReleases(server),
  ]);
  const folders = [server.dataFolder, ...(database.home === undefined ? [] : [database.home]), places.state];
  return {
    now: clock.wall(),
    isRoot: isRoot(),
    server,
    health,
    change: await observeChange(server),
    certificate,
    publicUrl,
    isClockSynchronized: isClockSynchronized(),
    database,
    blobs: observeBlobs(server),
    disks: await observeDisks(server.isInstalled ? folders : folders.slice(0, -1)),
    files,
    units: observeUnits(server),
    lastBackup: await lastBackup(server.dataFolder),
    releases,
  };
}

async function observeHealth({ pid, localUrl }: FoundServer): Promise<Health | undefined> {
  if (pid === undefined || localUrl === undefined) return undefined;
  try {
    const response = await fetch(`${localUrl}/readyz`, { signal: AbortSignal.timeout(answerMs) });
    return { status: response.status, text: await response.text() };
  } catch (error) {
    return { problem: errorText(error) };
  }
}

function observeDatabase(server: FoundServer): DatabaseSeen {
  const seen = askServerProgram<DatabaseSeen>(server, 'database');
  return 'is' in seen ? seen : { is: 'silent', ...seen };
}

/** Without a running server only the mark is read: this starts no database. */
const observeBlobs = (server: FoundServer): BlobsSeen =>
  askServerProgram<BlobsSeen>(server, 'blobs', ...(server.pid === undefined ? ['--mark-only'] : []));

/** The server's own program asks, because it knows how to reach its database. */
function askServerProgram<T>({ dataFolder, options }: FoundServer, ...command: string[]): T | { problem: string } {
  const program = path.join(checkout, 'apps', 'cloud', 'src', 'admin.ts');
  const url = options.database_url ?? process.env['DATABASE_URL'];
  const { stdout, stderr } = spawnSync(process.execPath, [program, ...command, '--data-dir', dataFolder, '--json'], {
    encoding: 'utf8',
    env: { ...process.env, DATABASE_URL: url },
  });
  try {
    return JSON.parse(stdout) as T;
  } catch {
    return { problem: stderr.trim().split('\n').at(-1) ?? '' };
  }
}

async function lastBackup(dataFolder: string): Promise<number | undefined> {
  const found = await readJson(path.join(dataFolder, 'last-backup.json')).catch(() => undefined);
  const at = Date.parse((found as { at?: string } | undefined)?.at ?? '');
  return Number.isNaN(at) ? undefined : at;
}

/** What stops the server of an installation on purpose. Only root may read which versions it is between. */
async function observeChange({ isInstalled }: FoundServer): Promise<ChangeSeen | undefined> {
  if (!isInstalled) return undefined;
  const isRunning = attempt('systemctl', 'show', '-P', 'ActiveState', units.switch).text === 'activating';
  const found = await readSwitch().catch(() => undefined);
  if (found)
    return { what: `the switch from ${found.from ?? 'nothing'} to ${found.to} (stage ${found.stage})`, isRunning };
  if (isReplacing()) return { what: 'the exchange of the data for restored ones', isRunning };
  return isRunning ? { what: 'a switch to another version', isRunning } : undefined;
}
