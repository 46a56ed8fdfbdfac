import type { Secrets } from '../auth/secrets.ts';
import { PlatformError } from '@platform/contract/errors';
import type { Grant, Role } from '../rules/permissions.ts';
import type { Database } from './database.ts';
import { insertGrants, insertKey } from './keys.ts';

/**
 * Creates the first organization, its owner and the keys that secrets.json holds, in one transaction; does nothing when they are there.
 *
 * @throws PlatformError DATABASE_UNAVAILABLE when the database belongs to another data folder.
 */
export async function createFirstRun(db: Database, secrets: Secrets, orgName: string): Promise<void> {
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
      throw new PlatformError('DATABASE_UNAVAILABLE', {
        problem:
          'it belongs to another data folder, whose secrets.json is needed to read it; give that folder with --data-dir',
      });
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
    const owner: Grant<Role>[] = [
      { role: 'owner', resource: 'organization', resourceId: first.orgId, orgId: first.orgId },
      { role: 'owner', resource: 'installation', resourceId: secrets.installationId, orgId: undefined },
    ];
    await insertGrants(trx, 'person', first.ownerId, owner);
    await insertKey(trx, {
      orgId: first.orgId,
      name: 'first key',
      id: first.apiKeyId,
      key: first.apiKey,
      grants: owner,
    });
    await insertKey(trx, {
      orgId: first.orgId,
      name: 'runner',
      id: first.runnerKeyId,
      key: first.runnerKey,
      grants: [{ role: 'runner', resource: 'organization', resourceId: first.orgId, orgId: first.orgId }],
    });
  });
}

/** Lower-case letters, digits and dashes of a name; names are shown, namespaces stand in ids. */
export const namespaceOf = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '') || 'organization';
