import { Client, escapeIdentifier } from 'pg';
import { errorText, isAbort, type Clock, type Log } from '@platform/kit';
import { type Connection, clientConfig, cut, serverSessions } from './database.ts';
import { type Heartbeat, heartbeat } from './heartbeat.ts';

/**
 * Called with the payload. Called with undefined when listening starts or restarts: notifications may have been missed.
 */
export type Listener = (payload: string | undefined) => void;

/** LISTEN/NOTIFY over a separate connection, which is re-established when it breaks. */
export type Notifications = {
  /** @returns stops listening. */
  listen(channel: string, listener: Listener): () => void;
  close(): Promise<void>;
};

const againMs = 250;
const answerMs = 5_000;
const patience = { connectionTimeoutMillis: answerMs, query_timeout: answerMs };
/** A hung database does not close its connections in order. */
const endMs = 1_000;

type Connected = { client: Client; heart: Heartbeat };

type Listeners = ReadonlyMap<string, ReadonlySet<Listener>>;

async function connectListeners(
  connection: Connection,
  listeners: Listeners,
  clock: Clock,
  log: Log,
): Promise<Connected> {
  const client = new Client({ ...clientConfig(connection, serverSessions), ...patience });
  client.on('error', (error) => log.warn('lost the notification connection', { error: errorText(error) }));
  client.on('notification', ({ channel, payload }) => {
    for (const listener of listeners.get(channel) ?? []) listener(payload ?? '');
  });
  try {
    await client.connect();
    for (const channel of listeners.keys()) await client.query(`listen ${escapeIdentifier(channel)}`);
  } catch (error) {
    cut(client);
    throw error;
  }
  return { client, heart: heartbeat(client, clock, 'listen heartbeat') };
}

async function endSoon(client: Client, clock: Clock): Promise<void> {
  await Promise.race([client.end().catch(() => {}), clock.sleep(endMs)]);
  cut(client);
}

/** Waits until the connection ends; an abort ends it. */
async function ended(client: Client, clock: Clock, stop: AbortSignal): Promise<void> {
  const end = () => void endSoon(client, clock);
  if (stop.aborted) end();
  else stop.addEventListener('abort', end, { once: true });
  await new Promise<void>((resolve) => client.once('end', () => resolve()));
  stop.removeEventListener('abort', end);
}

export async function openNotifications(connection: Connection, clock: Clock, log: Log): Promise<Notifications> {
  const listeners = new Map<string, Set<Listener>>();
  const stop = new AbortController();
  const current: { heart: Heartbeat | undefined } = { heart: undefined };

  const connect = (): Promise<Connected> => connectListeners(connection, listeners, clock, log);
  /** @returns undefined: stopped. */
  const reconnect = async (): Promise<Connected | undefined> => {
    while (!stop.signal.aborted) {
      await clock.sleep(againMs, stop.signal);
      const next = await connect().catch((error: unknown) => {
        log.warn('the notification connection cannot be made', { error: errorText(error) });
      });
      if (next) return next;
    }
    return undefined;
  };
  const keep = async (first: Connected): Promise<void> => {
    for (let connected: Connected | undefined = first; connected;) {
      current.heart = connected.heart;
      await ended(connected.client, clock, stop.signal);
      current.heart = undefined;
      connected = await reconnect();
      if (connected) for (const set of listeners.values()) for (const listener of set) listener(undefined);
    }
  };
  const kept = keep(await connect());

  return {
    listen(channel, listener) {
      const set = listeners.get(channel) ?? new Set();
      if (set.size === 0) {
        listeners.set(channel, set);
        current.heart?.query(`listen ${escapeIdentifier(channel)}`).then(
          () => listener(undefined),
          (error: unknown) => log.warn('listening failed', { channel, error: errorText(error) }),
        );
      }
      set.add(listener);
      return () => set.delete(listener);
    },
    async close() {
      stop.abort();
      await kept.catch((error: unknown) => {
        if (!isAbort(error)) throw error;
      });
    },
  };
}
