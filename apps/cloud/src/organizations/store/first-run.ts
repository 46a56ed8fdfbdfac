import { hashSecret, type Secrets } from '../../access/secrets.ts';
import { PlatformError } from '@platform/contract/errors/errors';
import type { Grant, Role } from '../../access/rules/permissions.ts';
import { audit } from '../../access/store/audit.ts';
import type { Database } from '../../database/database.ts';
import { deleteKey, insertGrants, insertKey } from '../../access/store/keys.ts';
import { endSessionsOfKey } from '../../access/store/sessions.ts';

/**
 * Creates the first organization, its owner and the keys of secrets.json in one transaction. Has no effect if they
 * exist.
 *
 * @throws PlatformError DATABASE_OF_OTHER_INSTALLATION
 */
export async function createFirstRun(
  db: Database,
  { secrets, dataFolder, orgName }: { secrets: Secrets; dataFolder: string; orgName: string },
): Promise<void> {
  const { first } = secrets;
  await db.transaction().execute(async (trx) => {
    const created = await trx
      .insertInto('installation')
      .values({ id: secrets.installationId, firstOrgId: first.orgId })
      .onConflict((conflict) => conflict.doNothing())
      .returning('id')
      .executeTakeFirst();
    if (!created) {
      const found = await trx.selectFrom('installation').select('id').executeTakeFirstOrThrow();
      if (found.id === secrets.installationId) return;
      const of = { found: found.id, path: dataFolder, own: secrets.installationId };
      throw new PlatformError('DATABASE_OF_OTHER_INSTALLATION', of);
    }
    await trx
      .insertInto('organization')
      .values({ id: first.orgId, name: orgName, publicNamespace: namespaceOf(orgName) })
      .execute();
    await trx
      .insertInto('location')
      .values({ id: first.locationId, orgId: first.orgId, name: 'My location', parentLocationId: null })
      .execute();
    await trx.insertInto('person').values({ id: first.ownerId, name: 'Owner' }).execute();
    await insertGrants(trx, 'person', first.ownerId, ownerGrants(secrets));
    for (const key of firstKeys(secrets)) await insertKey(trx, key);
  });
}

const ownerGrants = ({ first, installationId }: Secrets): Grant<Role>[] => [
  { role: 'owner', resource: 'organization', resourceId: first.orgId, orgId: first.orgId },
  { role: 'owner', resource: 'installation', resourceId: installationId, orgId: undefined },
];

/** The keys of secrets.json: the owner's, and the key of the runner on the server's host. */
const firstKeys = (secrets: Secrets) => {
  const { first } = secrets;
  const { orgId } = first;
  const runner: Grant<Role>[] = [{ role: 'runner', resource: 'organization', resourceId: orgId, orgId }];
  return [
    { orgId, name: 'first key', id: first.apiKeyId, key: first.apiKey, grants: ownerGrants(secrets) },
    { orgId, name: 'runner', id: first.runnerKeyId, key: first.runnerKey, grants: runner },
  ] as const;
};

/**
 * Makes the keys of secrets.json valid again after they were rotated or deleted: the recovery access from the server's
 * terminal.
 */
export async function restoreFirstKeys(db: Database, secrets: Secrets): Promise<void> {
  await db.transaction().execute(async (trx) => {
    for (const key of firstKeys(secrets)) {
      await endSessionsOfKey(trx, key.id);
      await deleteKey(trx, key.id);
      await insertKey(trx, key);
      await audit(trx, { orgId: key.orgId, actor: 'server --new-keys', action: 'replace key', subject: key.id });
    }
  });
}

/** The keys of secrets.json that are still valid: neither rotated nor deleted. */
export async function validFirstKeys(
  db: Database,
  { first }: Secrets,
): Promise<{ apiKey: string | undefined; runnerKey: string | undefined }> {
  const ids = [first.apiKeyId, first.runnerKeyId];
  const rows = await db.selectFrom('apiKey').select(['id', 'keyHash']).where('id', 'in', ids).execute();
  const valid = (id: string, key: string): string | undefined =>
    rows.some((row) => row.id === id && row.keyHash.equals(hashSecret(key))) ? key : undefined;
  return { apiKey: valid(first.apiKeyId, first.apiKey), runnerKey: valid(first.runnerKeyId, first.runnerKey) };
}

/** Namespace from a name: lower-case letters, digits and dashes, because IDs contain it. */
const namespaceOf = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '') || 'organization';
