// The upgrade of an older data folder is killed: in each step that waits for a table, and at moments of its start.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from 'pg';
import { createLog } from '@platform/kit';
import { type ProcessGroup, systemClock } from '@platform/kit/node';
import { clientConfig } from '../../apps/cloud/src/database/database.ts';
import { startCluster } from '../../apps/cloud/src/postgres/cluster.ts';
import { openOwnDatabase } from '../../apps/cloud/src/postgres/roles.ts';
import { urlOf } from '../../apps/cloud/test/database.ts';
import { spawnCloudAt, startCloudAt } from '../src/cloud-process.ts';
import { assertSameAsThen, buildOlderFolder, fillOlderDatabase, olderState } from './older-folder.ts';
import { killAll } from '../src/server-processes.ts';
import { checkout, dataFolder } from '../src/up-process.ts';

const log = createLog({ name: 'test', clock: systemClock, level: 'error', sink: () => {} });

async function serverOf(dataDir: string, ...flags: string[]): Promise<ProcessGroup> {
  const group = await spawnCloudAt({ checkout, dataDir, port: 0 }, ...flags);
  group.stdout?.resume();
  group.stderr?.resume();
  return group;
}

test('the server is killed in each migration, while a table is locked', async () => {
  await using folder = await dataFolder();
  const dataDir = folder.file('cloud');
  const cluster = await startCluster({ folder: folder.file('postgres'), clock: systemClock, log });
  try {
    const connection = await openOwnDatabase(cluster, 'platform', log);
    const last = await fillOlderDatabase(connection, dataDir);
    const url = urlOf(connection);
    const applied = async (client: Client): Promise<string> =>
      (await client.query<{ name: string }>('select max(name) as name from migration')).rows[0]?.name ?? '';
    const seen: string[] = [];
    for (const table of ['part', 'release', 'access_grant']) {
      const client = new Client(clientConfig(connection));
      await client.connect();
      await client.query('begin');
      await client.query(`lock table ${table} in share row exclusive mode`);
      const server = await serverOf(dataDir, '--database-url', url);
      const waits = `select 1 from pg_locks where relation = '${table}'::regclass and not granted`;
      for (let tries = 0; (await client.query(waits)).rows.length === 0; tries++) {
        assert.ok(tries < 1_000, `no migration waits for ${table}`);
        await systemClock.sleep(20);
      }
      server.signal('SIGKILL');
      await server.exited;
      await client.query('rollback');
      seen.push(await applied(client));
      await client.end();
    }
    assert.deepEqual(seen, [last, '0027_part_facts.sql', '0028_release_attachments.sql']);
    await using cloud = await startCloudAt({ checkout, dataDir, port: 0 }, '--database-url', url);
    assert.ok(cloud.ready.url);
  } finally {
    await cluster.stop();
  }
});

test('server and database are killed at moments of the first start', { timeout: 300_000 }, async () => {
  await using folder = await dataFolder();
  for (let at = 200; at <= 3_000; at += 200) {
    const dataDir = folder.file(String(at), 'cloud');
    await buildOlderFolder(dataDir);
    const server = await serverOf(dataDir);
    await systemClock.sleep(at);
    await killAll(folder.file(String(at)));
    await server.exited;
    await using cloud = await startCloudAt({ checkout, dataDir, port: 0 });
    await assertSameAsThen(folder.file(String(at)), cloud.ready, await olderState());
  }
});
