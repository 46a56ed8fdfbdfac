import type { ChangeKind, Changes } from '../../database/changes.ts';
import type { Database, Trx } from '../../database/database.ts';
import type { JsonObject } from '../../database/schema.ts';
import type { Caller } from '../rules/permissions.ts';
import { audit } from './audit.ts';

/** `orgId` null: the entry concerns the installation. */
type Entry = { orgId: string | null; action: string; subject: string; details?: JsonObject };

/** Writes an audit entry. @param changed - what this process's caches drop once the transaction has committed. */
export type Record = (entry: Entry, ...changed: readonly (readonly [kind: ChangeKind, key: string])[]) => Promise<void>;

/** Runs a caller's change: rows and audit entries in one transaction, then the change notifications. */
export async function audited<T>(
  { db, changes }: { db: Database; changes?: Pick<Changes, 'notify'> },
  caller: Caller,
  work: (trx: Trx, record: Record) => Promise<T>,
): Promise<T> {
  const notifications: (readonly [ChangeKind, string])[] = [];
  const done = await db.transaction().execute((trx) =>
    work(trx, async (entry, ...changed) => {
      notifications.push(...changed);
      await audit(trx, { ...entry, caller });
    }),
  );
  for (const [kind, key] of notifications) changes?.notify(kind, key);
  return done;
}
