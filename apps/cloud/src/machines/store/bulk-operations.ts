import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { type Bounded, wholeAnswer } from '../../rpc/rules/answer-bounds.ts';
import { boundedList } from '../../database/bounded-list.ts';
import type { Database, Trx } from '../../database/database.ts';
import type { Row } from '../../database/schema.ts';
import { isUuid } from '@platform/contract/text/names';
import { type MachineFilter, matchingMachines } from './machine-lists.ts';
import { type Contacts, stateOf } from './machine-terms.ts';

/** What a outcome on a machine needs, without its report. */
export interface BulkRow {
  id: string;
  partId: string;
  orgId: string;
  name: string;
  locationId: string;
  tags: string[];
  versions: unknown;
  state: 'online' | 'offline' | 'awaiting' | 'uninstalled';
}

/** The machines of a filter, by name. */
export const bulkRows = (db: Database, filter: MachineFilter, contacts: Contacts, most: number): Promise<BulkRow[]> =>
  matchingMachines(db, filter)
    .leftJoin('configRevision as saved', (join) =>
      join.onRef('saved.partId', '=', 'part.id').onRef('saved.revision', '=', 'part.revision'),
    )
    .select([
      'machine.id',
      'part.id as partId',
      'part.orgId',
      'machine.name',
      'machine.locationId',
      'machine.tags',
      sql`saved.config -> 'agent' -> 'version_control'`.as('versions'),
      sql<BulkRow['state']>`${stateOf(contacts)}`.as('state'),
    ])
    .orderBy('machine.name')
    .orderBy('machine.id')
    .limit(most)
    .execute();

export const namesOfLocation = async (db: Database, locationId: string): Promise<Set<string>> => {
  const rows = await db.selectFrom('machine').select('name').where('locationId', '=', locationId).execute();
  return new Set(rows.map(({ name }) => name));
};

export type BulkState = Row<'bulkMachine'>['state'];
export type BulkMachineRow = Omit<Row<'bulkMachine'>, 'operationId' | 'claimedOn'>;

export type BulkOperationRow = Row<'bulkOperation'>;

/** @returns its ID. */
export async function insertBulkOperation(
  trx: Trx,
  operation: Pick<BulkOperationRow, 'orgId' | 'query' | 'startedBy' | 'starterId'> & { change: string },
  machines: readonly Pick<BulkMachineRow, 'machineId' | 'name' | 'state' | 'code' | 'reason'>[],
): Promise<string> {
  const id = randomUUID();
  // Two operations that start at once get two numbers.
  await sql`select from organization where id = ${operation.orgId}::uuid for update`.execute(trx);
  await sql`
    insert into bulk_operation (id, org_id, number, change, query, started_by, starter_id)
    select ${id}::uuid, ${operation.orgId}::uuid, coalesce(max(number), 0) + 1, ${operation.change}::jsonb, ${operation.query},
      ${operation.startedBy}, ${operation.starterId}
      from bulk_operation where org_id = ${operation.orgId}::uuid`.execute(trx);
  const column = (read: (machine: (typeof machines)[number]) => string): string[] => machines.map(read);
  await sql`
    insert into bulk_machine (operation_id, place, machine_id, name, state, code, reason)
    select ${id}::uuid, place, machine_id, name, state, code, reason
      from unnest(${column(({ machineId }) => machineId)}::uuid[], ${column(({ name }) => name)}::text[],
        ${column(({ state }) => state)}::text[], ${column(({ code }) => code)}::text[],
        ${column(({ reason }) => reason)}::text[]) with ordinality given(machine_id, name, state, code, reason, place)`.execute(
    trx,
  );
  return id;
}

export const findBulkOperation = async (db: Database, id: string): Promise<BulkOperationRow | undefined> =>
  isUuid(id) ? db.selectFrom('bulkOperation').selectAll().where('id', '=', id).executeTakeFirst() : undefined;

/** The newest ones. @param starterId - only those that this caller started. */
export const listBulkOperations = (
  db: Database,
  orgId: string,
  starterId: string | undefined,
): Promise<Bounded<BulkOperationRow>> => {
  const all = db.selectFrom('bulkOperation').selectAll().where('orgId', '=', orgId);
  const own = starterId === undefined ? all : all.where('starterId', '=', starterId);
  return boundedList<BulkOperationRow>(db, own.orderBy('number', 'desc'), { ...wholeAnswer, rows: 200, atOnce: 200 });
};

/** How many machines of each operation have which state. */
export async function bulkCounts(
  db: Database,
  ids: readonly string[],
): Promise<Map<string, Partial<Record<BulkState, number>>>> {
  const rows = await db
    .selectFrom('bulkMachine')
    .select(['operationId', 'state', sql<number>`count(*)::int`.as('machines')])
    .where('operationId', 'in', ids.length === 0 ? ['00000000-0000-0000-0000-000000000000'] : [...ids])
    .groupBy(['operationId', 'state'])
    .execute();
  const byId = new Map<string, Partial<Record<BulkState, number>>>();
  for (const { operationId, state, machines } of rows)
    byId.set(operationId, { ...byId.get(operationId), [state]: machines });
  return byId;
}

/** Machines of an operation after a place. */
export const bulkMachines = (
  db: Database,
  id: string,
  page: { state: BulkState | undefined; after: number; limit: number },
): Promise<BulkMachineRow[]> => {
  const rows = db
    .selectFrom('bulkMachine')
    .select(['place', 'machineId', 'name', 'state', 'code', 'reason', 'changedOn'])
    .where('operationId', '=', id)
    .where('place', '>', page.after);
  return (page.state ? rows.where('state', '=', page.state) : rows).orderBy('place').limit(page.limit).execute();
};

/** After this, a call that claimed machines has ended without a result; also if the clock was set back since. */
const claimSeconds = 60;

/** Machines that wait, for one call at a time; none of a stopped operation. */
export async function claimBulkMachines(
  db: Database,
  id: string,
  most: number,
): Promise<{ place: number; machineId: string }[]> {
  const { rows } = await sql<{ place: number; machineId: string }>`
    with next as (
      select place from bulk_machine
       where operation_id = ${id}::uuid and state = 'waiting'
         and (claimed_on is null or claimed_on > clock_timestamp()
              or claimed_on < now() - make_interval(secs => ${claimSeconds}))
         and exists (select from bulk_operation where id = ${id}::uuid and stopped_on is null)
       order by place limit ${most} for update skip locked)
    update bulk_machine one set claimed_on = now() from next
     where one.operation_id = ${id}::uuid and one.place = next.place
    returning one.place, one.machine_id`.execute(db);
  return rows.toSorted((a, b) => a.place - b.place);
}

export async function saveBulkResult(
  db: Database,
  id: string,
  place: number,
  result: Pick<BulkMachineRow, 'state' | 'code' | 'reason'>,
): Promise<void> {
  await db
    .updateTable('bulkMachine')
    .set({ ...result, changedOn: sql<number>`now()`, claimedOn: null })
    .where((eb) => eb.and({ operationId: id, place }))
    .execute();
}

/** Returns what a call claimed and did not try. */
export async function returnClaims(db: Database, id: string, places: readonly number[]): Promise<void> {
  if (places.length === 0) return;
  await db
    .updateTable('bulkMachine')
    .set({ claimedOn: null })
    .where('operationId', '=', id)
    .where('place', 'in', [...places])
    .where('state', '=', 'waiting')
    .execute();
}

/** @returns whether it was not stopped before. */
export async function stopBulkOperation(trx: Trx, id: string, stoppedBy: string): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('bulkOperation')
    .set({ stoppedOn: sql<number>`now()`, stoppedBy })
    .where('id', '=', id)
    .where('stoppedOn', 'is', null)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}
