import {
  CamelCasePlugin,
  Kysely,
  PostgresDialect,
  type PostgresPool,
  type RawBuilder,
  sql,
  type Transaction,
} from 'kysely';
import {
  type Client,
  type ClientBase,
  type ClientConfig,
  type CustomTypesConfig,
  Pool,
  type PoolClient,
  type QueryResult,
  types as pgTypes,
} from 'pg';
import { PlatformError } from '@platform/contract/errors/errors';
import { errorText, type Log } from '@platform/kit';
import type { Tables } from './schema.ts';

export type Database = Kysely<Tables>;

/** How to connect to a database: the embedded one by its socket folder, another by its URL. */
export type Connection =
  | { is: 'socket'; host: string; port: number; user: string; database: string }
  | { is: 'url'; url: string };

/** Connections of the pool, and callers that wait for one. */
export type PoolState = { open: number; idle: number; waiting: number };

export type OpenDatabase = { db: Database; pool: Pool; connection: Connection; close(): Promise<void> };

/** Time limits of database operations in ms. */
export type DatabaseLimits = { connectMs: number; statementMs: number; lockMs: number };
const usualLimits: DatabaseLimits = { connectMs: 10_000, statementMs: 60_000, lockMs: 10_000 };

/** The right of one server to use a database: no statement runs without it. */
export type DatabaseRight = {
  /** @throws PlatformError DATABASE_UNAVAILABLE while this server does not have the right. */
  admit(): Promise<void>;
  /** ID of the session that holds the right; undefined: none. */
  holder(): number | undefined;
  onLost(then: () => void): void;
};

const oid = { int8: 20, timestamptz: 1184 } as const;

/** Times arrive as ms since 1970, 64-bit integers as numbers (IDs and sizes stay far below 2^53). */
const types: CustomTypesConfig = {
  getTypeParser: ((id: number, format?: 'text' | 'binary') => {
    if (format === 'binary') return pgTypes.getTypeParser(id, 'binary');
    if (id === oid.int8) return Number;
    const parse = pgTypes.getTypeParser(id);
    return id === oid.timestamptz ? (text: string) => Number(parse(text)) : parse;
  }) as typeof pgTypes.getTypeParser,
};

/** Application name of a server's sessions, which the next server ends before it starts. */
export const serverSessions = 'platform-cloud';

/**
 * Detects a peer that vanished (power, network) within a minute, on both sides. The database would otherwise keep its
 * locks for hours.
 */
const keepAlive = {
  keepAlive: true,
  keepAliveInitialDelayMillis: 30_000,
  options: '-c tcp_keepalives_idle=30 -c tcp_keepalives_interval=10 -c tcp_keepalives_count=3',
};

/** @param name - the application_name that the database shows. */
export const clientConfig = (connection: Connection, name = 'platform-tool'): ClientConfig => ({
  ...keepAlive,
  ...(connection.is === 'url'
    ? { connectionString: connection.url }
    : { host: connection.host, port: connection.port, user: connection.user, database: connection.database }),
  application_name: name,
  connectionTimeoutMillis: usualLimits.connectMs,
  types,
});

/** Limit of an idle transaction, because another server may wait for its locks. */
const idleTransactionMs = 60_000;
/** The database cancels a long statement itself. If it fails to, the driver gives up this much later. */
const silentMs = 5_000;

/**
 * Opens a pool and a query builder. If the database goes away, current queries fail and later ones reconnect. If it
 * hangs, queries fail at their time limit, or when this server loses its right.
 */
export function openDatabase(
  connection: Connection,
  log: Log,
  { max = 16, limits = usualLimits, right }: { max?: number; limits?: DatabaseLimits; right?: DatabaseRight } = {},
): OpenDatabase {
  const pool = new Pool({
    ...clientConfig(connection, right && serverSessions),
    max,
    connectionTimeoutMillis: limits.connectMs,
    statement_timeout: limits.statementMs,
    lock_timeout: limits.lockMs,
    idle_in_transaction_session_timeout: idleTransactionMs,
    query_timeout: limits.statementMs + silentMs,
  });
  // Without a listener, the process exits when an idle connection breaks.
  const state = { isClosing: false };
  pool.on('error', (error) => {
    if (!state.isClosing) log.warn('lost a database connection', { error: errorText(error) });
  });
  // The same for a connection that breaks during a transaction; the transaction's next statement fails.
  const open = new Set<PoolClient>();
  pool.on('connect', (client) => {
    open.add(client);
    client.on('error', (error) => log.debug('a database connection broke', { error: errorText(error) }));
  });
  pool.on('remove', (client) => open.delete(client));
  right?.onLost(() => {
    for (const client of open) cut(client);
  });
  const db = new Kysely<Tables>({
    dialect: new PostgresDialect({ pool: guarded(pool, right) }),
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

/** Closes a connection at once, whatever it waits for. */
export const cut = (client: ClientBase): void => void (client as Client).connection.stream.destroy();

/** Only returns connections of a server with the right, and never again one that failed to answer. */
function guarded(pool: Pool, right: DatabaseRight | undefined): PostgresPool {
  const proven = new WeakSet<PoolClient>();
  const broken = new WeakSet<PoolClient>();
  const query = async (client: PoolClient, text: string, values: unknown[]): Promise<QueryResult> => {
    try {
      return await client.query(text, values);
    } catch (error) {
      if (isSilence(error)) cut(client);
      // The pool may notice the closed connection after the error and would hand it out again.
      if (!isAnswer(error)) broken.add(client);
      throw error;
    }
  };
  const prove = async (client: PoolClient, of: DatabaseRight): Promise<void> => {
    if (proven.has(client)) return;
    const before = of.holder();
    const { rowCount } = await query(client, holdsRight, [before ?? 0]);
    if (rowCount !== 1 || before !== of.holder()) throw new PlatformError('DATABASE_UNAVAILABLE');
    proven.add(client);
  };
  const waiting = new Set<() => void>();
  right?.onLost(() => {
    for (const giveUp of waiting) giveUp();
  });
  /** Rejects when the right is lost, instead of waiting for a connection. */
  const next = async (): Promise<PoolClient> => {
    const connected = pool.connect();
    const lost = Promise.withResolvers<never>();
    const giveUp = (): void => {
      lost.reject(new PlatformError('DATABASE_UNAVAILABLE'));
      connected.then(
        (client) => client.release(true),
        () => {},
      );
    };
    waiting.add(giveUp);
    try {
      return await Promise.race([connected, lost.promise]);
    } finally {
      waiting.delete(giveUp);
    }
  };
  const connect = async () => {
    await right?.admit();
    const client = await next();
    try {
      if (right) await prove(client, right);
    } catch (error) {
      client.release(true);
      throw error;
    }
    return {
      query: (text: string, values: readonly unknown[]) => query(client, text, [...values]),
      release: (isBroken?: boolean) => client.release(isBroken === true || broken.has(client)),
    };
  };
  return { connect: connect as unknown as PostgresPool['connect'], end: () => pool.end(), options: pool.options };
}

/** Arbitrary, but the same in every version: one server at a time uses a database. */
export const rightKey = 7_236_502;

/** Returns a row if the session holds the right. */
export const holdsRight = `select pid from pg_locks where locktype = 'advisory' and classid = 0 and objid = ${rightKey} and objsubid = 1
  and granted and database = (select oid from pg_database where datname = current_database()) and pid = $1`;

/** Converts ms since 1970 to a timestamp of the database. */
export const at = (ms: number): RawBuilder<number> => sql<number>`to_timestamp(${ms}::double precision / 1000)`;

/** The driver gave up, so the connection is unusable. */
const isSilence = (error: unknown): boolean => error instanceof Error && error.message === 'Query read timeout';

/** The database rejected a statement, and the connection can carry the next one. */
const isAnswer = (error: unknown): boolean => {
  const state = sqlState(error);
  return state !== undefined && /^\d/.test(state) && !/^(08|57P|25P0[34])/.test(state);
};

/** Connection lost, shutdown, statement canceled, lock timeout; and the errors of the operating system for the same. */
const awayCodes =
  /^(08...|53300|57014|57P0[1-5]|55P03|25P0[34]|ECONNREFUSED|ECONNRESET|EPIPE|ENOENT|EAGAIN|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)$/;
const awayMessages =
  /^(Connection terminated|timeout exceeded when trying to connect|timeout expired|Query read timeout|Client has encountered a connection error|Client was closed)/;

/** Whether the database is unreachable, shutting down or not answering, so that a retry may succeed. */
export function isDatabaseAway(error: unknown): boolean {
  if (error instanceof PlatformError) return error.code === 'DATABASE_UNAVAILABLE';
  if (!(error instanceof Error)) return false;
  const code = String((error as { code?: unknown }).code ?? '');
  if (awayCodes.test(code)) return code !== 'ENOENT' || (error as { syscall?: unknown }).syscall === 'connect';
  return awayMessages.test(error.message);
}

/** SQLSTATE of a failed statement, for example 23505: unique_violation. */
export const sqlState = (error: unknown): string | undefined =>
  error instanceof Error && /^[0-9A-Z]{5}$/.test(String((error as { code?: unknown }).code))
    ? String((error as { code?: unknown }).code)
    : undefined;

export type Trx = Transaction<Tables>;

export const atUs = (us: number): RawBuilder<number> =>
  sql<number>`(timestamptz 'epoch' + ${us}::double precision * interval '1 microsecond')`;
