import type { Caller } from '../rules/permissions.ts';
import { audit } from './audit.ts';
import type { Database } from './database.ts';

export type OrganizationRow = { id: string; name: string; publicNamespace: string; createdOn: number };
export type LocationRow = {
  id: string;
  orgId: string;
  name: string;
  parentLocationId: string | null;
  createdOn: number;
  machineCount: number;
};

export const findOrganizations = (db: Database, ids: readonly string[]): Promise<OrganizationRow[]> =>
  ids.length === 0
    ? Promise.resolve([])
    : db.selectFrom('organization').selectAll().where('id', 'in', ids).orderBy('name').execute();

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

export const listLocations = (db: Database, orgId: string): Promise<LocationRow[]> =>
  locationsWithCount(db).where('orgId', '=', orgId).orderBy('createdOn').orderBy('id').execute();

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

/** False: machines or other locations stand in it. */
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
