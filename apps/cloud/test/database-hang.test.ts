// A hanging database: it accepts connections and statements, and answers none.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import net from 'node:net';
import path from 'node:path';
import test from 'node:test';
import { sql } from 'kysely';
import { Client } from 'pg';
import { fromBinary } from '@bufbuild/protobuf';
import { createClient } from '@connectrpc/connect';
import { DeviceAgentConfigResponseSchema } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { RobotService } from '@platform/contract/gen/platform/app/v1/robot_pb';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { AuthService } from '@platform/contract/gen/proto/rpc/v1/auth_pb';
import { systemClock } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { appRole } from '../src/postgres/access-rules.ts';
import { type Cluster, startCluster } from '../src/postgres/cluster.ts';
import { openOwnDatabase } from '../src/postgres/roles.ts';
import { readPostmaster } from '../src/postgres/postmaster.ts';
import { type Connection, clientConfig, openDatabase } from '../src/database/database.ts';
import { holdDatabase } from '../src/database/exclusive.ts';
import { testLog } from './database.ts';
import { failure } from './failure.ts';
import { checkBytes, dial } from './plain-wire.ts';
import { cloudProcess, type CloudProcess, type ReadyLine } from './process.ts';
import { testServer, transportTo } from './server.ts';

/** A database that can hang, and a server on it. */
type Rig = AsyncDisposable & {
  start(): CloudProcess;
  cluster: Pick<Cluster, 'host' | 'port' | 'user'>;
  hang(): Promise<void>;
  goOn(): Promise<void>;
};

async function childrenOf(parent: number): Promise<number[]> {
  const found: number[] = [];
  for (const name of await readdir('/proc')) {
    const stat = /^\d+$/.test(name) ? await readFile(`/proc/${name}/stat`, 'utf8').catch(() => '') : '';
    if (Number(stat.slice(stat.lastIndexOf(')') + 4).split(' ')[0]) === parent) found.push(Number(name));
  }
  return found;
}

/** Stops the postmaster and all its processes: the kernel still accepts connections for them. */
async function stopped(): Promise<Rig> {
  const folder = await tempFolder();
  const data = folder.file('data');
  const pids: number[] = [];
  const postmaster = async () =>
    (await readPostmaster(path.join(data, 'postgres', '18'))) ?? assert.fail('no database runs');
  const goOn = async (): Promise<void> => {
    for (const pid of pids.splice(0)) process.kill(pid, 'SIGCONT');
    await Promise.resolve();
  };
  return {
    start: () => cloudProcess(data, ['--log-level', 'info']),
    cluster: { host: path.join(data, 'postgres', '18'), port: 5432, user: appRole },
    async hang() {
      const { pid } = await postmaster();
      for (const one of [pid, ...(await childrenOf(pid))]) {
        process.kill(one, 'SIGSTOP');
        pids.push(one);
      }
    },
    goOn,
    [Symbol.asyncDispose]: async () => {
      await goOn();
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** An external database behind a network that drops every byte and later forgets its connections. */
async function swallowed(): Promise<Rig & { url: string }> {
  const folder = await tempFolder();
  const cluster = await startCluster({ folder: folder.file('pg'), clock: systemClock, log: testLog });
  await openOwnDatabase(cluster, 'platform', testLog);
  const state = { isHanging: false };
  const sockets = new Set<net.Socket>();
  const socketFile = path.join(cluster.host, `.s.PGSQL.${cluster.port}`);
  const proxy = net.createServer((near) => {
    sockets.add(near);
    near.on('error', () => {});
    if (state.isHanging) return;
    const far = net.connect(socketFile);
    far.on('error', () => near.destroy());
    near.on('data', (chunk) => state.isHanging || far.write(chunk));
    far.on('data', (chunk) => state.isHanging || near.write(chunk));
    // The database is not notified when the server drops a connection.
    near.on('close', () => state.isHanging || far.destroy());
    far.on('close', () => state.isHanging || near.destroy());
    sockets.add(far);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const { port } = proxy.address() as net.AddressInfo;
  const url = `postgresql://${cluster.user}@127.0.0.1:${port}/platform`;
  return {
    url,
    start: () => cloudProcess(folder.file('data'), ['--log-level', 'info', '--database-url', url]),
    cluster,
    hang: () => Promise.resolve(void (state.isHanging = true)),
    goOn: () => Promise.resolve(void (state.isHanging = false)),
    async [Symbol.asyncDispose]() {
      proxy.close();
      for (const socket of sockets) socket.destroy();
      await cluster.stop();
      await folder[Symbol.asyncDispose]();
    },
  };
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await systemClock.sleep(50);
}
const tokenOf = async (url: string, entity: string, type: string, payload: string): Promise<string> =>
  (await createClient(AuthService, transportTo(url)).authenticate({ entity, credentials: { type, payload } }))
    .accessToken;
const hostInfo = { platform: 'linux/amd64', tags: ['platform-agent'] };

/** Writes numbered lines sequentially, counts the acknowledged ones and resends the others. */
async function writeLines(ready: ReadyLine, token: string, partId: string, stop: AbortSignal): Promise<number> {
  const robot = createClient(RobotService, transportTo(ready.url, token));
  let acknowledged = 0;
  for (let sequence = 1; !stop.aborted;) {
    const line = { message: `line ${sequence}`, bootId: 'boot', sequence: BigInt(sequence) };
    if ((await failure(robot.log({ id: partId, logs: [line] }))) === 'no failure') acknowledged = sequence++;
    else await systemClock.sleep(100);
  }
  return acknowledged;
}

for (const [name, rigOf, rounds] of [
  ['the embedded database is stopped', stopped, 2],
  ['the network to an external database swallows everything', swallowed, 1],
] as const)
  test(`not ready, and back by itself: ${name}`, { timeout: 120_000 }, async () => {
    await using rig = await rigOf();
    await using open = new AsyncDisposableStack();
    const server = rig.start();
    const ready = (await server.ready) ?? assert.fail(server.stderr());
    try {
      const owner = createClient(
        FleetService,
        transportTo(ready.url, await tokenOf(ready.url, ready.api_key_id, 'api-key', ready.api_key)),
      );
      const { credentialsJson } = await owner.createMachine({ organizationId: ready.org_id, name: 'm' });
      const { cloud } = JSON.parse(credentialsJson) as { cloud: { id: string; secret: string } };
      const token = await tokenOf(ready.url, cloud.id, 'robot-secret', cloud.secret);
      const wire = await dial(ready.url);
      open.defer(() => void wire.close());
      await wire.say(checkBytes(ready, token, { id: cloud.id, hostInfo }));
      const { fingerprint } = fromBinary(DeviceAgentConfigResponseSchema, (await wire.answer()).body);
      const check = async (): Promise<string | null> => {
        await wire.say(checkBytes(ready, token, { id: cloud.id, hostInfo, knownFingerprint: fingerprint }));
        return (await wire.answer()).headers.get('cache-status') ?? null;
      };
      const isReady = async (): Promise<boolean> => (await fetch(`${ready.url}/readyz`)).status === 200;
      assert.equal(await isReady(), true);
      const database = new Client(clientConfig({ is: 'socket', ...rig.cluster, database: 'platform' }));
      database.on('error', () => {});
      open.defer(() => database.end().catch(() => {}));
      await database.connect();
      const isListening = async (): Promise<boolean> =>
        (await database.query(`select from pg_stat_activity where query like 'listen%'`)).rowCount === 1;
      const stop = new AbortController();
      open.defer(() => stop.abort());
      const written = writeLines(ready, token, cloud.id, stop.signal);

      for (let round = 0; round < rounds; round++) {
        await until(isListening);
        await until(async () => (await check()) === 'platform; hit');
        await rig.hang();
        const began = systemClock.now();
        await until(async () => !(await isReady()));
        const readyMs = systemClock.now() - began;
        // Calls in progress when the hang begins, and calls made later.
        const calls = Array.from({ length: 30 }, () => failure(owner.listMachines({ organizationId: ready.org_id })));
        assert.deepEqual([...new Set(await Promise.all(calls))], ['Unavailable DATABASE_UNAVAILABLE']);
        const callsMs = systemClock.now() - began;
        assert.equal(
          await failure(owner.listMachines({ organizationId: ready.org_id })),
          'Unavailable DATABASE_UNAVAILABLE',
        );
        assert.equal(await check(), 'platform; hit');
        await rig.goOn();
        const again = systemClock.now();
        await until(isReady);
        const text = [readyMs, callsMs, systemClock.now() - again].map((ms) => `${Math.round(ms)} ms`);
        process.stdout.write(`not ready after ${text[0]}, calls refused after ${text[1]}, back after ${text[2]}\n`);
        await until(async () => (await failure(owner.listMachines({ organizationId: ready.org_id }))) === 'no failure');
      }

      // Notifications: a long poll receives a change.
      const held = await dial(ready.url);
      open.defer(() => void held.close());
      const wait = { seconds: 50n, nanos: 0 };
      await held.say(checkBytes(ready, token, { id: cloud.id, hostInfo, knownFingerprint: fingerprint, wait }));
      await owner.saveConfig({ partId: cloud.id, configJson: '{"agent":{"advanced_settings":{"debug":true}}}' });
      const changed = fromBinary(DeviceAgentConfigResponseSchema, (await held.answer()).body);
      assert.notEqual(changed.fingerprint, fingerprint);
      // Another process changes it, and only a notification reports it: the server would find no row by polling.
      const known = { id: cloud.id, hostInfo, knownFingerprint: changed.fingerprint, wait };
      await held.say(checkBytes(ready, token, known));
      await database.query(
        `with next as (
           insert into config_revision select (jsonb_populate_record(old, jsonb_build_object('revision', old.revision + 1,
             'config', '{"agent":{"advanced_settings":{"debug":false}}}'::jsonb))).*
             from config_revision old where part_id = $1 order by revision desc limit 1 returning part_id, revision)
         update part set revision = next.revision from next where part.id = next.part_id`,
        [cloud.id],
      );
      await database.query(`select pg_notify('change', '999999999 config ' || $1)`, [cloud.id]);
      const changedAgain = fromBinary(DeviceAgentConfigResponseSchema, (await held.answer()).body);
      assert.deepEqual([changedAgain.revision, changedAgain.fingerprint === fingerprint], [2n, false]);

      stop.abort();
      const acknowledged = await written;
      const { rows } = await database.query<{ sequence: string }>(
        'select sequence from part_log where part_id = $1 order by id',
        [cloud.id],
      );
      const found = rows.map(({ sequence }) => Number(sequence));
      assert.deepEqual(
        found.slice(0, acknowledged),
        Array.from({ length: acknowledged }, (_, n) => n + 1),
      );
      assert.equal(new Set(found).size, found.length);
    } finally {
      server.child.kill('SIGTERM');
    }
    assert.equal(await server.exit, 0);
  });

test('a server that lost its right to another one writes nothing more, also over connections of before', async () => {
  await using rig = await swallowed();
  const socket = { is: 'socket', ...rig.cluster, database: 'platform' } as const;
  const admin = new Client(clientConfig(socket));
  await admin.connect();
  await admin.query('create table written (by text)');
  const lost = Promise.withResolvers<string>();
  const hold = async (connection: Connection, onLost: (code: string) => void) => {
    const right = await holdDatabase({
      connection,
      where: 'x',
      clock: systemClock,
      log: testLog,
      waitMs: 1_000,
      onLost: (e) => onLost(e.code),
    });
    return { right, ...openDatabase(connection, testLog, { right }) };
  };
  const first = await hold({ is: 'url', url: rig.url }, lost.resolve);
  await sql`insert into written values ('first')`.execute(first.db);
  await assert.rejects(
    hold(socket, () => {}),
    /DATA_DIR_IN_USE/,
  );

  // A statement of the first server is in flight when its network dies and the database ends its session.
  const began = Promise.withResolvers<void>();
  const late = first.db.transaction().execute(async (trx) => {
    await sql`insert into written values ('too late')`.execute(trx);
    began.resolve();
    await systemClock.sleep(100);
    await ended.promise;
    await sql`insert into written values ('too late')`.execute(trx);
  });
  const ended = Promise.withResolvers<void>();
  const lateOutcome = late.then(
    () => 'written',
    () => 'refused',
  );
  await began.promise;
  await rig.hang();
  await admin.query(`select pg_terminate_backend($1)`, [first.right.holder()]);
  const second = await hold(socket, () => {});
  await sql`insert into written values ('second')`.execute(second.db);
  await rig.goOn();
  ended.resolve();
  assert.equal(await lateOutcome, 'refused');
  await assert.rejects(async () => {
    for (;;) await sql`insert into written values ('too late')`.execute(first.db);
  });
  assert.equal(await lost.promise, 'DATA_DIR_IN_USE');
  const { rows } = await admin.query<{ by: string }>('select by from written');
  assert.deepEqual(
    rows.map(({ by }) => by),
    ['first', 'second'],
  );
  for (const one of [first, second]) {
    await one.close();
    await one.right.close();
  }
  await admin.end();
});

for (const [what, argv] of [
  ['a lock', ['--database-lock-timeout-s', '1']],
  ['a statement', ['--database-statement-timeout-s', '1']],
] as const)
  test(`${what} that takes too long ends the call, and nothing else`, async () => {
    await using on = await testServer(argv);
    const owner = await on.client(FleetService);
    await on.db.transaction().execute(async (held) => {
      await sql`lock table machine in access exclusive mode`.execute(held);
      assert.equal(await failure(owner.listMachines({ organizationId: on.orgId })), 'Unavailable DATABASE_UNAVAILABLE');
      assert.equal((await fetch(`${on.url}/readyz`)).status, 200);
    });
    assert.equal(await failure(owner.listMachines({ organizationId: on.orgId })), 'no failure');
  });
