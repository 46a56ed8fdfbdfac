import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { PlatformError } from '@platform/contract/errors/errors';
import { isUuid } from '@platform/contract/text/names';
import { type Database, sqlState, type Trx } from '../../database/database.ts';
import type { Row } from '../../database/schema.ts';
import type { Reach } from '../../access/rules/permissions.ts';

/** A fragment with one of its revisions. */
export type FragmentRow = Omit<Row<'fragment'>, 'revision'> &
  Omit<Row<'fragmentRevision'>, 'fragmentId' | 'orgId'> & {
    /** The newest revision. */
    newest: number;
  };

export type FragmentName = { id: string; revision: number | undefined };

const fragmentRows = (db: Database) =>
  db
    .selectFrom('fragment')
    .innerJoin('fragmentRevision as saved', 'saved.fragmentId', 'fragment.id')
    .select([
      'fragment.id',
      'fragment.orgId',
      'fragment.name',
      'fragment.createdOn',
      'fragment.lastUpdated',
      'fragment.revision as newest',
      'saved.revision',
      'saved.text',
      'saved.config',
      'saved.sha256',
      'saved.savedBy',
      'saved.savedOn',
      'saved.comment',
    ]);

/** @param revision - undefined: the newest. */
export const findFragment = async (db: Database, id: string, revision?: number): Promise<FragmentRow | undefined> =>
  isUuid(id)
    ? fragmentRows(db)
        .where('fragment.id', '=', id)
        .where('saved.revision', '=', (eb) => (revision === undefined ? eb.ref('fragment.revision') : eb.val(revision)))
        .executeTakeFirst()
    : undefined;

/** The named revisions of fragments of an organization; those that do not exist are left out. */
export async function findFragments(
  db: Database,
  orgId: string,
  names: readonly FragmentName[],
): Promise<FragmentRow[]> {
  if (names.length === 0) return [];
  return fragmentRows(db)
    .where('fragment.orgId', '=', orgId)
    .where((eb) =>
      eb.or(
        names.map(({ id, revision }) =>
          eb.and([
            eb('fragment.id', '=', id),
            eb('saved.revision', '=', revision === undefined ? eb.ref('fragment.revision') : eb.val(revision)),
          ]),
        ),
      ),
    )
    .execute();
}

/** A page of the fragments of an organization, by name. @param reach - only those that these machines use; undefined: all. */
export async function listFragments(
  db: Database,
  orgId: string,
  { reach, after, limit }: { reach?: Reach; after: string | undefined; limit: number },
): Promise<FragmentRow[]> {
  let rows = fragmentRows(db)
    .whereRef('saved.revision', '=', 'fragment.revision')
    .where('fragment.orgId', '=', orgId)
    .orderBy('fragment.name')
    .limit(limit);
  if (after !== undefined) rows = rows.where('fragment.name', '>', after);
  if (reach) rows = rows.where(isUsedWithin(reach));
  return rows.execute();
}

/** SQL: the part and its machine are within the reach. */
const isWithin = ({ orgIds, locationIds, machineIds }: Reach) =>
  sql<boolean>`(part.org_id = any(${orgIds}::uuid[])
      or machine.location_id = any(${locationIds}::text[]) or machine.id::text = any(${machineIds}::text[]))`;

/** SQL: a machine within the reach uses the fragment. */
const isUsedWithin = (reach: Reach) =>
  sql<boolean>`exists (select from fragment_use used
    join part on part.id = used.part_id join machine on machine.id = part.machine_id
    where used.fragment_id = fragment.id and ${isWithin(reach)})`;

/** Which of these fragments the machines within the reach use. */
export async function usedWithin(db: Database, ids: readonly string[], reach: Reach): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set();
  const rows = await db
    .selectFrom('fragment')
    .select('fragment.id')
    .where('fragment.id', 'in', ids)
    .where(isUsedWithin(reach))
    .execute();
  return new Set(rows.map(({ id }) => id));
}

/** The newest first. */
export const listFragmentRevisions = (db: Database, id: string, limit: number) =>
  db
    .selectFrom('fragmentRevision')
    .select(['revision', 'savedBy', 'savedOn', 'comment'])
    .where('fragmentId', '=', id)
    .orderBy('revision', 'desc')
    .limit(limit)
    .execute();

/** The fragments of an organization. Other callers wait until the end of the transaction, so that a limit holds. */
export async function countFragments(trx: Trx, orgId: string): Promise<number> {
  await sql`select from organization where id = ${orgId}::uuid for no key update`.execute(trx);
  const { count } = await trx
    .selectFrom('fragment')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('orgId', '=', orgId)
    .executeTakeFirstOrThrow();
  return count;
}

export type NewFragmentRevision = Pick<FragmentRow, 'text' | 'config' | 'sha256' | 'savedBy' | 'comment'>;

/** @throws PlatformError NAME_TAKEN */
export async function insertFragment(
  db: Database,
  { orgId, name, ...saved }: NewFragmentRevision & { orgId: string; name: string },
): Promise<string> {
  const id = randomUUID();
  await takingName(name, () => db.insertInto('fragment').values({ id, orgId, name, revision: 1 }).execute());
  await insertRevision(db, { id, orgId, revision: 1 }, saved);
  return id;
}

/** @param saved - undefined: the name alone changes. @throws PlatformError NAME_TAKEN */
export async function updateFragment(
  db: Database,
  of: { id: string; orgId: string; name: string; revision: number },
  saved: NewFragmentRevision | undefined,
): Promise<void> {
  const { id, name, revision } = of;
  await takingName(name, () =>
    db
      .updateTable('fragment')
      .set({ name, revision, lastUpdated: sql<number>`clock_timestamp()` })
      .where('id', '=', id)
      .execute(),
  );
  if (saved) await insertRevision(db, of, saved);
}

const insertRevision = (
  db: Database,
  { id, orgId, revision }: { id: string; orgId: string; revision: number },
  { config, ...saved }: NewFragmentRevision,
) =>
  db
    .insertInto('fragmentRevision')
    .values({ fragmentId: id, orgId, revision, config: JSON.stringify(config), ...saved })
    .execute();

async function takingName(name: string, write: () => Promise<unknown>): Promise<void> {
  try {
    await write();
  } catch (error) {
    if (sqlState(error) === '23505') throw new PlatformError('NAME_TAKEN', { name, kind: 'fragment' }, error);
    throw error;
  }
}

export async function deleteFragment(db: Database, id: string): Promise<void> {
  await db.deleteFrom('fragment').where('id', '=', id).execute();
}

/**
 * Locks fragments until the end of the transaction. Before parts: who saves a fragment locks it before its machines.
 *
 * @param isChanged - also against those who read them for a configuration.
 * @returns the newest revisions by ID.
 */
export async function lockFragments(
  trx: Database,
  ids: readonly string[],
  isChanged = false,
): Promise<ReadonlyMap<string, number>> {
  if (ids.length === 0) return new Map();
  const rows = trx.selectFrom('fragment').select(['id', 'revision']).where('id', 'in', ids).orderBy('id');
  const found = await (isChanged ? rows.forUpdate() : rows.forShare()).execute();
  return new Map(found.map(({ id, revision }) => [id, revision]));
}

export type FragmentUsage = { parts: number; machines: number; elsewhere: boolean };

export type FragmentUser = { partId: string; partName: string; machineId: string; machineName: string };

/** The parts whose newest configuration uses the fragment, by name of their machine. @param isFollowing - without pins. */
export async function partsWith(
  database: Database,
  fragmentId: string,
  { isFollowing, limit }: { isFollowing: boolean; limit: number },
): Promise<FragmentUser[]> {
  let rows = database
    .selectFrom('fragmentUse')
    .innerJoin('part', 'part.id', 'fragmentUse.partId')
    .innerJoin('machine', 'machine.id', 'part.machineId')
    .select(['part.id as partId', 'part.name as partName', 'machine.id as machineId', 'machine.name as machineName'])
    .distinct()
    .where('fragmentUse.fragmentId', '=', fragmentId)
    .orderBy('machine.name')
    .orderBy('part.id')
    .limit(limit);
  if (isFollowing) rows = rows.where('fragmentUse.pinned', 'is', null);
  return rows.execute();
}

/**
 * Numbers of parts and machines that use each fragment. @param reach - counts those within it; undefined: all.
 *
 * @returns `elsewhere`: others use it, too.
 */
export async function fragmentUsage(
  database: Database,
  ids: readonly string[],
  reach: Reach | undefined,
): Promise<ReadonlyMap<string, FragmentUsage>> {
  const isCounted = reach ? isWithin(reach) : sql<boolean>`true`;
  const { rows } = await sql<FragmentUsage & { id: string }>`
    select used.fragment_id as id, count(distinct part.id) filter (where ${isCounted}) as parts,
           count(distinct part.machine_id) filter (where ${isCounted}) as machines,
           coalesce(bool_or(not (${isCounted})), false) as elsewhere
      from fragment_use used join part on part.id = used.part_id join machine on machine.id = part.machine_id
     where used.fragment_id = any(${ids}::uuid[]) group by used.fragment_id`.execute(database);
  return new Map(rows.map(({ id, ...counts }) => [id, counts]));
}
