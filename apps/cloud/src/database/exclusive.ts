import { Client } from 'pg';
import { PlatformError } from '@platform/contract/errors/errors';
import { Cell, changedOr, errorText, type Clock, type Log } from '@platform/kit';
import {
  type Connection,
  clientConfig,
  cut,
  type DatabaseRight,
  holdsRight,
  rightKey,
  serverSessions,
} from './database.ts';
import { type DatabasePlace, inUse, isInUse } from './database-place.ts';
import { type Heartbeat, heartbeat } from './heartbeat.ts';

const usualWaitMs = 10_000;
const againMs = 250;
/** Timeouts for taking the lock: short statements, over a separate connection. */
const stepMs = 5_000;
const patience = { connectionTimeoutMillis: stepMs, query_timeout: stepMs };
/** After a loss, calls wait this long for the database, which may restart within moments. */
const graceMs = 1_000;
/** A hung database does not close its connections in order. */
const endMs = 1_000;

/** The right to a database. It ends with its connection, even after kill −9. */
export type Exclusive = DatabaseRight & {
  /** Whether the database answers within this time. Uses a separate connection. */
  isAnswering(limitMs: number): Promise<boolean>;
  close(): Promise<void>;
};

type Held = { client: Client; pid: number; startedOn: string; heart: Heartbeat };

type Wanted = {
  connection: Connection;
  where: DatabasePlace;
  clock: Clock;
  log: Log;
  /** Another server took the right while our connection was broken, so this server must stop. */
  onLost: (error: PlatformError) => void;
  /** Time for the previous server to end. */
  waitMs?: number;
};

/**
 * Takes the database for this server alone and keeps it when connections break or hang. The new holder ends the
 * previous server's sessions, so that no statement of that server can write afterwards.
 *
 * @throws PlatformError DATA_DIR_IN_USE, DATABASE_IN_USE while another server has it.
 */
export async function holdDatabase(of: Wanted): Promise<Exclusive> {
  const { clock, log } = of;
  const stop = new AbortController();
  const listeners = new Set<() => void>();
  const first = await take(of, stop.signal);
  const held = new Cell<Held | undefined>(first);
  const state = { lostOn: 0 };
  const keep = async (): Promise<void> => {
    for (let now: Held | undefined = first; now;) {
      const { client } = now;
      await new Promise<void>((resolve) => client.once('end', () => resolve()));
      state.lostOn = clock.now();
      held.set(undefined);
      for (const listener of listeners) listener();
      if (stop.signal.aborted) return;
      log.warn('lost the lock of the database; calls are refused until it is back');
      now = await retake(of, stop.signal, now);
      held.set(now);
      if (now) log.info('the database answers again', { afterMs: Math.round(clock.now() - state.lostOn) });
    }
  };
  const kept = keep();
  return {
    holder: () => held.get()?.pid,
    onLost: (listener) => void listeners.add(listener),
    async admit() {
      if (held.get()) return;
      const leftMs = state.lostOn + graceMs - clock.now();
      if (leftMs > 0) await changedOr(held, leftMs, clock, stop.signal);
      if (!held.get()) throw new PlatformError('DATABASE_UNAVAILABLE');
    },
    isAnswering: (limitMs) => held.get()?.heart.isAnswering(limitMs) ?? Promise.resolve(false),
    async close() {
      stop.abort();
      const last = held.get();
      last?.heart.stop();
      await Promise.race([last?.client.end().catch(() => {}), clock.sleep(endMs)]);
      if (last) cut(last.client);
      await kept;
    },
  };
}

/**
 * @param before - our own session that held the right. Behind a broken network, the database keeps it until we end it.
 */
async function take(of: Wanted, stop: AbortSignal, before?: Held): Promise<Held> {
  const { clock, log } = of;
  const client = new Client({ ...clientConfig(of.connection, serverSessions), ...patience });
  client.on('error', (error) => log.debug('the lock connection broke', { error: errorText(error) }));
  try {
    await client.connect();
    const own = await sessionOf(client);
    await untilTaken(of, stop, client, before);
    await endOthers(client, clock);
    return { client, ...own, heart: heartbeat(client, clock, 'select 1') };
  } catch (error) {
    cut(client);
    throw error;
  }
}

async function untilTaken(
  { where, clock, waitMs = usualWaitMs }: Wanted,
  stop: AbortSignal,
  client: Client,
  before: Held | undefined,
): Promise<void> {
  for (const start = clock.now(); ; await clock.sleep(againMs, stop)) {
    const { rows } = await client.query<{ taken: boolean }>('select pg_try_advisory_lock($1) as taken', [rightKey]);
    if (rows[0]?.taken) return;
    // Sessions of a killed server end within moments.
    const isOurs = before !== undefined && (await endHolder(client, before));
    if (!isOurs && clock.now() - start > waitMs) throw inUse(where);
    if (stop.aborted) throw new PlatformError('DATABASE_UNAVAILABLE');
  }
}

/** @returns undefined: stopped, or another server took the right. */
async function retake(of: Wanted, stop: AbortSignal, before: Held): Promise<Held | undefined> {
  for (let failures = 0; !stop.aborted; failures++) {
    try {
      return await take(of, stop, before);
    } catch (error) {
      if (isInUse(error)) {
        of.onLost(error);
        return undefined;
      }
      if (failures === 0) of.log.warn('the database does not answer', { error: errorText(error) });
      await of.clock.sleep(againMs, stop);
    }
  }
  return undefined;
}

async function sessionOf(client: Client): Promise<{ pid: number; startedOn: string }> {
  const { rows } = await client.query<{ pid: number; startedOn: string }>(
    'select pid, backend_start::text as "startedOn" from pg_stat_activity where pid = pg_backend_pid()',
  );
  const [own] = rows;
  if (!own) throw new PlatformError('DATABASE_UNAVAILABLE');
  return own;
}

/** Compares the start time as well, because process IDs are reused. */
const ended = 'select pg_terminate_backend(pid) from pg_stat_activity where pid = $1 and backend_start::text = $2';

/** Ends the session if it still holds the right. @returns whether it did. */
async function endHolder(client: Client, { pid, startedOn }: Held): Promise<boolean> {
  if ((await client.query(holdsRight, [pid])).rowCount === 0) return false;
  return (await client.query(ended, [pid, startedOn])).rowCount === 1;
}

const endAll = `select pg_terminate_backend(pid) from pg_stat_activity
  where datname = current_database() and usename = current_user and application_name = '${serverSessions}' and pid <> pg_backend_pid()`;

/** Waits for a limited time: a session of a stopped process cannot end, but it cannot write either. */
async function endOthers(client: Client, clock: Clock): Promise<void> {
  for (const start = clock.now(); clock.now() - start < stepMs; await clock.sleep(20)) {
    const { rowCount } = await client.query(endAll);
    if (rowCount === 0) return;
  }
}
