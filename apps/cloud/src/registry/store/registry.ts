import { type RawBuilder, type Selectable, sql } from 'kysely';
import { PlatformError } from '@platform/contract/errors/errors';
import { idProblem } from '@platform/contract/text/names';
import { endUploads } from '../../blobs/store/owned-blobs.ts';
import { boundedList } from '../../database/bounded-list.ts';
import { recordChange } from '../../database/changes.ts';
import { at, type Database, type Trx } from '../../database/database.ts';
import type { Tables } from '../../database/schema.ts';
import type { PackageFile, PackageKind } from '../../database/training-schema.ts';
import { type Bounded, boundsOf } from '../../rpc/rules/answer-bounds.ts';
import { versionTaken } from '../rules/version-taken.ts';

export type Version = Selectable<Tables['registryVersion']> & {
  type: PackageKind;
  visibility: 'private' | 'public' | 'public_unlisted';
  publicNamespace: string;
};

/** Origin of a trained model. */
export type Lineage = {
  jobId: string;
  datasetId: string;
  datasetVersionId: string;
  /** The training script; undefined for built-in trainers. */
  script: { id: string; version: string } | undefined;
  evaluation: { [key: string]: unknown } | null;
};

/** A version to publish. The blob store already has its package. */
export type NewVersion = {
  orgId: string;
  name: string;
  type: PackageKind;
  version: string;
  packed: { sha256: string; sizeBytes: number; crc32c: number };
  files: readonly PackageFile[];
  metadata: { [key: string]: unknown };
  platform?: string | undefined;
  lineage?: Lineage;
  now: number;
};

/**
 * Writes the version, and its item if this is the first version.
 *
 * @throws PlatformError NAME_TAKEN if an item of another type has the name, MODEL_VERSION_TAKEN or SCRIPT_VERSION_TAKEN
 * if the version exists.
 */
export async function publish(trx: Trx, of: NewVersion): Promise<void> {
  const metadata = JSON.stringify(of.metadata);
  const item = await trx
    .insertInto('registryItem')
    .values({
      orgId: of.orgId,
      name: of.name,
      type: of.type,
      metadata,
      // From the first version; later, calls change it on the item.
      url: textOf(of.metadata['url']),
      visibility: of.metadata['visibility'] === 'public' ? 'public' : 'private',
      createdOn: at(of.now),
      updatedOn: at(of.now),
    })
    .onConflict((conflict) => conflict.columns(['orgId', 'name']).doUpdateSet({ metadata, updatedOn: at(of.now) }))
    .returning('type')
    .executeTakeFirstOrThrow();
  if (item.type !== of.type) throw new PlatformError('NAME_TAKEN', { name: of.name, kind: `package (${item.type})` });
  const written = await trx
    .insertInto('registryVersion')
    .values({
      orgId: of.orgId,
      name: of.name,
      version: of.version,
      packageSha256: of.packed.sha256,
      sizeBytes: of.packed.sizeBytes,
      crc32c: of.packed.crc32c,
      files: JSON.stringify(of.files),
      metadata,
      platform: of.platform ?? null,
      jobId: of.lineage?.jobId ?? null,
      datasetId: of.lineage?.datasetId ?? null,
      datasetVersionId: of.lineage?.datasetVersionId ?? null,
      scriptId: of.lineage?.script?.id ?? null,
      scriptVersion: of.lineage?.script?.version ?? null,
      evaluation: of.lineage?.evaluation ? JSON.stringify(of.lineage.evaluation) : null,
      createdOn: at(of.now),
    })
    .onConflict((conflict) => conflict.columns(['orgId', 'name', 'version']).doNothing())
    .executeTakeFirst();
  if (written.numInsertedOrUpdatedRows !== 1n) {
    throw versionTaken(of);
  }
  await recordChange(trx, 'package', of.orgId);
}

/**
 * Rejects a new name that another type of package has, or that has the form of an ID. A model in training has its name already: otherwise its version
 * could not be published at the end.
 *
 * @throws PlatformError NAME_TAKEN, INVALID_ARGUMENT
 */
export async function refuseTakenName(
  db: Database,
  { orgId, name, type }: { orgId: string; name: string; type: PackageKind },
): Promise<void> {
  const item = await db
    .selectFrom('registryItem')
    .select('type')
    .where((eb) => eb.and({ orgId, name }))
    .executeTakeFirst();
  if (item && item.type !== type) throw new PlatformError('NAME_TAKEN', { name, kind: `package (${item.type})` });
  const problem = item ? undefined : idProblem(name);
  if (problem !== undefined)
    throw new PlatformError('INVALID_ARGUMENT', { field: 'name', value: name, limit: problem });
  if (item || type === 'ml_model') return;
  const job = await db
    .selectFrom('trainingJob')
    .select('id')
    .where('orgId', '=', orgId)
    .where('status', 'in', ['pending', 'in_progress', 'canceling'])
    .where('modelName', '=', name)
    .limit(1)
    .executeTakeFirst();
  if (job) throw new PlatformError('NAME_TAKEN', { name, kind: 'model that is being trained' });
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

const versions = (db: Database) =>
  db
    .selectFrom('registryVersion')
    .innerJoin('registryItem', (join) =>
      join
        .onRef('registryItem.orgId', '=', 'registryVersion.orgId')
        .onRef('registryItem.name', '=', 'registryVersion.name'),
    )
    .innerJoin('organization', 'organization.id', 'registryVersion.orgId')
    .selectAll('registryVersion')
    .select(['registryItem.type', 'registryItem.visibility', 'organization.publicNamespace']);

/** The version published last; undefined: none yet. */
export const latestVersion = async (db: Database, orgId: string, name: string): Promise<string | undefined> => {
  const row = await db
    .selectFrom('registryVersion')
    .select('version')
    .where((eb) => eb.and({ orgId, name }))
    .orderBy('ordinal', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row?.version;
};

/** `version` may be `latest`. */
export const findPackage = (
  db: Database,
  of: { orgId: string; name: string; version: string; type?: PackageKind | undefined },
): Promise<Version | undefined> => {
  const named = versions(db).where('registryVersion.orgId', '=', of.orgId).where('registryVersion.name', '=', of.name);
  const typed = of.type ? named.where('registryItem.type', '=', of.type) : named;
  const one = of.version === 'latest' ? typed : typed.where('registryVersion.version', '=', of.version);
  return one.orderBy('registryVersion.ordinal', 'desc').limit(1).executeTakeFirst();
};

/** SQL condition: true for every package that one of the names may refer to, and for some others. */
export const mayBeNamed = (names: ReadonlySet<string>, org: RawBuilder<string>, name: RawBuilder<string>) =>
  sql<boolean>`array[${name}, ${org}::text || '/' || ${name}, ${org}::text || ':' || ${name}, organization.public_namespace || '/' || ${name},
    organization.public_namespace || ':' || ${name}] && ${[...names]}::text[]`;

/** Newest first. @param named - only packages that these names may refer to. */
export const listPackages = (
  db: Database,
  of: {
    orgId: string;
    name?: string | undefined;
    version?: string | undefined;
    type?: PackageKind | undefined;
    named?: ReadonlySet<string> | undefined;
  },
  page: { after: number | undefined; size: number },
): Promise<Bounded<Version>> => {
  let query = versions(db).where('registryVersion.orgId', '=', of.orgId);
  if (of.name) query = query.where('registryVersion.name', '=', of.name);
  if (of.type) query = query.where('registryItem.type', '=', of.type);
  if (of.version && of.version !== 'latest') query = query.where('registryVersion.version', '=', of.version);
  if (of.named) query = query.where(mayBeNamed(of.named, sql`registry_version.org_id`, sql`registry_version.name`));
  if (page.after !== undefined) query = query.where('registryVersion.ordinal', '<', page.after);
  const bounds = { ...boundsOf(page.size), atOnce: 100 };
  return boundedList<Version>(db, query.orderBy('registryVersion.ordinal', 'desc'), bounds);
};

/** The organization with this public namespace or ID; undefined: none. */
export const orgOfNamespace = async (db: Database, text: string): Promise<string | undefined> => {
  const row = await db
    .selectFrom('organization')
    .select('id')
    .where(sql<boolean>`id::text = ${text.toLowerCase()} or public_namespace = ${text}`)
    .executeTakeFirst();
  return row?.id;
};

/**
 * The machines whose configuration needs this version. It names the version, or it names `latest` and there is no other
 * version.
 *
 * @param of - without a version: any version.
 * @returns the number of machines, and the name of one.
 */
export async function machinesWith(
  db: Database,
  of: { orgId: string; name: string; version?: string },
): Promise<{ count: number; machine: string }> {
  const version = of.version ?? null;
  const { rows } = await sql<{ name: string }>`
    select machine.name from part
      join machine on machine.id = part.machine_id
      join config_revision config on config.part_id = part.id and config.revision = part.revision
      cross join lateral jsonb_array_elements(
        case when jsonb_typeof(config.config -> 'packages') = 'array' then config.config -> 'packages' else '[]' end) package
     where part.org_id = ${of.orgId} and package ->> 'package' = ${`${of.orgId}/${of.name}`}
       and (${version}::text is null or package ->> 'version' = ${version}
            or coalesce(package ->> 'version', 'latest') = 'latest' and not exists (
              select from registry_version other
               where other.org_id = ${of.orgId} and other.name = ${of.name} and other.version <> ${version}))
     order by machine.name`.execute(db);
  return { count: rows.length, machine: rows[0]?.name ?? '' };
}

/**
 * Removes a version, which stays claimed. The item stays while it has other versions. @returns whether the version
 * existed.
 */
export async function removeVersion(trx: Trx, of: { orgId: string; name: string; version: string }): Promise<boolean> {
  const done = await trx
    .deleteFrom('registryVersion')
    .where((eb) => eb.and({ orgId: of.orgId, name: of.name, version: of.version }))
    .returning(['orgId', 'packageSha256', 'files'])
    .executeTakeFirst();
  if (done) await endUploads(trx, filesOf(done));
  await sql`
    delete from registry_item item where org_id = ${of.orgId} and name = ${of.name}
       and not exists (select from registry_version v where v.org_id = item.org_id and v.name = item.name)`.execute(
    trx,
  );
  await recordChange(trx, 'package', of.orgId);
  return done !== undefined;
}

/** The package and the files that it was built from. */
export const filesOf = ({
  orgId,
  packageSha256,
  files,
}: Pick<Selectable<Tables['registryVersion']>, 'orgId' | 'packageSha256' | 'files'>) =>
  [packageSha256, ...files.flatMap((file) => file.sha256 ?? [])].map((sha256) => ({ orgId, sha256 }));
