import { randomUUID } from 'node:crypto';
import { hashSecret, randomSecret } from '../auth/secrets.ts';
import type { Grant, Role } from '../rules/permissions.ts';
import { recordChange } from './changes.ts';
import type { Database } from './database.ts';
import { isUuid } from './machines.ts';

export type KeyRow = { id: string; orgId: string; name: string; createdOn: number };
export type KeyWithGrants = KeyRow & { grants: Grant<Role>[] };

export const findKey = async (db: Database, id: string): Promise<KeyRow | undefined> =>
  isUuid(id)
    ? db.selectFrom('apiKey').select(['id', 'orgId', 'name', 'createdOn']).where('id', '=', id).executeTakeFirst()
    : undefined;

export async function listKeys(db: Database, orgId: string): Promise<KeyWithGrants[]> {
  const keys = await db
    .selectFrom('apiKey')
    .select(['id', 'orgId', 'name', 'createdOn'])
    .where('orgId', '=', orgId)
    .orderBy('createdOn')
    .orderBy('id')
    .execute();
  const grants = await db
    .selectFrom('accessGrant')
    .innerJoin('apiKey', 'apiKey.id', 'accessGrant.identityId')
    .selectAll('accessGrant')
    .where('apiKey.orgId', '=', orgId)
    .execute();
  return keys.map((key) => ({
    ...key,
    grants: grants
      .filter((grant) => grant.identityId === key.id)
      .map((grant) => ({
        role: grant.role,
        resource: grant.resourceType,
        resourceId: grant.resourceId,
        orgId: grant.orgId ?? undefined,
      })),
  }));
}

/** Given id and key: exactly that one, if it is not there yet (first start); else a new one. Only its hash is stored. */
export async function insertKey(
  db: Database,
  of: { orgId: string; name: string; grants: readonly Grant<Role>[]; id?: string; key?: string },
): Promise<{ id: string; key: string }> {
  const { id = randomUUID(), key = randomSecret() } = of;
  await db
    .insertInto('apiKey')
    .values({ id, orgId: of.orgId, name: of.name, keyHash: hashSecret(key) })
    .execute();
  await insertGrants(db, 'api_key', id, of.grants);
  return { id, key };
}

export async function insertGrants(
  db: Database,
  type: 'person' | 'api_key',
  identityId: string,
  grants: readonly Grant<Role>[],
): Promise<void> {
  for (const grant of grants) {
    await db
      .insertInto('accessGrant')
      .values({
        id: randomUUID(),
        orgId: grant.orgId ?? null,
        identityType: type,
        identityId,
        role: grant.role,
        resourceType: grant.resource,
        resourceId: grant.resourceId,
      })
      .execute();
  }
}

/** Its tokens end with it. */
export async function deleteKey(db: Database, id: string): Promise<void> {
  await db.deleteFrom('accessGrant').where('identityType', '=', 'api_key').where('identityId', '=', id).execute();
  await db.deleteFrom('apiKey').where('id', '=', id).execute();
  await recordChange(db, 'api_key', id);
}

/** A new secret under the same id; tokens of the old one end. */
export async function rotateKey(db: Database, id: string): Promise<string> {
  const key = randomSecret();
  await db
    .updateTable('apiKey')
    .set({ keyHash: hashSecret(key) })
    .where('id', '=', id)
    .execute();
  await recordChange(db, 'api_key', id);
  return key;
}

export async function renameKey(db: Database, id: string, name: string): Promise<void> {
  await db.updateTable('apiKey').set({ name }).where('id', '=', id).execute();
  await recordChange(db, 'api_key', id);
}
