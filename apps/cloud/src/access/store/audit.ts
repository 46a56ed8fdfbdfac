import type { Caller } from '../rules/permissions.ts';
import { at, type Database } from '../../database/database.ts';
import type { JsonObject, Row } from '../../database/schema.ts';

/** The actor's text in revisions and the audit log: kind, name and ID. */
export const actorOf = (caller: Caller): string => `${caller.kind} ${caller.name} (${caller.id})`;

/** Writes an audit entry. Call it in the transaction of the change that it describes. */
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

/** Old and new values of the changed fields, for details. @returns undefined: no field changed. */
export function changed(
  before: Readonly<Record<string, string | null>>,
  after: Readonly<Record<string, string | null>>,
): JsonObject | undefined {
  const entries = Object.keys(after).filter((key) => before[key] !== after[key]);
  if (entries.length === 0) return undefined;
  return Object.fromEntries(entries.map((key) => [key, { from: before[key] ?? null, to: after[key] ?? null }]));
}

export type AuditRow = Row<'audit'>;

/**
 * Entries of an organization (null: of the installation), newest first. @param before - ID of the last entry of the
 * previous page.
 */
export async function listAudit(
  db: Database,
  of: {
    orgId: string | null;
    since: number | undefined;
    until: number | undefined;
    actions: readonly string[];
    before: number | undefined;
    limit: number;
  },
): Promise<AuditRow[]> {
  return db
    .selectFrom('audit')
    .selectAll()
    .where('orgId', of.orgId === null ? 'is' : '=', of.orgId)
    .$if(of.since !== undefined, (query) => query.where('at', '>=', at(of.since ?? 0)))
    .$if(of.until !== undefined, (query) => query.where('at', '<', at(of.until ?? 0)))
    .$if(of.actions.length > 0, (query) => query.where('action', 'in', of.actions))
    .$if(of.before !== undefined, (query) => query.where('id', '<', of.before ?? 0))
    .orderBy('id', 'desc')
    .limit(of.limit)
    .execute();
}
