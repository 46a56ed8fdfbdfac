import { Client } from 'pg';
import { errorText } from '@platform/kit';
import { clientConfig, cut } from '../database/database.ts';
import { adminRole } from './access-rules.ts';

/** Runs one statement over a new connection. @returns why it failed within `limitMs`; undefined: it succeeded. */
export async function connectProblem(at: { host: string; port: number }, limitMs: number): Promise<string | undefined> {
  const connection = { is: 'socket', ...at, user: adminRole, database: 'postgres' } as const;
  const client = new Client({
    ...clientConfig(connection),
    connectionTimeoutMillis: limitMs,
    query_timeout: limitMs,
  });
  client.on('error', () => {});
  try {
    await client.connect();
    await client.query('select 1');
    await client.end();
    return undefined;
  } catch (error) {
    cut(client);
    return errorText(error);
  }
}
