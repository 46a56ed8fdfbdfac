// A data folder as an older version left it, from the fixture e2e/older-folder (make-older-folder.ts makes that).
import assert from 'node:assert/strict';
import { cp, mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { createPlatformClient, type PlatformClient } from '@platform/client';
import { createLog } from '@platform/kit';
import { systemClock } from '@platform/kit/node';
import { databaseFolder, findSnapshot } from '../../apps/cloud/src/backup/backup-folder.ts';
import { connectAs, databaseName } from '../../apps/cloud/src/backup/database-access.ts';
import { decodeKeys, writeKeys } from '../../apps/cloud/src/backup/key-file.ts';
import { loadDatabase } from '../../apps/cloud/src/backup/store/database-dump.ts';
import type { Connection } from '../../apps/cloud/src/database/database.ts';
import { recordedSchema } from '../../apps/cloud/src/database/known-schema.ts';
import { migrate } from '../../apps/cloud/src/database/migrate.ts';
import { startCluster } from '../../apps/cloud/src/postgres/cluster.ts';
import { openOwnDatabase } from '../../apps/cloud/src/postgres/roles.ts';
import type { CloudReady } from '../src/cloud-process.ts';
import { endState } from '../src/end-state.ts';
import { linesOf } from '../src/server-processes.ts';
import { checkout } from '../src/up-process.ts';
import { wireMachine } from '../src/wire-callers.ts';

export const fixture = path.join(checkout, 'e2e', 'older-folder');
export const olderBackup = path.join(fixture, 'backup');

/** What the older server knew, and what it answers. */
export interface OlderState {
  readonly commit: string;
  readonly apiKey: { readonly id: string; readonly key: string };
  /** Credentials files of the machines. */
  readonly credentials: readonly unknown[];
  readonly rows: Record<string, unknown>;
  /** Log lines of machines, as JSON. */
  readonly lines: readonly string[];
  readonly answers: unknown;
}

export const olderState = async (): Promise<OlderState> =>
  JSON.parse(await readFile(path.join(fixture, 'state.json'), 'utf8')) as OlderState;

/** Answers of the API that an upgrade must not change. */
export async function answersOf(client: PlatformClient, organizationId: string): Promise<unknown> {
  const { machines } = await client.fleetClient.listMachines({ organizationId });
  const datasets = await client.datasetClient.listDatasetsByOrganizationId(organizationId);
  const releases = await client.releaseClient.listReleases('');
  return {
    machines: machines.map(({ id, partId, name, report }) => ({ id, partId, name, hostname: report?.hostname })),
    datasets: datasets.map(({ id, name }) => ({ id, name })),
    releases: releases.map(({ name, version, platform, channels }) => ({ name, version, platform, channels })),
  };
}

const log = createLog({
  name: 'older',
  clock: systemClock,
  level: 'error',
  sink: ({ message }) => process.stderr.write(message),
});

/** Rows, keys and files of the fixture, with the schema of then. @returns the last migration of then. */
export async function buildOlderFolder(dataFolder: string): Promise<string> {
  await mkdir(dataFolder, { recursive: true });
  const cluster = await startCluster({ folder: path.join(dataFolder, 'postgres'), clock: systemClock, log });
  try {
    return await fillOlderDatabase(await openOwnDatabase(cluster, databaseName, log), dataFolder);
  } finally {
    await cluster.stop();
  }
}

/** The same with its database in a cluster of its own. */
export async function fillOlderDatabase(connection: Connection, dataFolder: string): Promise<string> {
  const snapshot = await findSnapshot(olderBackup, undefined);
  const keyFile = path.join(snapshot.folder, 'keys.json');
  const { keys } = decodeKeys(keyFile, await readFile(keyFile, 'utf8'), undefined);
  await writeKeys(dataFolder, keys);
  await cp(path.join(olderBackup, 'blobs'), path.join(dataFolder, 'blobs'), { recursive: true });
  const { last } = await recordedSchema(snapshot.manifest.database.migrations);
  await migrate(connection, dataFolder, { last });
  await using client = await connectAs(connection, dataFolder);
  await loadDatabase(client, path.join(snapshot.folder, databaseFolder), snapshot.manifest.database);
  return last;
}

/** @param dataDir - the folder whose `cloud` the server runs on */
export async function assertSameAsThen(dataDir: string, { url, org_id }: CloudReady, then: OlderState): Promise<void> {
  assert.deepEqual(await endState(dataDir), then.rows);
  const lines = new Set(await linesOf(dataDir));
  assert.deepEqual(
    then.lines.filter((line) => !lines.has(line)),
    [],
  );
  const { id: authEntity, key: payload } = then.apiKey;
  const client = createPlatformClient({ baseUrl: url, credentials: { type: 'api-key', authEntity, payload } });
  const answers = JSON.parse(JSON.stringify(await answersOf(client, org_id))) as unknown;
  assert.deepEqual(answers, then.answers);
  for (const one of then.credentials as { cloud: object }[]) {
    const machine = await wireMachine(JSON.stringify({ ...one, cloud: { ...one.cloud, app_address: url } }));
    await machine.log({ level: 'info', message: 'after the upgrade', at: Date.now() });
  }
}
