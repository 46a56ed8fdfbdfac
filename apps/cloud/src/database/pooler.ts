// A pooler that gives a client another connection for each transaction: locks of a session would then belong to the pooler,
// notifications would get lost, and limits that a client sets would be those of others.
import { Client } from 'pg';
import { PlatformError } from '@platform/contract/errors/errors';
import { type Connection, clientConfig, cut } from './database.ts';

const limitMs = 5_000;
/** What pgbouncer answers to settings that it does not pass, and to a transaction in its mode for statements. */
const refusals = /unsupported startup parameter|statement pooling mode/i;

/** The refusal of a pooler as a row of the error table; any other error as it is. */
export const poolerRefusal = (error: unknown, host: string): unknown =>
  error instanceof Error && refusals.test(error.message)
    ? new PlatformError('DATABASE_POOLER', { host, problem: error.message }, error)
    : error;

/**
 * Makes sure that each connection is a session of PostgreSQL, with the limits that it asks for.
 *
 * @throws PlatformError DATABASE_POOLER; errors of the driver if it cannot be reached.
 */
export async function requireSessions(connection: Connection, host: string): Promise<void> {
  const config = { ...clientConfig(connection), lock_timeout: limitMs, query_timeout: limitMs };
  const [first, second] = [new Client(config), new Client(config)];
  for (const client of [first, second]) client.on('error', () => {});
  try {
    await first.connect();
    const { rows } = await first.query<{ limit: string }>(`select current_setting('lock_timeout') as limit`);
    if (rows[0]?.limit === '0') throw refusal(host, 'it drops lock_timeout and the other limits of a connection');
    const before = await backendOf(first);
    // A pooler for transactions gives this one the connection of the first.
    await second.connect();
    await second.query('begin');
    const between = await backendOf(second);
    const after = await backendOf(first).catch((error: unknown) => {
      const problem = 'a connection waited for the transaction of another one';
      throw error instanceof Error && /timeout/i.test(error.message) ? refusal(host, problem) : error;
    });
    await second.query('commit');
    if (before !== after || before === between)
      throw refusal(host, `one connection had the sessions ${before} and ${after} of PostgreSQL`);
  } catch (error) {
    throw poolerRefusal(error, host);
  } finally {
    for (const client of [first, second]) await client.end().catch(() => cut(client));
  }
}

const refusal = (host: string, problem: string): PlatformError =>
  new PlatformError('DATABASE_POOLER', { host, problem });

async function backendOf(client: Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  return rows[0]?.pid ?? 0;
}
