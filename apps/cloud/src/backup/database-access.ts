import { stat } from 'node:fs/promises';
import path from 'node:path';
import { Client } from 'pg';
import { PlatformError } from '@platform/contract/errors/errors';
import { type Clock, errorText, type Log } from '@platform/kit';
import { FolderLocked, lockFolder } from '@platform/kit/node';
import { type Connection, clientConfig, cut } from '../database/database.ts';
import { databaseHost } from '../database/database-host.ts';
import { requireSessions } from '../database/pooler.ts';
import { hasDatabase, runningCluster, startCluster } from '../postgres/cluster.ts';
import { isRunningCopy, markRunning, unmarkRunning } from './running-mark.ts';
import { openOwnDatabase } from '../postgres/roles.ts';

export const databaseName = 'platform';
const startingMs = 60_000;
const againMs = 200;
const lockMs = 60_000;

/** What the database of a data folder is, and how long it can be reached. */
export type DatabaseAccess = { connection: Connection } & AsyncDisposable;

type Wanted = { dataFolder: string; databaseUrl: string | undefined; clock: Clock; log: Log };

/**
 * The database of a data folder whose server runs or not. An embedded database without a server is started, and stopped
 * in the end.
 *
 * @throws PlatformError DATABASE_UNAVAILABLE
 */
export async function reachDatabase({ dataFolder, databaseUrl, clock, log }: Wanted): Promise<DatabaseAccess> {
  if (databaseUrl !== undefined)
    return { connection: await sessionsOf(databaseUrl), [Symbol.asyncDispose]: async () => {} };
  const folder = path.join(dataFolder, 'postgres');
  if (!(await hasDatabase(folder))) {
    const problem = `${dataFolder} has no database of its own. Set DATABASE_URL to the one that its server uses`;
    throw new PlatformError('DATABASE_UNAVAILABLE', { problem });
  }
  for (const start = clock.now(); clock.now() - start < startingMs; await clock.sleep(againMs)) {
    const lock = await freeLock(path.join(dataFolder, 'server.lock'));
    if (lock) return startOwn(dataFolder, lock, { folder, clock, log });
    const running = await runningCluster(folder);
    if (running)
      return {
        connection: { is: 'socket', ...running, database: databaseName },
        [Symbol.asyncDispose]: async () => {},
      };
  }
  throw new PlatformError('DATABASE_UNAVAILABLE', { problem: `it did not start within ${startingMs / 1_000} s` });
}

/** Backup and restore hold locks for as long as their sessions. @throws PlatformError DATABASE_POOLER, DATABASE_UNAVAILABLE */
export async function sessionsOf(databaseUrl: string): Promise<Connection> {
  const connection = { is: 'url', url: databaseUrl } as const;
  const host = databaseHost(databaseUrl);
  await requireSessions(connection, host).catch((error: unknown) => {
    if (error instanceof PlatformError) throw error;
    throw new PlatformError('DATABASE_UNAVAILABLE', { problem: `${host}: ${errorText(error)}` }, error);
  });
  return connection;
}

const freeLock = (file: string): Promise<AsyncDisposable | undefined> =>
  lockFolder(file).catch((error: unknown) => {
    if (error instanceof FolderLocked) return undefined;
    throw error;
  });

async function startOwn(
  dataFolder: string,
  lock: AsyncDisposable,
  of: { folder: string; clock: Clock; log: Log },
): Promise<DatabaseAccess> {
  await using started = new AsyncDisposableStack();
  started.use(lock);
  if (await isRunningCopy(dataFolder)) throw new PlatformError('COPIED_WHILE_RUNNING', { path: dataFolder });
  const { uid } = await stat(dataFolder);
  // Otherwise the files of the database would become those of root's account.
  if (process.getuid?.() === 0 && uid !== 0) {
    const problem = `its server does not run, and ${dataFolder} belongs to user ${uid}. Start the server, or run this command as that user`;
    throw new PlatformError('DATABASE_UNAVAILABLE', { problem });
  }
  await markRunning(dataFolder);
  started.defer(() => unmarkRunning(dataFolder));
  const cluster = await startCluster({ ...of, mustExist: true });
  started.defer(() => cluster.stop());
  const connection = await openOwnDatabase(cluster, databaseName, of.log);
  const running = started.move();
  return { connection, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

/**
 * Connects as the owner of the data folder: the embedded database admits only the user that runs the server, and root may
 * back up any server.
 */
export async function connectAs(connection: Connection, dataFolder: string): Promise<Client & AsyncDisposable> {
  const client = new Client({ ...clientConfig(connection, 'platform-backup'), lock_timeout: lockMs });
  client.on('error', () => {});
  const ended = new Promise<void>((resolve) => void client.once('end', () => resolve()));
  const { uid } = await stat(dataFolder);
  const isOther = connection.is === 'socket' && process.geteuid?.() === 0 && uid !== 0;
  // A Unix socket carries the user of the moment of connect(2), which this call reaches before it returns.
  if (isOther) process.seteuid?.(uid);
  const connected = client.connect();
  if (isOther) process.seteuid?.(0);
  try {
    await connected;
  } catch (error) {
    cut(client);
    const problem = error instanceof Error ? error.message : String(error);
    throw new PlatformError('DATABASE_UNAVAILABLE', { problem }, error);
  }
  return Object.assign(client, {
    // After a failure, the connection is closed already.
    [Symbol.asyncDispose]: () => Promise.race([client.end().catch(() => {}), ended]),
  });
}
