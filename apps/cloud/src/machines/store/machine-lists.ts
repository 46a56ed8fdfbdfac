import { type ExpressionBuilder, sql } from 'kysely';
import type { FactFilter } from '@platform/contract/machine-filter';
import { isUuid } from '@platform/contract/names';
import { type Bounded, boundsOf, byText, wholeAnswer } from '../../rpc/rules/answer-bounds.ts';
import type { Reach } from '../../access/rules/permissions.ts';
import type { MachinePlace } from '../../rpc/rules/page-tokens.ts';
import { boundedList } from '../../database/bounded-list.ts';
import type { Database } from '../../database/database.ts';
import { type PartRow, partRows } from './machines.ts';
import type { Tables } from '../../database/schema.ts';

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
  /** Comparisons that all have to hold. */
  facts?: readonly FactFilter[];
  /** ID of the machine or of its main part. */
  id?: string;
  /** One of these names. */
  names?: readonly string[];
};

const comparisons = {
  '=': sql`=`,
  '!=': sql`<>`,
  '<': sql`<`,
  '<=': sql`<=`,
  '>': sql`>`,
  '>=': sql`>=`,
} as const;

/** What a machine does not report matches nothing: a comparison with null is not true. */
function factHolds({ field, operator, value }: FactFilter) {
  const fact = field === 'name' ? sql<string>`machine.name` : sql<string>`(part.facts ->> ${field})`;
  if (operator === '~') return sql<boolean>`position(lower(${value}) in lower(${fact})) > 0`;
  const compare = comparisons[operator];
  if (typeof value === 'string') return sql<boolean>`lower(${fact}) ${compare} lower(${value})`;
  if (typeof value === 'boolean') return sql<boolean>`${fact}::boolean ${compare} ${value}::boolean`;
  return sql<boolean>`${fact}::double precision ${compare} ${value}::double precision`;
}

const matching =
  ({ reach, orgId, locationIds, facts = [], id, names }: MachineFilter) =>
  (eb: ExpressionBuilder<Tables, 'part' | 'machine'>) =>
    eb.and([
      eb('part.isMain', '=', true),
      sql<boolean>`(part.org_id = any(${reach.orgIds}::uuid[]) or machine.location_id = any(${reach.locationIds}::text[])
        or machine.id::text = any(${reach.machineIds}::text[]))`,
      ...(orgId === undefined ? [] : [eb('part.orgId', '=', orgId)]),
      ...(locationIds === undefined ? [] : [sql<boolean>`machine.location_id = any(${locationIds}::text[])`]),
      ...(id === undefined ? [] : [sql<boolean>`(machine.id = ${id}::uuid or part.id = ${id}::uuid)`]),
      ...(names === undefined ? [] : [sql<boolean>`machine.name = any(${names}::text[])`]),
      // The index of names begins with the organization.
      ...(names === undefined || orgId === undefined ? [] : [eb('machine.orgId', '=', orgId)]),
      ...facts.map(factHolds),
    ]);

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

/** The machine with this ID; if there is none, a page of those with this name. Keyboards write other forms of a letter. */
export async function namedMachinePage(
  db: Database,
  filter: MachineFilter,
  named: string,
  page: { after: MachinePlace | undefined; size: number },
): Promise<Bounded<PartRow>> {
  if (isUuid(named)) {
    const found = await machinePage(db, { ...filter, id: named }, page);
    if (found.rows.length > 0) return found;
  }
  return machinePage(db, { ...filter, names: [named, named.normalize('NFC'), named.normalize('NFD')] }, page);
}

/** Machines by name, after a position in that order. @param size - 0: as many as a response holds. */
export function machinePage(
  db: Database,
  filter: MachineFilter,
  { after, size }: { after: MachinePlace | undefined; size: number },
): Promise<Bounded<PartRow>> {
  let query = partRows(db).where(matching(filter));
  if (after) query = query.where(sql<boolean>`(machine.name, machine.id) > (${after.name}, ${after.id}::uuid)`);
  return boundedList<PartRow>(db, query.orderBy('machine.name').orderBy('machine.id'), {
    ...boundsOf(size),
    atOnce: 200,
    size: ({ report }) => 500 + (report?.length ?? 0),
  });
}
