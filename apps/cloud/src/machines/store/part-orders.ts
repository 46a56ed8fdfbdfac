import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import type { Database } from '../../database/database.ts';
import { ourAgentTag } from '../../releases/rules/update-info.ts';
import { orderLifeMs, type PartOrderRow, type StoredKind, type StoredState } from '../rules/part-orders.ts';
import { recordChange } from '../../database/changes.ts';

/** Replaces the order of this kind: its agent does not take the one before any more. */
export async function insertOrder(
  db: Database,
  of: { partId: string; orgId: string; kind: StoredKind; requestedBy: string },
): Promise<PartOrderRow> {
  const row = {
    id: randomUUID(),
    requestedBy: of.requestedBy,
    requestedOn: sql<number>`now()`,
    state: 'waiting' as const,
    since: sql<number>`now()`,
    reason: '',
  };
  const order = await db
    .insertInto('partOrder')
    .values({ partId: of.partId, orgId: of.orgId, kind: of.kind, ...row })
    .onConflict((conflict) => conflict.columns(['partId', 'kind']).doUpdateSet(row))
    .returning(['id', 'kind', 'requestedBy', 'requestedOn', 'state', 'since', 'reason'])
    .executeTakeFirstOrThrow();
  await recordChange(db, 'part', of.partId);
  return order;
}

export const readOrders = (db: Database, partId: string): Promise<PartOrderRow[]> =>
  db
    .selectFrom('partOrder')
    .select(['id', 'kind', 'requestedBy', 'requestedOn', 'state', 'since', 'reason'])
    .where('partId', '=', partId)
    .orderBy('requestedOn', 'desc')
    .execute();

export type ReportedOrder = { id: string; state: Exclude<StoredState, 'waiting'>; reason: string };

/**
 * Stores what agents report of their orders. A state never goes back: a report of a copied folder may be older. The
 * cached answers without these orders are built anew.
 */
export async function saveReportedOrders(
  db: Database,
  reports: readonly { partId: string; orders: readonly ReportedOrder[] }[],
): Promise<void> {
  const rows = reports.flatMap(({ partId, orders }) => orders.map((order) => ({ partId, ...order })));
  if (rows.length === 0) return;
  await sql`
    with changed as (
      update part_order set state = new.state, reason = new.reason, since = now()
      from unnest(${rows.map(({ partId }) => partId)}::uuid[], ${rows.map(({ id }) => id)}::text[],
        ${rows.map(({ state }) => state)}::text[], ${rows.map(({ reason }) => reason)}::text[]) new(part_id, id, state, reason)
      where part_order.part_id = new.part_id and part_order.id::text = new.id
        and (part_order.state = 'waiting' or part_order.state = 'begun' and new.state <> 'begun')
      returning part_order.part_id)
    insert into change (kind, key) select distinct 'part', part_id from changed`.execute(db);
}

/** A machine server that started after a restart was ordered has done it, whatever the reason of its start. */
export async function noteServerStarts(
  db: Database,
  starts: readonly { partId: string; startedAgoMs: number }[],
): Promise<void> {
  if (starts.length === 0) return;
  await sql`
    update part_order set state = 'done', since = now()
    from unnest(${starts.map(({ partId }) => partId)}::uuid[], ${starts.map(({ startedAgoMs }) => startedAgoMs)}::double precision[]) new(part_id, ago_ms)
    where part_order.part_id = new.part_id and kind = 'restart server' and state in ('waiting', 'begun')
      and now() - make_interval(secs => new.ago_ms / 1000) > requested_on`.execute(db);
}

/**
 * The machine servers of these parts took their restart. Only our agent reports that they start, so without it the order
 * is done: nothing more would be known of it.
 */
export async function noteRestartsTaken(db: Database, partIds: readonly string[]): Promise<void> {
  if (partIds.length === 0) return;
  await sql`
    update part_order set state = case when part.host -> 'tags' ? ${ourAgentTag} then 'begun' else 'done' end, since = now()
      from part
     where part.id = part_order.part_id and part.id = any(${partIds}::uuid[]) and kind = 'restart server'
       and state = 'waiting' and requested_on > now() - make_interval(secs => ${orderLifeMs / 1000})`.execute(db);
}
