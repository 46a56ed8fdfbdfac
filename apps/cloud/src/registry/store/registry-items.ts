import { type Selectable, sql } from 'kysely';
import { PlatformError } from '@platform/contract/errors/errors';
import { type Bounded, byText, wholeAnswer } from '../../rpc/rules/answer-bounds.ts';
import type { Caller } from '../../access/rules/permissions.ts';
import { audit } from '../../access/store/audit.ts';
import { boundedList } from '../../database/bounded-list.ts';
import { recordChange } from '../../database/changes.ts';
import { at, type Database } from '../../database/database.ts';
import { endUploads } from '../../blobs/store/owned-blobs.ts';
import { filesOf, mayBeNamed } from './registry.ts';
import type { Tables } from '../../database/schema.ts';
import type { PackageKind } from '../../database/training-schema.ts';

export type Item = Selectable<Tables['registryItem']> & {
  publicNamespace: string;
  /** Newest first, limited to `mostVersions`; `createdOn` in ms since 1970. */
  versions: readonly { version: string; createdOn: number }[];
};
export type ItemKey = { orgId: string; name: string };

/** Limit of an item's versions in a response; `listPackages` lists all. */
const mostVersions = wholeAnswer.rows;

const items = (db: Database) =>
  db
    .selectFrom('registryItem')
    .innerJoin('organization', 'organization.id', 'registryItem.orgId')
    .selectAll('registryItem')
    .select([
      'organization.publicNamespace',
      sql<Item['versions']>`(select coalesce(jsonb_agg(jsonb_build_object('version', v.version,
          'createdOn', (extract(epoch from v.created_on) * 1000)::bigint) order by v.ordinal desc), '[]')
        from (select version, created_on, ordinal from registry_version of_item
          where of_item.org_id = registry_item.org_id and of_item.name = registry_item.name
          order by ordinal desc limit ${mostVersions}) v)`.as('versions'),
    ]);

export const findItem = (db: Database, { orgId, name }: ItemKey): Promise<Item | undefined> =>
  items(db).where('registryItem.orgId', '=', orgId).where('registryItem.name', '=', name).executeTakeFirst();

export type ItemFilter = {
  /** Items of these organizations, and public ones of others. */
  memberOf: readonly string[];
  orgId: string | undefined;
  types: readonly PackageKind[];
  visibilities: readonly Item['visibility'][];
  namespaces: readonly string[];
  /** Substring of the name or description. */
  search: string;
  /** Besides public items, only those that these names may refer to. */
  named?: ReadonlySet<string> | undefined;
};

/** The newest items, sorted by namespace and name. */
export async function listItems(db: Database, filter: ItemFilter): Promise<Bounded<Item>> {
  let query = items(db).where(
    sql<boolean>`(registry_item.org_id = any(${filter.memberOf}::uuid[]) or registry_item.visibility = 'public')`,
  );
  if (filter.orgId !== undefined) query = query.where(sql<boolean>`registry_item.org_id::text = ${filter.orgId}`);
  if (filter.types.length > 0) query = query.where('registryItem.type', 'in', filter.types);
  if (filter.visibilities.length > 0) query = query.where('registryItem.visibility', 'in', filter.visibilities);
  if (filter.namespaces.length > 0) query = query.where('organization.publicNamespace', 'in', filter.namespaces);
  if (filter.search !== '') {
    query = query.where(
      sql<boolean>`position(lower(${filter.search}) in lower(registry_item.name || ' ' || registry_item.description)) > 0`,
    );
  }
  if (filter.named) {
    const named = mayBeNamed(filter.named, sql`registry_item.org_id`, sql`registry_item.name`);
    query = query.where(sql<boolean>`(registry_item.visibility = 'public' or ${named})`);
  }
  const newest = query
    .orderBy('registryItem.createdOn', 'desc')
    .orderBy('registryItem.orgId')
    .orderBy('registryItem.name');
  const found = await boundedList<Item>(db, newest, { ...wholeAnswer, atOnce: 20 });
  found.rows.sort((a, b) => byText(a.publicNamespace, b.publicNamespace) || byText(a.name, b.name));
  return found;
}

/** @throws PlatformError NAME_TAKEN */
export async function createItem(db: Database, item: ItemKey & { type: PackageKind; now: number }): Promise<void> {
  const { now, ...values } = item;
  const done = await db
    .insertInto('registryItem')
    .values({ ...values, metadata: '{}', createdOn: at(now), updatedOn: at(now) })
    .onConflict((conflict) => conflict.columns(['orgId', 'name']).doNothing())
    .executeTakeFirst();
  if (done.numInsertedOrUpdatedRows !== 1n)
    throw new PlatformError('NAME_TAKEN', { name: item.name, kind: 'registry item' });
}

export async function updateItem(
  db: Database,
  { orgId, name }: ItemKey,
  change: {
    description: string;
    visibility: Item['visibility'];
    url: string | undefined;
    metadata: { [key: string]: unknown };
    now: number;
  },
): Promise<void> {
  await db
    .updateTable('registryItem')
    .set({
      description: change.description,
      visibility: change.visibility,
      ...(change.url === undefined ? {} : { url: change.url }),
      metadata: JSON.stringify(change.metadata),
      updatedOn: at(change.now),
    })
    .where((eb) => eb.and({ orgId, name }))
    .execute();
}

/** Deletes an item with all its versions, which stay claimed. */
export const deleteItem = (db: Database, { orgId, name }: ItemKey, caller: Caller): Promise<void> =>
  db.transaction().execute(async (trx) => {
    const gone = await trx
      .deleteFrom('registryVersion')
      .where((eb) => eb.and({ orgId, name }))
      .returning(['orgId', 'packageSha256', 'files'])
      .execute();
    await endUploads(trx, gone.flatMap(filesOf));
    await trx.deleteFrom('registryItem').where('orgId', '=', orgId).where('name', '=', name).execute();
    await recordChange(trx, 'package', orgId);
    const details = { versions: gone.length };
    await audit(trx, { orgId, caller, action: 'delete registry item', subject: name, details });
  });
