import { after } from 'node:test';
import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { createLog, type Log } from '@platform/kit';
import { systemClock } from '@platform/kit/node';
import type { Cluster } from '../src/postgres/cluster.ts';
import { type Connection, clientConfig, openDatabase, type OpenDatabase } from '../src/database/database.ts';
import { unhandledFailures } from '../src/process/unhandled.ts';
import { startPrepared, template } from './prepared-cluster.ts';

/** Shows warnings and errors of the server under test. */
export const testLog: Log = createLog({
  name: 'test',
  clock: systemClock,
  level: 'warn',
  sink: (line) => process.stderr.write(`${line.level} ${line.logger} ${line.message} ${JSON.stringify(line.fields)}\n`),
});

export const testUnhandled = unhandledFailures(testLog);

/** One cluster per test process. */
const memo: { started: ReturnType<typeof startPrepared> | undefined } = { started: undefined };

const connectionTo = (cluster: Cluster, database: string): Connection & { is: 'socket' } => ({
  is: 'socket',
  host: cluster.host,
  port: cluster.port,
  user: cluster.user,
  database,
});

async function run(connection: Connection, statement: string): Promise<void> {
  const client = new Client(clientConfig(connection));
  await client.connect();
  await client.query(statement).finally(() => client.end());
}

after(async () => {
  if (!memo.started) return;
  const { cluster, folder } = await memo.started;
  await cluster.stop();
  await folder[Symbol.asyncDispose]();
});

/** The URL of a connection to the cluster of the tests. */
export function urlOf(connection: Connection): string {
  if (connection.is !== 'socket') throw new Error('the fixture is an embedded database');
  const { user, database, host, port } = connection;
  return `postgresql://${user}@localhost/${database}?host=${encodeURIComponent(host)}&port=${port}`;
}

/** Creates a database without any table. */
export async function emptyDatabase(): Promise<Connection> {
  memo.started ??= startPrepared(testLog);
  const { cluster } = await memo.started;
  const name = `t_${randomUUID().replaceAll('-', '')}`;
  const admin = { ...connectionTo(cluster, 'postgres'), user: cluster.admin };
  await run(admin, `create database ${name} owner ${cluster.user}`);
  return connectionTo(cluster, name);
}

/** Creates a migrated, empty database; its cluster ends with the test process. */
export async function testDatabase(): Promise<OpenDatabase & AsyncDisposable> {
  memo.started ??= startPrepared(testLog);
  const { cluster } = await memo.started;
  const name = `t_${randomUUID().replaceAll('-', '')}`;
  const admin = { ...connectionTo(cluster, 'postgres'), user: cluster.admin };
  await run(admin, `create database ${name} template ${template} owner ${cluster.user}`);
  const open = openDatabase(connectionTo(cluster, name), testLog);
  return { ...open, [Symbol.asyncDispose]: () => open.close() };
}
