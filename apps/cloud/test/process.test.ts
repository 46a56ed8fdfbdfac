import assert from 'node:assert/strict';
import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import test from 'node:test';
import { Client } from 'pg';
import { createClient } from '@connectrpc/connect';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { RobotService } from '@platform/contract/gen/platform/app/v1/robot_pb';
import { AppService, LogOrder } from '@platform/contract/gen/platform/app/v1/app_pb';
import { AuthService } from '@platform/contract/gen/proto/rpc/v1/auth_pb';
import { systemClock } from '@platform/kit/node';
import { seededRandom, tempFolder } from '@platform/kit/testing';
import { temporaryFailure } from '@platform/contract/releases/start-failure';
import { startCluster } from '../src/postgres/cluster.ts';
import { processState, readPostmaster } from '../src/postgres/postmaster.ts';
import { clientConfig } from '../src/database/database.ts';
import { testLog } from './database.ts';
import { cloudProcess, type ReadyLine } from './process.ts';
import { transportTo } from './server.ts';

const tokenOf = async ({ url, api_key_id: entity, api_key: payload }: ReadyLine): Promise<string> =>
  (
    await createClient(AuthService, transportTo(url)).authenticate({
      entity,
      credentials: { type: 'api-key', payload },
    })
  ).accessToken;

test('a first start, a stop, a second start: the same organization and key; a second server is turned away', async () => {
  await using folder = await tempFolder();
  const data = folder.file('data');
  const first = cloudProcess(data, ['--org-name', 'Acme']);
  const ready = await first.ready;
  assert.ok(ready, first.stderr());
  assert.deepEqual([ready.ready, ready.database, ready.data_dir], [true, 'embedded', data]);
  for (const name of ['secrets.json', 'first-run.json'])
    assert.equal((await stat(folder.file('data', name))).mode & 0o777, 0o600);
  assert.equal(
    (JSON.parse(await readFile(folder.file('data', 'first-run.json'), 'utf8')) as { api_key: string }).api_key,
    ready.api_key,
  );

  const second = cloudProcess(data);
  assert.deepEqual([await second.ready, await second.exit], [undefined, temporaryFailure]);
  assert.match(second.stderr(), new RegExp(`DATA_DIR_IN_USE: .*pid ${first.pid}.*--data-dir`, 's'));
  const samePort = cloudProcess(folder.file('other'), ['--port', new URL(ready.url).port]);
  assert.deepEqual([await samePort.ready, await samePort.exit], [undefined, temporaryFailure]);
  assert.match(samePort.stderr(), /PORT_IN_USE: .*--port/s);
  const unreachable = 'postgres://me:a-password@127.0.0.1:1/platform';
  const away = cloudProcess(folder.file('away'), ['--log-level', 'info', '--database-url', unreachable]);
  assert.deepEqual([await away.ready, await away.exit], [undefined, temporaryFailure]);
  assert.match(away.stderr(), /connecting to the database .*127\.0\.0\.1:1/);
  assert.match(away.stderr(), /DATABASE_UNAVAILABLE: .*127\.0\.0\.1:1: .*ECONNREFUSED/);
  assert.doesNotMatch(away.stderr(), /a-password/);
  const unknown = cloudProcess(data, ['--prot', '1']);
  assert.deepEqual([await unknown.ready, await unknown.exit], [undefined, 2]);

  const postmaster = (await readPostmaster(folder.file('data', 'postgres', '18'))) ?? assert.fail('no database runs');
  first.child.kill('SIGTERM');
  assert.equal(await first.exit, 0);
  assert.equal(await processState(postmaster.pid), 'gone');

  const again = cloudProcess(data);
  const line = await again.ready;
  assert.ok(line, again.stderr());
  assert.deepEqual(
    [line.org_id, line.api_key_id, line.api_key, line.runner_key],
    [ready.org_id, ready.api_key_id, ready.api_key, ready.runner_key],
  );
  const app = createClient(AppService, transportTo(line.url, await tokenOf(line)));
  assert.deepEqual(
    (await app.listOrganizations({})).organizations.map((one) => one.name),
    ['Acme'],
  );
  again.child.kill('SIGINT');
  assert.equal(await again.exit, 0);

  const cluster = await startCluster({ folder: folder.file('data', 'postgres'), clock: systemClock, log: testLog });
  const client = new Client(
    clientConfig({ is: 'socket', host: cluster.host, port: cluster.port, user: cluster.user, database: 'platform' }),
  );
  await client.connect();
  await client.query("insert into migration (name, sha256) values ('9999_future.sql', 'x')");
  await client.end();
  await cluster.stop();
  const older = cloudProcess(data);
  assert.deepEqual([await older.ready, await older.exit], [undefined, 1]);
  assert.match(older.stderr(), /DATA_DIR_NEWER: .*9999_future\.sql/s);
});

/** Every file beside the database with its content, and every row. */
async function contentOfFolder(data: string): Promise<unknown> {
  const names = (await readdir(data, { recursive: true })).filter((name) => !name.startsWith('postgres'));
  const files: [string, string][] = [];
  for (const name of names.toSorted())
    if ((await stat(path.join(data, name))).isFile())
      files.push([name, (await readFile(path.join(data, name))).toString('base64')]);
  return { files, rows: await onDatabase(data, rowsOf) };
}

async function onDatabase<T>(data: string, use: (client: Client) => Promise<T>): Promise<T> {
  const cluster = await startCluster({ folder: path.join(data, 'postgres'), clock: systemClock, log: testLog });
  const { host, port, user } = cluster;
  const client = new Client(clientConfig({ is: 'socket', host, port, user, database: 'platform' }));
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
    await cluster.stop();
  }
}

async function rowsOf(client: Client): Promise<Record<string, string | null>> {
  const { rows: tables } = await client.query<{ name: string }>(
    `select c.relname as name from pg_class c where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')`,
  );
  const found: Record<string, string | null> = {};
  for (const { name } of tables) {
    const { rows } = await client.query<{ all: string | null }>(
      `select string_agg(one::text, ';' order by one::text) as all from "${name}" one`,
    );
    found[name] = rows[0]?.all ?? null;
  }
  return found;
}

test('a data folder from before the first release: refused, and nothing in it changes', async () => {
  await using folder = await tempFolder();
  const data = folder.file('data');
  const first = cloudProcess(data);
  assert.ok(await first.ready, first.stderr());
  first.child.kill('SIGTERM');
  assert.equal(await first.exit, 0);
  await onDatabase(data, (client) =>
    client.query("delete from migration where name > '0002'; update migration set name = '0001_foundation.sql'"),
  );
  const before = await contentOfFolder(data);
  const refused = cloudProcess(data);
  assert.deepEqual([await refused.ready, await refused.exit], [undefined, 1]);
  assert.match(
    refused.stderr(),
    /DATA_NOT_RELEASED: A version from before the first release \(0\.1\.0\) wrote the data folder .* \(schema 0001_foundation\.sql\)/s,
  );
  assert.deepEqual(await contentOfFolder(data), before);
});

test('kill −9 of server, database or both, again and again: what was acknowledged is there, once', async () => {
  await using folder = await tempFolder();
  const data = folder.file('data');
  const random = seededRandom(7);
  const acknowledged = { lines: [] as string[], revisions: 0 };
  const victims = ['server', 'database', 'both', 'server', 'both'] as const;
  const place = { partId: '' };
  const killDatabase = async (): Promise<void> => {
    const { pid } = (await readPostmaster(folder.file('data', 'postgres', '18'))) ?? assert.fail('no database runs');
    process.kill(pid, 'SIGKILL');
  };

  for (const [round, victim] of [...victims, undefined].entries()) {
    const cloud = cloudProcess(data);
    const ready = await cloud.ready;
    assert.ok(ready, cloud.stderr());
    const transport = transportTo(ready.url, await tokenOf(ready));
    const [fleet, robot, app] = [
      createClient(FleetService, transport),
      createClient(RobotService, transport),
      createClient(AppService, transport),
    ];
    if (place.partId === '')
      place.partId = (await fleet.createMachine({ organizationId: ready.org_id, name: 'm' })).machine?.partId ?? '';
    const { partId } = place;

    const seen: string[] = [];
    for (let pageToken = ''; ;) {
      const page = await app.getRobotPartLogs({ id: partId, limit: 1000n, order: LogOrder.ASCENDING, pageToken });
      if (page.nextPageToken === '') break;
      seen.push(...page.logs.map((entry) => entry.message));
      pageToken = page.nextPageToken;
    }
    assert.equal(new Set(seen).size, seen.length, 'no line twice');
    assert.deepEqual(
      acknowledged.lines.filter((line) => !seen.includes(line)),
      [],
      'no acknowledged line lost',
    );
    const { revision, configJson } = await fleet.getConfig({ partId });
    assert.ok(Number(revision) >= acknowledged.revisions);
    if (revision > 0n) assert.equal((JSON.parse(configJson) as { n: number }).n, Number(revision));

    if (victim === undefined) {
      cloud.child.kill('SIGTERM');
      assert.equal(await cloud.exit, 0);
      break;
    }
    const stop = { at: 30 + Math.floor(random() * 60), isDead: false };
    const write = async (worker: number): Promise<void> => {
      for (let n = 1; !stop.isDead && n < 400; n++) {
        const message = `${round}/${worker}/${n}`;
        try {
          await robot.log({ id: partId, logs: [{ message, bootId: `${round}/${worker}`, sequence: BigInt(n) }] });
          acknowledged.lines.push(message);
        } catch {
          if (victim !== 'database') return;
        }
        if (acknowledged.lines.length >= stop.at && !stop.isDead) {
          stop.isDead = true;
          if (victim !== 'server') await killDatabase();
          if (victim !== 'database') cloud.child.kill('SIGKILL');
        }
      }
    };
    stop.at += acknowledged.lines.length;
    const configure = async (): Promise<void> => {
      for (let n = Number(revision) + 1; !stop.isDead; n++) {
        try {
          acknowledged.revisions = Number(
            (await fleet.saveConfig({ partId, configJson: `{"n":${n}}`, expectedRevision: BigInt(n - 1) })).revision,
          );
        } catch {
          return;
        }
      }
    };
    await Promise.all([write(1), write(2), write(3), write(4), configure()]);
    if (victim === 'database') {
      // The server restarts its database and continues. /readyz may be a second old, so the call itself is repeated.
      const after = { message: `${round}/after`, bootId: `${round}/after`, sequence: 1n };
      const isStored = (): Promise<boolean> =>
        robot.log({ id: partId, logs: [after] }).then(
          () => true,
          () => false,
        );
      for (; !(await isStored()); await systemClock.sleep(50)) assert.equal(cloud.child.exitCode, null, cloud.stderr());
      acknowledged.lines.push(`${round}/after`);
      cloud.child.kill('SIGKILL');
    }
    await cloud.exit;
  }
});
