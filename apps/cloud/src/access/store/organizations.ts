import { sql } from 'kysely';
import { type Bounded, byText, wholeAnswer } from '../../rpc/rules/answer-bounds.ts';
import type { Caller } from '../rules/permissions.ts';
import { audit } from './audit.ts';
import { boundedList } from '../../database/bounded-list.ts';
import type { Database } from '../../database/database.ts';
import type { Row } from '../../database/schema.ts';

const listBounds = { ...wholeAnswer, atOnce: 1_000 };

export type OrganizationRow = Row<'organization'>;
export type LocationRow = Row<'location'> & { machineCount: number };

export const findOrganizations = (db: Database, ids: readonly string[]): Promise<OrganizationRow[]> =>
  ids.length === 0 ? Promise.resolve([]) : named(db, ids).orderBy('name').execute();

const named = (db: Database, ids: readonly string[]) =>
  db
    .selectFrom('organization')
    .selectAll()
    .where(sql<boolean>`id = any(${ids}::uuid[])`);

/** The newest organizations, sorted by name. */
export async function newestOrganizations(db: Database, ids: readonly string[]): Promise<Bounded<OrganizationRow>> {
  const query = named(db, ids).orderBy('createdOn', 'desc').orderBy('id', 'desc');
  const found = await boundedList<OrganizationRow>(db, query, listBounds);
  found.rows.sort((a, b) => byText(a.name, b.name));
  return found;
}

const locationsWithCount = (db: Database) =>
  db
    .selectFrom('location')
    .selectAll('location')
    .select((eb) =>
      eb
        .selectFrom('machine')
        .whereRef('machine.locationId', '=', 'location.id')
        .select((count) => count.fn.countAll<number>().as('n'))
        .$asScalar()
        .$notNull()
        .as('machineCount'),
    );

/** The newest locations of an organization, oldest first. */
export async function listLocations(db: Database, orgId: string): Promise<Bounded<LocationRow>> {
  const query = locationsWithCount(db).where('orgId', '=', orgId).orderBy('createdOn', 'desc').orderBy('id', 'desc');
  const found = await boundedList<LocationRow>(db, query, listBounds);
  found.rows.reverse();
  return found;
}

/** The oldest location of an organization, for machines created without a location. */
export const firstLocation = (db: Database, orgId: string): Promise<LocationRow | undefined> =>
  locationsWithCount(db).where('orgId', '=', orgId).orderBy('createdOn').orderBy('id').limit(1).executeTakeFirst();

export const findLocation = (db: Database, id: string): Promise<LocationRow | undefined> =>
  locationsWithCount(db).where('id', '=', id).executeTakeFirst();

export async function insertLocation(
  db: Database,
  row: { id: string; orgId: string; name: string; parentLocationId: string | null },
): Promise<void> {
  await db.insertInto('location').values(row).execute();
}

export async function updateLocation(
  db: Database,
  id: string,
  change: { name?: string; parentLocationId?: string | null },
): Promise<void> {
  if (Object.keys(change).length > 0) await db.updateTable('location').set(change).where('id', '=', id).execute();
}

/** @returns false: the location contains machines or other locations. */
export const deleteLocation = (
  db: Database,
  { id, orgId, name }: Pick<LocationRow, 'id' | 'orgId' | 'name'>,
  caller: Caller,
): Promise<boolean> =>
  db.transaction().execute(async (trx) => {
    const { numDeletedRows } = await trx
      .deleteFrom('location')
      .where('id', '=', id)
      .where(({ not, exists, selectFrom }) =>
        not(exists(selectFrom('machine').select('machine.id').where('locationId', '=', id))),
      )
      .where(({ not, exists, selectFrom }) =>
        not(exists(selectFrom('location as child').select('child.id').where('child.parentLocationId', '=', id))),
      )
      .executeTakeFirstOrThrow();
    if (numDeletedRows === 0n) return false;
    await audit(trx, { orgId, caller, action: 'delete location', subject: id, details: { name } });
    return true;
  });

export async function renameOrganization(db: Database, id: string, name: string): Promise<void> {
  await db.updateTable('organization').set({ name }).where('id', '=', id).execute();
}
