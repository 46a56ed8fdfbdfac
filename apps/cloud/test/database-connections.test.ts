// One connection of the pool dies: its backend is terminated, or its network drops all packets. Calls continue on
// others.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import path from 'node:path';
import test from 'node:test';
import { createClient } from '@connectrpc/connect';
import { Client } from 'pg';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { AuthService } from '@platform/contract/gen/proto/rpc/v1/auth_pb';
import { systemClock } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { startCluster } from '../src/postgres/cluster.ts';
import { openOwnDatabase } from '../src/postgres/roles.ts';
import { clientConfig } from '../src/database/database.ts';
import { testLog } from './database.ts';
import { failure } from './failure.ts';
import { cloudProcess } from './process.ts';
import { transportTo } from './server.ts';

const fine = 'no failure';
const away = 'Unavailable DATABASE_UNAVAILABLE';
/** Part of the SQL statement of the tested call. */
const words = 'inner join "machine"';

/** A database proxy that knows which connection carried the call and can drop that connection's bytes. */
async function spiedDatabase() {
  const folder = await tempFolder();
  const cluster = await startCluster({ folder: folder.file('pg'), clock: systemClock, log: testLog });
  await openOwnDatabase(cluster, 'platform', testLog);
  const socketFile = path.join(cluster.host, `.s.PGSQL.${cluster.port}`);
  const sockets = new Set<net.Socket>();
  const swallowed = new Set<net.Socket>();
  const last: { carrier: net.Socket | undefined } = { carrier: undefined };
  const proxy = net.createServer((near) => {
    const far = net.connect(socketFile);
    for (const one of [near, far]) sockets.add(one.on('error', () => {}));
    near.on('data', (chunk) => {
      if (chunk.includes(words)) last.carrier = near;
      if (!swallowed.has(near)) far.write(chunk);
    });
    far.on('data', (chunk) => swallowed.has(near) || near.write(chunk));
    near.on('close', () => far.destroy());
    far.on('close', () => near.destroy());
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const { port } = proxy.address() as net.AddressInfo;
  return {
    url: `postgresql://${cluster.user}@127.0.0.1:${port}/platform`,
    data: folder.file('data'),
    direct: { is: 'socket', host: cluster.host, port: cluster.port, user: cluster.user, database: 'platform' } as const,
    /** @returns the server's end of the connection that carried the last call, and a promise that it is closed. */
    swallow(): { closed: Promise<unknown> } {
      const carrier = last.carrier ?? assert.fail('no call was made');
      swallowed.add(carrier);
      return { closed: once(carrier, 'close') };
    },
    async [Symbol.asyncDispose]() {
      proxy.close();
      for (const socket of sockets) socket.destroy();
      await cluster.stop();
      await folder[Symbol.asyncDispose]();
    },
  };
}

test('one dead connection of the pool is replaced', { timeout: 120_000 }, async () => {
  await using database = await spiedDatabase();
  const argv = ['--database-url', database.url, '--database-statement-timeout-s', '2'];
  const server = cloudProcess(database.data, argv);
  const ready = (await server.ready) ?? assert.fail(server.stderr());
  const admin = new Client(clientConfig(database.direct));
  await admin.connect();
  try {
    const { accessToken } = await createClient(AuthService, transportTo(ready.url)).authenticate({
      entity: ready.api_key_id,
      credentials: { type: 'api-key', payload: ready.api_key },
    });
    const owner = createClient(FleetService, transportTo(ready.url, accessToken));
    const call = () => failure(owner.listMachines({ organizationId: ready.org_id }));
    const calls = (count: number) => Promise.all(Array.from({ length: count }, call));
    const failed = (outcomes: readonly string[]): string[] => outcomes.filter((one) => one !== fine);
    /** Makes the calls sequentially, so that the first available connection carries each. */
    const inTurn = async (count: number): Promise<string[]> => {
      const outcomes: string[] = [];
      for (let n = 0; n < count; n++) outcomes.push(await call());
      return outcomes;
    };
    assert.deepEqual(failed(await calls(20)), []);

    // Terminates its backend while it is idle.
    const { rows } = await admin.query<{ pid: number }>(
      `select pid from pg_stat_activity where query ~ $1 and pid <> pg_backend_pid() and state = 'idle'
       order by state_change desc limit 1`,
      // The call reads what belongs to the machines with further statements.
      [`${words}|machine_split|config_revision|part_run`],
    );
    const { pid = 0 } = rows[0] ?? {};
    const ended = await admin.query<{ done: boolean }>('select pg_terminate_backend($1) as done', [pid]);
    assert.deepEqual(ended.rows, [{ done: true }]);
    const first = await inTurn(20);
    assert.ok(
      failed(first).length <= 1 && failed(first).every((one) => one === away),
      `${failed(first).join()}\n${server.stderr()}`,
    );

    // Its network drops everything: only the statement timeout detects it.
    assert.equal(await call(), fine);
    const { closed } = database.swallow();
    const second = inTurn(20);
    assert.deepEqual(
      failed(await calls(20)).filter((one) => one !== away),
      [],
    );
    assert.ok(failed(await second).length <= 1, 'one call at most waits in vain');
    await closed;
    assert.equal((await fetch(`${ready.url}/readyz`)).status, 200);
    assert.deepEqual(failed(await calls(20)), []);
    const alive = await admin.query(`select from pg_stat_activity where query ~ $1 and pid <> pg_backend_pid()`, [
      `${words}|machine_split|config_revision|part_run`,
    ]);
    assert.ok((alive.rowCount ?? 0) > 0, 'others carry the calls');
  } finally {
    await admin.end();
    server.child.kill('SIGTERM');
  }
  assert.equal(await server.exit, 0);
});
