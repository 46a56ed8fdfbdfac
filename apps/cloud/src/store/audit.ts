import type { Caller } from '../rules/permissions.ts';
import type { Database } from './database.ts';
import type { JsonObject } from './schema.ts';

/** Who, as it stands in revisions and the audit log: kind, name and id. */
export const actorOf = (caller: Caller): string => `${caller.kind} ${caller.name} (${caller.id})`;

/** Written in the transaction of what it tells. */
export async function audit(
  db: Database,
  entry: ({ caller: Caller } | { actor: string }) & {
    orgId: string | null;
    action: string;
    subject: string;
    details?: JsonObject;
  },
): Promise<void> {
  await db
    .insertInto('audit')
    .values({
      orgId: entry.orgId,
      actor: 'caller' in entry ? actorOf(entry.caller) : entry.actor,
      action: entry.action,
      subject: entry.subject,
      details: entry.details ? JSON.stringify(entry.details) : null,
    })
    .execute();
}
