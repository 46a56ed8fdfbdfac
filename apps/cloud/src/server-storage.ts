import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { PlatformError } from '@platform/contract/errors/errors';
import { type Clock, errorText, type Log } from '@platform/kit';
import { forgetProcesses, isRunningCopy, markRunning, unmarkRunning } from './backup/running-mark.ts';
import { openSecrets, type Secrets } from './access/secrets.ts';
import type { BlobStore } from './blobs/blob-store.ts';
import { acceptCopy } from './backup/accept-copy.ts';
import { refuseIncomplete } from './backup/restoring.ts';
import { blobsFolder } from './backup/backup-folder.ts';
import { openDiskBlobs } from './blobs/disk.ts';
import { markedBlobs } from './blobs/installation-mark.ts';
import { requireOwnBlobs } from './blobs/store/own-blobs.ts';
import {
  type Connection,
  type Database,
  type DatabaseLimits,
  openDatabase,
  type PoolState,
} from './database/database.ts';
import { type Exclusive, holdDatabase } from './database/exclusive.ts';
import { migrate } from './database/migrate.ts';
import { databaseHost } from './database/database-host.ts';
import { poolerRefusal, requireSessions } from './database/pooler.ts';
import { requireVersion } from './database/version.ts';
import { type Notifications, openNotifications } from './database/notifications.ts';
import type { CloudOptions } from './options.ts';
import { createFirstRun, restoreFirstKeys } from './organizations/store/first-run.ts';
import { type Cluster, startCluster } from './postgres/cluster.ts';
import { superviseCluster } from './postgres/supervisor.ts';
import { openOwnDatabase } from './postgres/roles.ts';
import { lockData } from './process/data-lock.ts';
import { openOnlineKey } from './releases/online-key.ts';

/** The data folder, locked for this process. */
export type DataFolder = {
  dataFolder: string;
  secrets: Secrets;
  releaseKey: Awaited<ReturnType<typeof openOnlineKey>>;
  blobs: BlobStore;
  /** The folder is a copy of one in use; it must pass a check. */
  isCopy: boolean;
};

/** The database, which only this server may use. */
export type ServerDatabase = {
  db: Database;
  /** A pool of its own for callers that are not authenticated yet, so that they cannot take all connections. */
  unprovenDb: Database;
  connection: Connection;
  isAnswering: Exclusive['isAnswering'];
  /** Whether this server holds the right to the database now. */
  isConnected: () => boolean;
  notifications: Notifications;
  pool: () => PoolState;
  /** Asks an embedded database to end, without waiting for it. */
  abandon: () => void;
};

const databaseName = 'platform';
/** Sign-ins are looked up in batches, so few connections serve a whole fleet. */
const unprovenMax = 4;

/**
 * @param started - closes what is opened here.
 * @throws PlatformError DATA_DIR_IN_USE, RESTORE_INCOMPLETE, COPIED_WHILE_RUNNING
 */
export async function openDataFolder(options: CloudOptions, started: AsyncDisposableStack): Promise<DataFolder> {
  const dataFolder = path.resolve(options.dataDir);
  await mkdir(dataFolder, { recursive: true, mode: 0o700 });
  const isCopy = await isRunningCopy(dataFolder);
  if (isCopy && !options.acceptCopy) throw new PlatformError('COPIED_WHILE_RUNNING', { path: dataFolder });
  if (isCopy) await forgetProcesses(dataFolder);
  started.use(await lockData(dataFolder));
  await refuseIncomplete(dataFolder);
  started.defer(() => unmarkRunning(dataFolder));
  // A copy keeps its mark until it passed the check.
  if (!isCopy) await markRunning(dataFolder);
  const secrets = await openSecrets(dataFolder, { newKeys: options.newKeys });
  const releaseKey = await openOnlineKey(dataFolder);
  const folder = path.join(dataFolder, blobsFolder);
  const blobs = markedBlobs(await openDiskBlobs(folder), folder, secrets.installationId);
  return { dataFolder, secrets, releaseKey, blobs, isCopy };
}

/**
 * Starts the embedded database unless the options name another one, brings the schema up to date, and writes the rows
 * of the first start.
 *
 * @param settings - of the embedded database.
 * @param onLost - another server took the database, so this server must stop.
 * @param started - closes what is opened here.
 * @throws PlatformError DATA_DIR_IN_USE, DATA_DIR_NEWER, DATABASE_UNAVAILABLE, BLOBS_NOT_MOUNTED
 */
export async function openServerDatabase(
  options: CloudOptions,
  of: {
    data: DataFolder;
    settings: Readonly<Record<string, string>>;
    onLost: (error: PlatformError) => void;
    clock: Clock;
    log: Log;
  },
  started: AsyncDisposableStack,
): Promise<ServerDatabase> {
  const { clock, log, settings, onLost } = of;
  const { dataFolder, secrets } = of.data;
  const { connection, abandon } = options.databaseUrl
    ? { connection: { is: 'url', url: options.databaseUrl.reveal() } as const, abandon: () => {} }
    : await embedded(
        { folder: path.join(dataFolder, 'postgres'), clock, log: log.child('database'), settings },
        started,
      );
  const host = options.databaseUrl && databaseHost(options.databaseUrl.reveal());
  if (host !== undefined) {
    log.info('connecting to the database', { host });
    await reached(requireVersion(connection), host);
    await reached(requireSessions(connection, host), host);
  }
  const where = host === undefined ? dataFolder : { host };
  const exclusive = await reached(holdDatabase({ connection, where, clock, log, onLost }), host);
  started.defer(() => exclusive.close());
  const applied = await migrate(connection, where, { right: exclusive });
  if (applied.length > 0) log.info('the schema was brought up to date', { applied });
  if (of.data.isCopy) await acceptCopy(connection, of.data, log);
  const { db, pool: opened, close } = openDatabase(connection, log, { limits: limitsOf(options), right: exclusive });
  started.defer(close);
  const unproven = openDatabase(connection, log, { max: unprovenMax, limits: limitsOf(options), right: exclusive });
  started.defer(unproven.close);
  await createFirstRun(db, { ...of.data, orgName: options.orgName });
  await requireOwnBlobs(db, {
    folder: path.join(dataFolder, blobsFolder),
    installationId: secrets.installationId,
  });
  if (options.newKeys) await restoreFirstKeys(db, secrets);
  const notifications = await openNotifications(connection, clock, log);
  started.defer(() => notifications.close());
  const pool = (): PoolState => ({ open: opened.totalCount, idle: opened.idleCount, waiting: opened.waitingCount });
  const { isAnswering } = exclusive;
  const isConnected = (): boolean => exclusive.holder() !== undefined;
  return { db, unprovenDb: unproven.db, connection, isAnswering, isConnected, notifications, pool, abandon };
}

type Embedded = { folder: string; clock: Clock; log: Log; settings: Readonly<Record<string, string>> };

async function embedded(
  options: Embedded,
  started: AsyncDisposableStack,
): Promise<{ connection: Connection; abandon: () => void }> {
  const first = await startCluster(options);
  const start = (): Promise<Cluster> => startCluster({ ...options, mustExist: true });
  const supervisor = superviseCluster({ first, start, clock: options.clock, log: options.log });
  started.defer(() => supervisor.stop());
  const connection = await openOwnDatabase(first, databaseName, options.log);
  return { connection, abandon: () => supervisor.abandon() };
}

const limitsOf = (options: CloudOptions): DatabaseLimits => ({
  connectMs: options.databaseConnectTimeoutS * 1_000,
  statementMs: options.databaseStatementTimeoutS * 1_000,
  lockMs: options.databaseLockTimeoutS * 1_000,
});

/** Reports an unreachable external database or a wrong URL as a row of the error table. */
async function reached<T>(work: Promise<T>, host: string | undefined): Promise<T> {
  try {
    return await work;
  } catch (failure) {
    const error = poolerRefusal(failure, host ?? 'its socket');
    if (error instanceof PlatformError) throw error;
    const problem = host === undefined ? errorText(error) : `${host}: ${errorText(error)}`;
    throw new PlatformError('DATABASE_UNAVAILABLE', { problem }, error);
  }
}
