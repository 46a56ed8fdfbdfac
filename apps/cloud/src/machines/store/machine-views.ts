import { sql } from 'kysely';
import type { Database, Trx } from '../../database/database.ts';
import type { Row } from '../../database/schema.ts';

export const mostViews = 50;

type ViewRow = Omit<Row<'machineView'>, 'savedOn'>;

export const listMachineViews = (db: Database, orgId: string): Promise<(ViewRow & { savedOn: number })[]> =>
  db.selectFrom('machineView').selectAll().where('orgId', '=', orgId).orderBy('name').execute();

/** @returns false: there are too many. */
export async function saveMachineView(trx: Trx, view: ViewRow): Promise<boolean> {
  await sql`select from organization where id = ${view.orgId}::uuid for update`.execute(trx);
  const { query, sort, columns, savedBy } = view;
  await trx
    .insertInto('machineView')
    .values(view)
    .onConflict((on) =>
      on.columns(['orgId', 'name']).doUpdateSet({ query, sort, columns, savedBy, savedOn: sql<number>`now()` }),
    )
    .execute();
  return (await listMachineViews(trx, view.orgId)).length <= mostViews;
}

/** @returns whether there was one. */
export async function deleteMachineView(trx: Trx, orgId: string, name: string): Promise<boolean> {
  const { numDeletedRows } = await trx
    .deleteFrom('machineView')
    .where((eb) => eb.and({ orgId, name }))
    .executeTakeFirstOrThrow();
  return numDeletedRows > 0n;
}
