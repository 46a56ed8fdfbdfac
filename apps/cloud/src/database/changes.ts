import { sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import { errorText, type Clock, type Log } from '@platform/kit';
import type { Database } from './database.ts';
import type { Notifications } from './notifications.ts';

/**
 * Kinds of cached data. Keys: the ID; release: the program's name; config, restart (requested or taken), run: the part;
 * package: the organization.
 */
export type ChangeKind =
  | 'api_key'
  | 'part'
  | 'session'
  | 'person'
  | 'config'
  | 'release'
  | 'restart'
  | 'run'
  | 'package';

export type Changes = {
  /** The listener is called at least once per change; without arguments, it must drop everything. */
  subscribe(listener: (kind?: ChangeKind, key?: string) => void): () => void;
  /** Notifies this process's caches at once. Call it after the transaction that wrote the row has committed. */
  notify(kind: ChangeKind, key: string): void;
};

const pollMs = 5_000;
/** Longer than a poll and than any transaction that writes a change. */
const lookBackSeconds = 30;

/** Records the change in its own transaction; other processes are notified at the commit. */
export const recordChange = async (trx: Database, kind: ChangeKind, key: string): Promise<void> => {
  await trx.insertInto('change').values({ kind, key }).execute();
};

/** Listens for changes, and polls every few seconds for those that a broken connection missed. Ends with `stop`. */
export function followChanges(of: {
  db: Database;
  notifications: Notifications;
  clock: Clock;
  log: Log;
  stop: AbortSignal;
}): Changes & { done: Promise<void> } {
  const listeners = new Set<(kind?: ChangeKind, key?: string) => void>();
  const notify = (kind?: ChangeKind, key?: string) => {
    for (const listener of listeners) listener(kind, key);
  };
  // Changes already delivered: reading a row twice must not empty caches and wake held calls again.
  const delivered = new LRUCache<number, true>({ max: 20_000 });
  const notifyOnce = (id: number, kind: string, key: string): void => {
    if (delivered.has(id)) return;
    delivered.set(id, true);
    notify(kind as ChangeKind, key);
  };
  const unlisten = of.notifications.listen('change', (payload) => {
    if (payload === undefined) return notify();
    const [id, kind = '', ...key] = payload.split(' ');
    notifyOnce(Number(id), kind, key.join(' '));
  });
  const poll = async (): Promise<void> => {
    while (!of.stop.aborted) {
      await of.clock.sleep(pollMs, of.stop);
      if (of.stop.aborted) break;
      try {
        const rows = await of.db
          .selectFrom('change')
          .select(['id', 'kind', 'key'])
          .where('at', '>', sql<number>`now() - make_interval(secs => ${lookBackSeconds})`)
          .execute();
        for (const row of rows) notifyOnce(row.id, row.kind, row.key);
        await of.db
          .deleteFrom('change')
          .where('at', '<', sql<number>`now() - interval '1 hour'`)
          .execute();
      } catch (error) {
        of.log.warn('changes could not be read', { error: errorText(error) });
      }
    }
    unlisten();
  };
  return {
    notify,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    done: poll(),
  };
}
