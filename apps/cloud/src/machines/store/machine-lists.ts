import { type Expression, type ExpressionBuilder, sql } from 'kysely';
import type { QueryTerm } from '@platform/contract/machine/query';
import type { MachineSort } from '@platform/contract/machine/sort';
import { isUuid } from '@platform/contract/text/names';
import { type Bounded, boundsOf, byText, wholeAnswer } from '../../rpc/rules/answer-bounds.ts';
import type { Reach } from '../../access/rules/permissions.ts';
import type { MachinePlace } from '../../rpc/rules/page-tokens.ts';
import { boundedList } from '../../database/bounded-list.ts';
import type { Database } from '../../database/database.ts';
import { type PartRow, partRows } from './machines.ts';
import type { Tables } from '../../database/schema.ts';
import { type Contacts, orderOf, termHolds } from './machine-terms.ts';

/** A machine by its main part for lists, without the long report. */
export type MachineLine = Pick<
  PartRow,
  | 'id'
  | 'name'
  | 'machineId'
  | 'machineName'
  | 'machineCreatedOn'
  | 'locationId'
  | 'locationName'
  | 'createdOn'
  | 'lastSeen'
> & { platform: string; os: string };

/** Machines of an organization or of some of its locations, within the caller's reach. */
export type MachineFilter = {
  reach: Reach;
  orgId?: string;
  locationIds?: readonly string[];
  /** All of them have to hold. */
  query?: { readonly terms: readonly QueryTerm[]; readonly contacts: Contacts };
  /** ID of the machine or of its main part. */
  id?: string;
  /** IDs of machines. */
  ids?: readonly string[];
  /** One of these names. */
  names?: readonly string[];
};

type Machines = ExpressionBuilder<Tables, 'part' | 'machine'>;

/** What the caller may see. */
const within = ({ reach, orgId }: MachineFilter, eb: Machines) => [
  eb('part.isMain', '=', true),
  sql<boolean>`(part.org_id = any(${reach.orgIds}::uuid[]) or machine.location_id = any(${reach.locationIds}::text[])
    or machine.id::text = any(${reach.machineIds}::text[]))`,
  ...(orgId === undefined ? [] : [eb('part.orgId', '=', orgId)]),
];

const chosen = ({ orgId, locationIds, query, id, ids, names }: MachineFilter, eb: Machines) => [
  ...(ids === undefined ? [] : [sql<boolean>`machine.id = any(${ids}::uuid[])`]),
  ...(locationIds === undefined ? [] : [sql<boolean>`machine.location_id = any(${locationIds}::text[])`]),
  ...(id === undefined ? [] : [sql<boolean>`(machine.id = ${id}::uuid or part.id = ${id}::uuid)`]),
  ...(names === undefined ? [] : [sql<boolean>`machine.name = any(${names}::text[])`]),
  // The index of names begins with the organization.
  ...(names === undefined || orgId === undefined ? [] : [eb('machine.orgId', '=', orgId)]),
  ...(query?.terms.map((term) => termHolds(term, query.contacts)) ?? []),
];

const matching = (filter: MachineFilter) => (eb: Machines) => eb.and([...within(filter, eb), ...chosen(filter, eb)]);

/** The newest machines, sorted by name. */
export async function newestMachines(
  db: Database,
  filter: MachineFilter,
  rows: number = wholeAnswer.rows,
): Promise<Bounded<MachineLine>> {
  const query = db
    .selectFrom('part')
    .innerJoin('machine', 'machine.id', 'part.machineId')
    .innerJoin('location', 'location.id', 'machine.locationId')
    .select([
      'part.id',
      'part.name',
      'part.machineId',
      'part.createdOn',
      'part.lastSeen',
      'machine.name as machineName',
      'machine.createdOn as machineCreatedOn',
      'machine.locationId',
      'location.name as locationName',
      sql<string>`coalesce(part.host ->> 'platform', '')`.as('platform'),
      sql<string>`coalesce(part.host ->> 'distro', '')`.as('os'),
    ])
    .where(matching(filter))
    .orderBy('machine.createdOn', 'desc')
    .orderBy('machine.id', 'desc');
  const found = await boundedList<MachineLine>(db, query, { ...wholeAnswer, rows, atOnce: 1_000 });
  found.rows.sort((a, b) => byText(a.machineName, b.machineName) || byText(a.machineId, b.machineId));
  return found;
}

/**
 * The filter of the machine with this ID; if there is none, of those with this name. Keyboards write other forms of a
 * letter.
 */
export async function namedFilter(db: Database, filter: MachineFilter, named: string): Promise<MachineFilter> {
  if (isUuid(named)) {
    const byId = { ...filter, id: named };
    if ((await machinePage(db, byId, { size: 1 })).rows.length > 0) return byId;
  }
  return { ...filter, names: [named, named.normalize('NFC'), named.normalize('NFD')] };
}

const machines = (db: Database) =>
  db
    .selectFrom('part')
    .innerJoin('machine', 'machine.id', 'part.machineId')
    .innerJoin('location', 'location.id', 'machine.locationId');

/** The machines of a filter, to select from part, machine and location. */
export const matchingMachines = (db: Database, filter: MachineFilter) => machines(db).where(matching(filter));

/** How many machines the caller may see, and how many of them match. */
export const countMachines = (db: Database, filter: MachineFilter): Promise<{ total: number; matching: number }> =>
  machines(db)
    .select((eb) => [
      sql<number>`count(*)::int`.as('total'),
      sql<number>`(count(*) filter (where ${eb.and([sql<boolean>`true`, ...chosen(filter, eb)])}))::int`.as('matching'),
    ])
    .where((eb) => eb.and(within(filter, eb)))
    .executeTakeFirstOrThrow();

/** A page of machines in an order, which starts after a position or leaves out the first ones. */
export interface MachinePage {
  readonly after?: MachinePlace | undefined;
  readonly skip?: number;
  /** 0: as many as a response holds. */
  readonly size: number;
  /** By name if there is none. */
  readonly sort?: { readonly by: MachineSort; readonly contacts: Contacts } | undefined;
}

export function machinePage(
  db: Database,
  filter: MachineFilter,
  { after, skip = 0, size, sort }: MachinePage,
): Promise<Bounded<PartRow>> {
  let query = partRows(db).where(matching(filter));
  if (after) query = query.where(sql<boolean>`(machine.name, machine.id) > (${after.name}, ${after.id}::uuid)`);
  if (skip > 0) query = query.offset(skip);
  const ordered = sort
    ? query.orderBy(orderOf(sort.by, sort.contacts))
    : query.orderBy('machine.name').orderBy('machine.id');
  return readParts(db, ordered, size);
}

const readParts = (db: Database, query: Expression<PartRow>, size: number): Promise<Bounded<PartRow>> =>
  boundedList<PartRow>(db, query, {
    ...boundsOf(size),
    atOnce: 200,
    size: ({ report }) => 500 + (report?.length ?? 0),
  });

/** The same page with the number of all that match. One pass evaluates the query, which takes longest. */
export async function countedPage(
  db: Database,
  filter: MachineFilter,
  { skip = 0, size, sort }: Omit<MachinePage, 'after'>,
): Promise<Bounded<PartRow> & { matching: number }> {
  const order = sort ? orderOf(sort.by, sort.contacts) : sql`machine.name, machine.id`;
  const found = machines(db)
    .select(['part.id', sql<number>`row_number() over (order by ${order})`.as('place')])
    .where(matching(filter));
  const { rows: placed } = await sql<{ id: string | null; matching: number }>`
    with found as materialized (${found}), counted as (select count(*)::int as matching from found)
    select id, matching from counted left join found
      on place > ${skip}::int and place <= ${skip}::int + ${boundsOf(size).rows + 1}::int order by place`.execute(db);
  const ids = placed.flatMap(({ id }) => id ?? []);
  const query = partRows(db)
    .innerJoin(
      sql<{ id: string; place: number }>`unnest(${ids}::uuid[]) with ordinality`.as<'placed'>(sql`placed(id, place)`),
      'placed.id',
      'part.id',
    )
    .orderBy('placed.place');
  return { ...(await readParts(db, query, size)), matching: placed[0]?.matching ?? 0 };
}
