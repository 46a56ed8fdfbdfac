import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { boundedList } from '../../database/bounded-list.ts';
import { recordChange } from '../../database/changes.ts';
import type { Database } from '../../database/database.ts';
import { type Bounded, wholeAnswer } from '../../rpc/rules/answer-bounds.ts';
import { isUuid } from '@platform/contract/text/names';
import type { Grant, Role } from '../rules/permissions.ts';
import { hashSecret, randomSecret } from '../secrets.ts';

export type KeyRow = { id: string; orgId: string; name: string; createdOn: number };
export type KeyWithGrants = KeyRow & { grants: Grant<Role>[] };

/** The key with the hash of its secret. */
export const findKey = (db: Database, id: string) =>
  db.selectFrom('apiKey').selectAll().where('id', '=', id).executeTakeFirst();

/** Reads the key with its rights and locks it until the transaction ends. */
export async function lockKey(trx: Database, id: string): Promise<KeyWithGrants | undefined> {
  if (!isUuid(id)) return undefined;
  const key = await trx
    .selectFrom('apiKey')
    .select(['id', 'orgId', 'name', 'createdOn'])
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();
  return key && { ...key, grants: await grantsOf(trx, 'api_key', key.id) };
}

export async function grantsOf(db: Database, type: 'person' | 'api_key', id: string): Promise<Grant<Role>[]> {
  const rows = await db
    .selectFrom('accessGrant')
    .selectAll()
    .where((eb) => eb.and({ identityType: type, identityId: id }))
    .orderBy('resourceType')
    .orderBy('resourceId')
    .orderBy('role')
    .execute();
  return rows.map((row) => ({
    role: row.role,
    resource: row.resourceType,
    resourceId: row.resourceId,
    orgId: row.orgId ?? undefined,
  }));
}

/**
 * Whether this key is the only owner of something. Locks the organization, so that two last owners cannot delete each
 * other.
 *
 * @returns the first resource that would have no owner left.
 */
export async function ownedByKeyAlone(trx: Database, key: KeyWithGrants): Promise<Grant<Role> | undefined> {
  const owned = key.grants.filter(
    ({ role, resource }) => role === 'owner' && (resource === 'organization' || resource === 'installation'),
  );
  if (owned.length === 0) return undefined;
  await trx.selectFrom('organization').select('id').where('id', '=', key.orgId).forUpdate().execute();
  for (const grant of owned) {
    const other = await trx
      .selectFrom('accessGrant')
      .select('id')
      .where((eb) => eb.and({ role: 'owner', resourceType: grant.resource, resourceId: grant.resourceId }))
      .where('identityId', '!=', key.id)
      .limit(1)
      .executeTakeFirst();
    if (!other) return grant;
  }
  return undefined;
}

/** The newest keys of an organization, oldest first. @param machineId - only keys with a right on this machine. */
export async function listKeys(db: Database, orgId: string, machineId?: string): Promise<Bounded<KeyWithGrants>> {
  let query = db
    .selectFrom('apiKey')
    .select(['id', 'orgId', 'name', 'createdOn'])
    .select(
      sql<
        KeyWithGrants['grants']
      >`(select coalesce(jsonb_agg(jsonb_build_object('role', role, 'resource', resource_type,
          'resourceId', resource_id, 'orgId', org_id) order by created_on, id), '[]')
        from access_grant held where held.identity_type = 'api_key' and held.identity_id = api_key.id)`.as('grants'),
    )
    .where('orgId', '=', orgId);
  if (machineId !== undefined) {
    query = query.where(sql<boolean>`exists (select from access_grant held where held.identity_id = api_key.id
      and held.identity_type = 'api_key' and held.resource_id = ${machineId})`);
  }
  const newest = query.orderBy('createdOn', 'desc').orderBy('id', 'desc');
  const found = await boundedList<KeyWithGrants>(db, newest, { ...wholeAnswer, atOnce: 500 });
  found.rows.reverse();
  return found;
}

/** Inserts a key with this ID and secret (first start), or with new ones. Only the secret's hash is stored. */
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

/** Deletes a key; its tokens become invalid. */
export async function deleteKey(db: Database, id: string): Promise<void> {
  await db.deleteFrom('accessGrant').where('identityType', '=', 'api_key').where('identityId', '=', id).execute();
  await db.deleteFrom('apiKey').where('id', '=', id).execute();
  await recordChange(db, 'api_key', id);
}

/** Replaces the secret of a key; tokens of the old secret become invalid. */
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
