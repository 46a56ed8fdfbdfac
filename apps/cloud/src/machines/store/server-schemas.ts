import { sql } from 'kysely';
import type { Database } from '../../database/database.ts';

/** Versions of machine servers for each organization; the one that no machine named for longest goes first. */
export const mostServerSchemas = 100;

interface ServerSchemasKey {
  orgId: string;
  sha256: Buffer;
}

export interface StoredSchemas {
  /** Null: they were refused. */
  schemasJson: string | null;
  refused: string | null;
}

export async function findServerSchemas(
  db: Database,
  { orgId, sha256 }: ServerSchemasKey,
): Promise<StoredSchemas | undefined> {
  return db
    .selectFrom('serverSchemas')
    .select(['schemasJson', 'refused'])
    .where((eb) => eb.and({ orgId, sha256 }))
    .executeTakeFirst();
}

/** Like `findServerSchemas`, and notes that a machine has them. */
export async function touchServerSchemas(
  db: Database,
  { orgId, sha256 }: ServerSchemasKey,
): Promise<StoredSchemas | undefined> {
  const { rows } = await sql<StoredSchemas>`
    update server_schemas set asked_on = now() where org_id = ${orgId} and sha256 = ${sha256}
    returning schemas_json, refused`.execute(db);
  return rows[0];
}

/** Stores them once for each content, and removes those beyond the limit. */
export async function insertServerSchemas(
  db: Database,
  { orgId, sha256 }: ServerSchemasKey,
  { schemasJson, refused }: StoredSchemas,
): Promise<void> {
  await db
    .insertInto('serverSchemas')
    .values({ orgId, sha256, schemasJson, refused })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  await sql`
    delete from server_schemas where org_id = ${orgId} and sha256 in (
      select sha256 from server_schemas where org_id = ${orgId}
       order by asked_on desc, sha256 offset ${mostServerSchemas})`.execute(db);
}
