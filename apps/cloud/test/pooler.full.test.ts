// A server behind pgbouncer: refused by name unless each client has a session of its own.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmod, writeFile } from 'node:fs/promises';
import net from 'node:net';
import path from 'node:path';
import { test } from 'node:test';
import { Client } from 'pg';
import { PlatformError } from '@platform/contract/errors/errors';
import { spawnGroup, systemClock } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { clientConfig, type Connection } from '../src/database/database.ts';
import { requireSessions } from '../src/database/pooler.ts';
import { requireVersion } from '../src/database/version.ts';
import { emptyDatabase } from './database.ts';
import { testServer } from './server.ts';

/** The embedded database has no port; pgbouncer reaches it through this one. */
async function tcpPortOf(of: Connection & { is: 'socket' }): Promise<{ port: number } & Disposable> {
  const sockets = new Set<net.Socket>();
  const server = net.createServer((near) => {
    const far = net.connect(path.join(of.host, `.s.PGSQL.${of.port}`));
    for (const one of [near, far]) one.on('error', () => {});
    near.pipe(far).pipe(near);
    sockets.add(near).add(far);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = (): void => {
    server.close();
    for (const one of sockets) one.destroy();
  };
  return { port: (server.address() as net.AddressInfo).port, [Symbol.dispose]: close };
}

/** @param settings - lines of pgbouncer.ini. */
async function pgbouncer(database: Connection & { is: 'socket' }, settings: string[]) {
  await using started = new AsyncDisposableStack();
  const folder = started.use(await tempFolder());
  const far = started.use(await tcpPortOf(database));
  const free = net.createServer().listen(0, '127.0.0.1');
  await once(free, 'listening');
  const { port } = free.address() as net.AddressInfo;
  free.close();
  await once(free, 'close');
  const file = folder.file('pgbouncer.ini');
  const { user, database: name } = database;
  await writeFile(folder.file('users'), `"${user}" ""\n`);
  const plain = ['listen_addr = 127.0.0.1', `listen_port = ${port}`, 'unix_socket_dir =', 'auth_type = any'];
  const target = `${name} = host=127.0.0.1 port=${far.port} dbname=${name} user=${user}`;
  await writeFile(file, ['[databases]', target, '[pgbouncer]', ...plain, ...settings, ''].join('\n'));
  await chmod(folder.path, 0o755);
  // It refuses to run as root.
  const args = ['--reuid=65534', '--regid=65534', '--clear-groups', '/usr/sbin/pgbouncer', file];
  const isRoot = process.getuid?.() === 0;
  const group = await spawnGroup({
    command: isRoot ? 'setpriv' : '/usr/sbin/pgbouncer',
    args: isRoot ? args : [file],
    logFile: folder.file('log'),
  });
  started.defer(async () => void (await group.stop({ termMs: 2_000 })));
  const isListening = (): Promise<boolean> =>
    new Promise((resolve) => {
      const probe = net.connect(port, '127.0.0.1', () => (probe.destroy(), resolve(true)));
      probe.on('error', () => resolve(false));
    });
  for (const end = systemClock.now() + 10_000; !(await isListening()); await systemClock.sleep(50))
    assert.ok(systemClock.now() < end, 'pgbouncer does not listen');
  const all = started.move();
  return { url: `postgresql://${user}@127.0.0.1:${port}/${name}`, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

const ignored =
  'ignore_startup_parameters = lock_timeout, statement_timeout, idle_in_transaction_session_timeout, options';

async function socketDatabase(): Promise<Connection & { is: 'socket' }> {
  const made = await emptyDatabase();
  return made.is === 'socket' ? made : assert.fail('the fixture is an embedded database');
}

async function limit(on: Connection & { is: 'socket' }, value: string): Promise<void> {
  const client = new Client(clientConfig(on));
  await client.connect();
  await client.query(`alter role ${on.user} set lock_timeout = '${value}'`).finally(() => client.end());
}

const refused = (problem: RegExp) => (error: unknown) =>
  error instanceof PlatformError && error.code === 'DATABASE_POOLER' && problem.test(error.message);

test('a pooler is refused by name unless each connection is a session with its limits', async (t) => {
  const on = await socketDatabase();
  const check = async (settings: string[]): Promise<void> => {
    await using pooler = await pgbouncer(on, settings);
    await requireSessions({ is: 'url', url: pooler.url }, 'pooler');
  };
  await t.test('PostgreSQL itself', () => requireSessions(on, 'itself'));
  await t.test('it refuses the limits of a connection', () =>
    assert.rejects(check(['pool_mode = session']), refused(/unsupported startup parameter/)),
  );
  await t.test('it drops the limits of a connection', () =>
    assert.rejects(check(['pool_mode = session', ignored]), refused(/drops lock_timeout/)),
  );
  await limit(on, '10s');
  await t.test('one session for each transaction', () =>
    assert.rejects(check(['pool_mode = transaction', ignored]), refused(/had the sessions \d+ and \d+/)),
  );
  await t.test('one session for all transactions', () =>
    assert.rejects(
      check(['pool_mode = transaction', 'default_pool_size = 1', ignored]),
      refused(/waited for the transaction of another one/),
    ),
  );
  await t.test('one session for each statement', () =>
    assert.rejects(check(['pool_mode = statement', ignored]), refused(/statement pooling mode/)),
  );
  await t.test('one session for each client, with the limits of the role', () =>
    check(['pool_mode = session', ignored]),
  );
  await t.test('the first connection of a start names it, too', async () => {
    await using pooler = await pgbouncer(on, ['pool_mode = transaction']);
    await assert.rejects(testServer(['--database-url', pooler.url]), { code: 'DATABASE_POOLER' });
    await assert.rejects(requireVersion({ is: 'url', url: pooler.url }), /unsupported startup parameter/);
  });
  await t.test('nothing of the refused starts stays in the pooler', async () => {
    await using pooler = await pgbouncer(on, ['pool_mode = transaction', ignored]);
    await assert.rejects(testServer(['--database-url', pooler.url]), { code: 'DATABASE_POOLER' });
    const client = new Client(clientConfig(on));
    await client.connect();
    const locks = await client.query(`select from pg_locks where locktype = 'advisory'`).finally(() => client.end());
    assert.equal(locks.rowCount, 0);
  });
});
