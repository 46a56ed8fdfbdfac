import { CamelCasePlugin, Kysely, PostgresDialect, type RawBuilder, sql } from 'kysely';
import { type ClientConfig, type CustomTypesConfig, Pool, types as pgTypes } from 'pg';
import { errorText, type Log } from '@platform/kit';
import type { Tables } from './schema.ts';

export type Database = Kysely<Tables>;

/** How to reach a database: the embedded one by its socket folder, another by its URL. */
export type Connection =
  | { is: 'socket'; host: string; port: number; user: string; database: string }
  | { is: 'url'; url: string };

export type OpenDatabase = { db: Database; pool: Pool; connection: Connection; close(): Promise<void> };

const oid = { int8: 20, timestamptz: 1184 } as const;

/** Times arrive as ms since 1970, 64-bit integers as numbers (ids and sizes stay far below 2^53). */
const types: CustomTypesConfig = {
  getTypeParser: ((id: number, format?: 'text' | 'binary') => {
    if (format === 'binary') return pgTypes.getTypeParser(id, 'binary');
    if (id === oid.int8) return Number;
    const parse = pgTypes.getTypeParser(id);
    return id === oid.timestamptz ? (text: string) => Number(parse(text)) : parse;
  }) as typeof pgTypes.getTypeParser,
};

export const clientConfig = (connection: Connection): ClientConfig => ({
  ...(connection.is === 'url'
    ? { connectionString: connection.url }
    : { host: connection.host, port: connection.port, user: connection.user, database: connection.database }),
  application_name: 'platform-cloud',
  types,
});

/** A pool and a query builder. A database that goes away fails the queries of the moment; later ones connect again. */
export function openDatabase(connection: Connection, log: Log, max = 16): OpenDatabase {
  const pool = new Pool({ ...clientConfig(connection), max, connectionTimeoutMillis: 10_000 });
  // Without a listener the whole process ends when an idle connection breaks.
  const state = { isClosing: false };
  pool.on('error', (error) => {
    if (!state.isClosing) log.warn('lost a database connection', { error: errorText(error) });
  });
  // The same for one that breaks while a transaction holds it; the transaction's next statement fails.
  pool.on('connect', (client) => {
    client.on('error', (error) => log.debug('a database connection broke', { error: errorText(error) }));
  });
  const db = new Kysely<Tables>({
    dialect: new PostgresDialect({ pool }),
    plugins: [new CamelCasePlugin({ maintainNestedObjectKeys: true })],
  });
  return {
    db,
    pool,
    connection,
    close: async () => {
      state.isClosing = true;
      await db.destroy();
    },
  };
}

/** A time of ours (ms since 1970) as a value of the database. */
export const at = (ms: number): RawBuilder<number> => sql<number>`to_timestamp(${ms}::double precision / 1000)`;

/** Is this the failure of a database that is away or going away, so that the same call may work in a moment? */
export function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = String((error as { code?: unknown }).code ?? '');
  if (/^(08...|53300|57P0[1-5]|ECONNREFUSED|ECONNRESET|EPIPE|ENOENT)$/.test(code)) {
    return code !== 'ENOENT' || (error as { syscall?: unknown }).syscall === 'connect';
  }
  return /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error)/.test(
    error.message,
  );
}

/** SQLSTATE of a failed statement, for example 23505: unique_violation. */
export const sqlState = (error: unknown): string | undefined =>
  error instanceof Error && /^[0-9A-Z]{5}$/.test(String((error as { code?: unknown }).code))
    ? String((error as { code?: unknown }).code)
    : undefined;

/** Name of the constraint that a statement violated. */
export const violated = (error: unknown): string | undefined =>
  error instanceof Error ? (error as { constraint?: string }).constraint : undefined;
