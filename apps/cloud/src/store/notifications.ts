import { Client, escapeIdentifier } from 'pg';
import { errorText, isAbort, type Clock, type Log } from '@platform/kit';
import { type Connection, clientConfig } from './database.ts';

/** Called with the payload; with undefined when listening has begun (again): notifications were missed before, look yourself. */
export type Listener = (payload: string | undefined) => void;

/** LISTEN/NOTIFY over one connection of its own, which is made again when it breaks. */
export type Notifications = {
  /** @returns stops listening. */
  listen(channel: string, listener: Listener): () => void;
  close(): Promise<void>;
};

const againMs = 250;

export async function openNotifications(connection: Connection, clock: Clock, log: Log): Promise<Notifications> {
  const listeners = new Map<string, Set<Listener>>();
  const stop = new AbortController();
  const current: { client: Client | undefined } = { client: undefined };

  const connect = async (): Promise<Client> => {
    const client = new Client({ ...clientConfig(connection), keepAlive: true });
    client.on('error', (error) => log.warn('lost the notification connection', { error: errorText(error) }));
    client.on('notification', ({ channel, payload }) => {
      for (const listener of listeners.get(channel) ?? []) listener(payload ?? '');
    });
    await client.connect();
    for (const channel of listeners.keys()) await client.query(`listen ${escapeIdentifier(channel)}`);
    return client;
  };

  const keep = async (first: Client): Promise<void> => {
    for (let client = first; ;) {
      current.client = client;
      const stopped = () => void client.end().catch(() => {});
      if (stop.signal.aborted) stopped();
      else stop.signal.addEventListener('abort', stopped, { once: true });
      await new Promise<void>((resolve) => client.once('end', () => resolve()));
      stop.signal.removeEventListener('abort', stopped);
      current.client = undefined;
      for (;;) {
        if (stop.signal.aborted) return;
        await clock.sleep(againMs, stop.signal);
        const next = await connect().catch((error: unknown) => {
          log.warn('the notification connection cannot be made', { error: errorText(error) });
        });
        if (!next) continue;
        client = next;
        for (const set of listeners.values()) for (const listener of set) listener(undefined);
        break;
      }
    }
  };
  const kept = keep(await connect());

  return {
    listen(channel, listener) {
      const set = listeners.get(channel) ?? new Set();
      if (set.size === 0) {
        listeners.set(channel, set);
        current.client?.query(`listen ${escapeIdentifier(channel)}`).then(
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
