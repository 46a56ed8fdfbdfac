import { sql } from 'kysely';
import { atUs } from './binary-data.ts';
import type { DataPlace } from '../rules/page-tokens.ts';
import type { Database } from './database.ts';

/** Readings of one resource of one machine part. */
export type Readings = {
  /** Those that the caller may see. */
  orgIds: readonly string[];
  partId: string;
  resourceName: string;
  /** As it was captured, or its last part: `sensor` for `rdk:component:sensor`. */
  resourceSubtype: string;
  methodName: string;
  fromUs: number | undefined;
  untilUs: number | undefined;
};

/** A page of readings. @param after - the last one of the page before. */
export function readings(
  db: Database,
  of: Readings,
  page: { after: DataPlace | undefined; isNewestFirst: boolean; limit: number },
) {
  const order = page.isNewestFirst ? 'desc' : 'asc';
  let query = db
    .selectFrom('tabularData')
    .selectAll()
    .select([
      sql<number>`(extract(epoch from time_requested) * 1000000)::bigint`.as('timeRequestedUs'),
      sql<number>`(extract(epoch from time_received) * 1000000)::bigint`.as('timeReceivedUs'),
    ])
    .where('orgId', 'in', of.orgIds)
    .where('partId', '=', of.partId)
    .where('componentName', '=', of.resourceName)
    .where('methodName', '=', of.methodName).where(sql<boolean>`(component_type = ${of.resourceSubtype}
      or right(component_type, length(${of.resourceSubtype}) + 1) = ':' || ${of.resourceSubtype})`);
  if (of.fromUs !== undefined) query = query.where(sql<boolean>`time_requested >= ${atUs(of.fromUs)}`);
  if (of.untilUs !== undefined) query = query.where(sql<boolean>`time_requested < ${atUs(of.untilUs)}`);
  if (page.after) {
    const beyond = sql.raw(page.isNewestFirst ? '<' : '>');
    query = query.where(sql<boolean>`(time_requested, id) ${beyond} (${atUs(page.after.us)}, ${page.after.id}::uuid)`);
  }
  return query.orderBy('timeRequested', order).orderBy('id', order).limit(page.limit).execute();
}
