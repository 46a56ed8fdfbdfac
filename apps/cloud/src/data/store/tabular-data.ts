import { type RawBuilder, sql } from 'kysely';
import { type Database, atUs } from '../../database/database.ts';
import { type Bounded, pageBytes, readBounded } from '../../rpc/rules/answer-bounds.ts';
import type { DataPlace } from '../../rpc/rules/page-tokens.ts';
import type { Filter } from './binary-data.ts';
import { endExports } from './sequence-exports.ts';

/** Selects readings of one resource of one machine part. */
export type Readings = {
  /** Organizations that the caller may access, at least one. */
  orgIds: readonly string[];
  partId: string;
  resourceName: string;
  /** The captured component type or its last segment: `sensor` for `rdk:component:sensor`. */
  resourceSubtype: string;
  methodName: string;
  fromUs: number | undefined;
  untilUs: number | undefined;
};

type ReadingPage = { after: DataPlace | undefined; isAscending: boolean; limit: number };

const pageWhere = (
  db: Database,
  holds: RawBuilder<boolean>,
  { after, isAscending, limit }: ReadingPage,
): Promise<ReadingRow[]> => {
  const order = isAscending ? 'asc' : 'desc';
  const beyond = sql.raw(isAscending ? '>' : '<');
  const all = columns(db).where(holds);
  const rest = after
    ? all.where(sql<boolean>`(time_requested, id) ${beyond} (${atUs(after.us)}, ${after.id}::uuid)`)
    : all;
  return rest.orderBy('timeRequested', order).orderBy('id', order).limit(limit).execute();
};

/** A page of readings. @param after - the last reading of the previous page. */
export function readings(db: Database, of: Readings, page: ReadingPage): Promise<ReadingRow[]> {
  const parts = [
    // Not `any(…)`: of one organization, an index then gives the order, and no more rows are read than the page has.
    sql<boolean>`org_id in (${sql.join(of.orgIds)})`,
    sql<boolean>`part_id = ${of.partId}`,
    sql<boolean>`component_name = ${of.resourceName}`,
    sql<boolean>`method_name = ${of.methodName}`,
    isOfType(of.resourceSubtype),
    ...within(of),
  ];
  return pageWhere(db, sql<boolean>`(${sql.join(parts, sql` and `)})`, page);
}

/** The component type, or its last segment. */
const isOfType = (type: string): RawBuilder<boolean> => sql`(component_type = ${type}
  or right(component_type, length(${type}) + 1) = ':' || ${type})`;

const within = ({ fromUs, untilUs }: { fromUs: number | undefined; untilUs: number | undefined }) => [
  ...(fromUs === undefined ? [] : [sql<boolean>`time_requested >= ${atUs(fromUs)}`]),
  ...(untilUs === undefined ? [] : [sql<boolean>`time_requested < ${atUs(untilUs)}`]),
];

/** Conditions on readings, without those that only apply to images. */
export type ReadingFilter = Omit<Filter, 'mimeTypes' | 'boxLabels' | 'datasetId' | 'withinDatasetId' | 'isLabelsOnly'>;

function condition(filter: ReadingFilter): RawBuilder<boolean> {
  const parts = [sql<boolean>`org_id = any(${filter.orgIds}::uuid[])`];
  const equal = (column: RawBuilder<unknown>, value: string): void => {
    if (value !== '') parts.push(sql`${column} = ${value}`);
  };
  if (filter.locationIds.length > 0) parts.push(sql`location_id = any(${filter.locationIds}::text[])`);
  equal(sql`machine_name`, filter.machineName);
  equal(sql`machine_id::text`, filter.machineId.toLowerCase());
  equal(sql`part_name`, filter.partName);
  equal(sql`part_id::text`, filter.partId.toLowerCase());
  equal(sql`component_name`, filter.componentName);
  equal(sql`method_name`, filter.methodName);
  if (filter.componentType !== '') parts.push(isOfType(filter.componentType));
  if (filter.tags.is === 'one-of') parts.push(sql`tags && ${filter.tags.tags}::text[]`);
  if (filter.tags.is === 'tagged') parts.push(sql`cardinality(tags) > 0`);
  if (filter.tags.is === 'untagged') parts.push(sql`cardinality(tags) = 0`);
  parts.push(...within(filter));
  return sql<boolean>`(${sql.join(parts, sql` and `)})`;
}

const columns = (db: Database) =>
  db
    .selectFrom('tabularData')
    .selectAll()
    .select([
      sql<number>`(extract(epoch from time_requested) * 1000000)::bigint`.as('timeRequestedUs'),
      sql<number>`(extract(epoch from time_received) * 1000000)::bigint`.as('timeReceivedUs'),
    ]);

export type ReadingRow = Awaited<ReturnType<ReturnType<typeof columns>['execute']>>[number];

/** A page of matching readings of all organizations of the filter. */
export const pageOfReadings = (db: Database, filter: ReadingFilter, page: ReadingPage): Promise<Bounded<ReadingRow>> =>
  readBounded<ReadingRow>({ rows: page.limit, bytes: pageBytes, atOnce: 100 }, (end, limit) => {
    const after = end ? { us: end.timeRequestedUs, id: end.id } : page.after;
    return pageWhere(db, condition(filter), { ...page, after, limit });
  });

export const countReadings = (db: Database, filter: ReadingFilter): Promise<{ count: number; sizeBytes: number }> =>
  db
    .selectFrom('tabularData')
    .select([
      sql<number>`count(*)::bigint`.as('count'),
      sql<number>`coalesce(sum(length(payload::text)), 0)::bigint`.as('sizeBytes'),
    ])
    .where(condition(filter))
    .executeTakeFirstOrThrow();

/** Deletes up to `limit` matching readings. @returns their number; fewer than `limit`: no more match. */
export const deleteReadings = (db: Database, filter: ReadingFilter, limit: number): Promise<number> =>
  db.transaction().execute(async (trx) => {
    const { numDeletedRows } = await trx
      .deleteFrom('tabularData')
      .where(
        sql<boolean>`(org_id, id) in (select org_id, id from tabular_data where ${condition(filter)} limit ${limit})`,
      )
      .executeTakeFirst();
    if (numDeletedRows > 0n) await endExports(trx, filter.orgIds);
    return Number(numDeletedRows);
  });
