// A server with data, its backups, and what the tests of backups do with them.
import { readdirSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { DatasetService } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import { DataSyncService } from '@platform/contract/gen/platform/app/datasync/v1/data_sync_pb';
import { RobotService } from '@platform/contract/gen/platform/app/v1/robot_pb';
import { systemClock } from '@platform/kit/node';
import { findSnapshot, macFile, sha256Of, type Snapshot } from '../src/backup/backup-folder.ts';
import { type BackupOptions, type BackupResult, makeBackup } from '../src/backup/make-backup.ts';
import { restoreBackup, type RestoreOptions, type RestoreResult } from '../src/backup/restore.ts';
import { macOf, readBackupKey } from '../src/backup/manifest-mac.ts';
import { testLog, urlOf } from './database.ts';
import type { TestServer } from './server.ts';
import type { Connection } from '../src/database/database.ts';

const work = { clock: systemClock, log: testLog };

/** A machine with a saved configuration, log lines, and images in a dataset. */
export async function fillServer(on: TestServer, images: number): Promise<{ partId: string; imageIds: string[] }> {
  const { partId, part } = await on.machine('m');
  const app = await on.client(AppService);
  await app.updateRobotPart({ id: partId, name: 'main', robotConfig: { components: [] } });
  const time = { seconds: BigInt(Math.floor(Date.now() / 1000)), nanos: 0 };
  const line = (message: string) => ({ level: 'info', loggerName: 'l', message, host: 'h', time });
  const robot = await on.client(RobotService, part);
  await robot.log({ id: partId, logs: [line('first "line"\twith tabs'), line('second\nline \\N')] });
  const [data, sync] = [await on.client(DatasetService), await on.client(DataSyncService)];
  const { id } = await data.createDataset({ organizationId: on.orgId, name: 'd' });
  const imageIds: string[] = [];
  for (let n = 0; n < images; n++) imageIds.push(await upload(sync, partId, `image ${n}`, [id]));
  return { partId, imageIds };
}

export async function upload(
  sync: Awaited<ReturnType<typeof syncOf>>,
  partId: string,
  text: string,
  datasetIds: string[] = [],
): Promise<string> {
  const { binaryDataId } = await sync.dataCaptureUpload({
    metadata: { partId, type: 1, fileExtension: '.jpg', datasetIds },
    sensorContents: [{ data: { case: 'binary', value: Buffer.from(text) } }],
  });
  return binaryDataId;
}

export const syncOf = (on: TestServer) => on.client(DataSyncService);

export const backUp = (on: TestServer, folder: string, more: Partial<BackupOptions> = {}): Promise<BackupResult> => {
  const plain = { keep: undefined, passphrase: undefined, keysTo: undefined };
  return makeBackup({ folder, dataFolder: on.server.dataFolder, connection: on.connection, ...plain, ...more }, work);
};

export const restoreTo = (
  target: { dataDir: string; connection: Connection },
  folder: string,
  more: Partial<RestoreOptions> = {},
): Promise<RestoreResult> => {
  const choices = { acceptDamaged: false, acceptUnauthenticated: true, trusted: [] };
  const plain = { snapshot: undefined, keys: undefined, passphrase: undefined, ...choices };
  const { dataDir, connection } = target;
  return restoreBackup({ folder, dataDir, databaseUrl: urlOf(connection), ...plain, ...more }, work);
};

/** How many files stand below a folder; it may come and go meanwhile. */
export function filesIn(folder: string): number {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true }).filter((one) => one.isFile()).length;
  } catch {
    return 0;
  }
}

/** Rows of each table by their hash, and the list of files. */
export function contentOf({ manifest }: Snapshot): Record<string, string> {
  const tables = manifest.database.tables.map(({ name, rows, sha256 }) => [name, `${rows} ${sha256}`] as const);
  return Object.fromEntries([...tables, ['files', manifest.blobs.sha256] as const]);
}

/** Changes the newest manifest as another version would have written it, with a MAC by the key of `dataFolder`. */
export async function editManifest(
  folder: string,
  dataFolder: string,
  edit: (manifest: Snapshot['manifest']) => void,
): Promise<void> {
  const { folder: at, manifest } = await findSnapshot(folder, undefined);
  edit(manifest);
  const text = JSON.stringify(manifest);
  await writeFile(path.join(at, 'manifest.json'), text);
  await writeFile(path.join(at, 'manifest.sha256'), sha256Of(text));
  await writeFile(path.join(at, macFile), macOf(text, await readBackupKey(dataFolder)));
}

/** Flips one byte. */
export async function damage(file: string): Promise<void> {
  const bytes = await readFile(file);
  bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
  await writeFile(file, bytes);
}
