import { type RawBuilder, sql } from 'kysely';
import type { StoredBlob } from '../blob-store.ts';
import { mayDeleteFiles } from '../../database/backup-lock.ts';
import type { Database } from '../../database/database.ts';

/** For this time, the uploader may read a file before a row references it. */
const uploadLifeMs = 24 * 3_600_000;

/** Records that an organization uploaded a file, which the blob store already has. */
export async function noteBlob(db: Database, orgId: string, { sha256, sizeBytes }: StoredBlob): Promise<void> {
  await db
    .insertInto('blob')
    .values({ orgId, sha256, sizeBytes })
    .onConflict((conflict) => conflict.columns(['orgId', 'sha256']).doUpdateSet({ uploadedOn: sql<number>`now()` }))
    .execute();
}

/** Records that a row of the organization references a file that another organization uploaded. */
export async function noteForeignBlob(db: Database, orgId: string, { sha256, sizeBytes }: StoredBlob): Promise<void> {
  await db
    .insertInto('blob')
    .values({ orgId, sha256, sizeBytes, uploadedOn: null })
    .onConflict((conflict) => conflict.columns(['orgId', 'sha256']).doNothing())
    .execute();
}

/**
 * Sizes of the files that the organization may read, by sha256. Its rows reference them, or it uploaded them within the
 * last day. Once a transaction deletes the last reference, the file is unreadable, although its bytes stay for a while.
 */
export async function readableBlobs(
  db: Database,
  orgIds: readonly string[],
  sha256s: readonly string[],
): Promise<Map<string, number>> {
  if (sha256s.length === 0 || orgIds.length === 0) return new Map();
  const { rows } = await sql<{ sha256: string; sizeBytes: number }>`
    select sha256, size_bytes from blob
     where org_id = any(${orgIds}::uuid[]) and sha256 = any(${sha256s}::text[])
       and (uploaded_on > now() - make_interval(secs => ${uploadLifeMs / 1000})
         or exists (select from binary_data d where d.sha256 = blob.sha256 and d.org_id = blob.org_id)
         or exists (select from dataset_version d where d.manifest_sha256 = blob.sha256 and d.org_id = blob.org_id)
         or exists (select from registry_version v where v.package_sha256 = blob.sha256 and v.org_id = blob.org_id)
         or exists (select from training_job j where j.script_sha256 = blob.sha256 and j.org_id = blob.org_id
                     and j.ended_on is null))`.execute(db);
  return new Map(rows.map((row) => [row.sha256, row.sizeBytes]));
}

/**
 * Ends the read access that follows from an upload. Call it in the transaction that deletes references to these files.
 * Locks rows in one order, so that two deletions cannot deadlock.
 */
export async function endUploads(trx: Database, blobs: readonly { orgId: string; sha256: string }[]): Promise<void> {
  if (blobs.length === 0) return;
  await sql`
    with gone as materialized (
      select org_id, sha256 from blob
       where (org_id, sha256) in (select * from unnest(
               ${blobs.map(({ orgId }) => orgId)}::uuid[], ${blobs.map(({ sha256 }) => sha256)}::text[]))
       order by org_id, sha256 for update
    )
    update blob set uploaded_on = null from gone
     where blob.org_id = gone.org_id and blob.sha256 = gone.sha256 and blob.uploaded_on is not null`.execute(trx);
}

/** SQL condition: a row of any organization references this file. */
const isNamed = (sha256: RawBuilder<unknown>): RawBuilder<boolean> => sql`(
  exists (select from binary_data d where d.sha256 = ${sha256})
  or exists (select from dataset_version d where d.manifest_sha256 = ${sha256})
  or exists (select from registry_version v where v.package_sha256 = ${sha256})
  or exists (select from sequence_export e where e.file_sha256 = ${sha256})
  or exists (select from training_job j where j.script_sha256 = ${sha256} and j.ended_on is null)
  or exists (select from release r where r.sha256 = decode(${sha256}, 'hex'))
  or exists (select from release_patch p where p.sha256 = decode(${sha256}, 'hex'))
  or exists (select from release_attachment a where a.sha256 = decode(${sha256}, 'hex')))`;

/**
 * The files of a backup, in SQL: `isRequired` if a row names the file, else uploaded within the last day.
 *
 * @param of - hasAttachments: false for a schema of before the migration 0028.
 */
export const filesToBackUp = ({ hasAttachments }: { hasAttachments: boolean }): string => `
  with named as (
    select sha256 from binary_data union select manifest_sha256 from dataset_version
    union select package_sha256 from registry_version
    union select file_sha256 from sequence_export where file_sha256 is not null
    union select script_sha256 from training_job where script_sha256 is not null and ended_on is null
    union select encode(sha256, 'hex') from release union select encode(sha256, 'hex') from release_patch
    ${hasAttachments ? `union select encode(sha256, 'hex') from release_attachment` : ''}
  )
  select sha256, bool_or(is_required) as "isRequired" from (
    select sha256, true as is_required from named
    union all select sha256, false from blob where uploaded_on > now() - make_interval(secs => ${uploadLifeMs / 1000})
  ) file group by sha256 order by sha256`;

/** Manifests whose images a backup needs, in SQL. */
export const manifestsToBackUp = `select distinct manifest_sha256 as sha256 from training_job where state in ('pending', 'in_progress', 'canceling')`;

/** Storage of one organization. */
export type StoredBytes = {
  /** Bytes of files that its rows reference, or that it uploaded within the last day. */
  usedBytes: number;
  /** Number of these files. */
  files: number;
  /** Bytes of files without a reference, until a sweep deletes them. */
  waitingBytes: number;
};

/** Reads every file of the organization, so frequent callers must cache the result. */
export async function storedBytes(db: Database, orgId: string): Promise<StoredBytes> {
  const { rows } = await sql<StoredBytes>`
    with named as (
      select sha256 from binary_data where org_id = ${orgId}
      union select manifest_sha256 from dataset_version where org_id = ${orgId}
      union select package_sha256 from registry_version where org_id = ${orgId}
      union select file_sha256 from sequence_export where org_id = ${orgId} and file_sha256 is not null
      union select script_sha256 from training_job where org_id = ${orgId} and script_sha256 is not null and ended_on is null
    ), file as (
      select blob.sha256, blob.size_bytes, named.sha256 is not null
             or coalesce(blob.uploaded_on > now() - make_interval(secs => ${uploadLifeMs / 1000}), false) as is_used
        from blob left join named on named.sha256 = blob.sha256 where blob.org_id = ${orgId}
    )
    select coalesce(sum(size_bytes) filter (where is_used), 0)::bigint as used_bytes,
           count(*) filter (where is_used) as files,
           coalesce(sum(size_bytes) filter (where not is_used and not ${isNamed(sql`file.sha256`)}), 0)::bigint as waiting_bytes
      from file`.execute(db);
  return rows[0] ?? { usedBytes: 0, files: 0, waitingBytes: 0 };
}

/**
 * The files that rows of any organization reference. Excludes references by datasets of running jobs
 * (`manifestsInUse`).
 */
export async function namedBlobs(db: Database, sha256s: readonly string[]): Promise<Set<string>> {
  const { rows } = await sql<{ sha256: string }>`
    select sha256 from unnest(${sha256s}::text[]) file(sha256) where ${isNamed(sql`file.sha256`)}`.execute(db);
  return new Set(rows.map(({ sha256 }) => sha256));
}

/** Manifests of pending and running jobs: these need their images, even those deleted since. */
export async function manifestsInUse(db: Database): Promise<string[]> {
  const rows = await db
    .selectFrom('trainingJob')
    .select('manifestSha256')
    .distinct()
    .where('state', 'in', ['pending', 'in_progress', 'canceling'])
    .execute();
  return rows.map(({ manifestSha256 }) => manifestSha256);
}

/**
 * Records which files have no reference at `now`, and clears the marks of those that have one.
 *
 * @returns the files without a reference since before `unnamedBefore`; times in ms since 1970.
 */
export async function markUnnamed(
  db: Database,
  of: { named: readonly string[]; unnamed: readonly string[]; now: number; unnamedBefore: number },
): Promise<string[]> {
  const { named, unnamed, now, unnamedBefore } = of;
  if (named.length > 0) await db.deleteFrom('unnamedBlob').where('sha256', 'in', named).execute();
  if (unnamed.length === 0) return [];
  // `least`: a mark that a clock set in the future counts from now.
  const { rows } = await sql<{ sha256: string }>`
    with marked as (
      insert into unnamed_blob (sha256, since)
      select sha256, to_timestamp(${now}::double precision / 1000) from unnest(${unnamed}::text[]) sha256
      on conflict (sha256) do update set since = least(unnamed_blob.since, excluded.since)
      returning sha256, since
    )
    select sha256 from marked where since <= to_timestamp(${unnamedBefore}::double precision / 1000)`.execute(db);
  return rows.map(({ sha256 }) => sha256);
}

/**
 * Deletes the rows of a file without a reference, unless an organization uploaded it again. While a backup runs, it
 * deletes none. @returns whether no row is left.
 */
export const releaseBlob = (db: Database, sha256: string): Promise<boolean> =>
  db.transaction().execute(async (trx) => {
    if (!(await mayDeleteFiles.execute(trx)).rows[0]?.isFree) return false;
    if ((await namedBlobs(trx, [sha256])).size > 0) return false;
    // Waits for a concurrent upload of the same file, and then sees its row.
    await sql`
      delete from blob where sha256 = ${sha256}
         and (uploaded_on is null or uploaded_on < now() - make_interval(secs => ${uploadLifeMs / 1000}))`.execute(trx);
    const left = await trx.selectFrom('blob').select('orgId').where('sha256', '=', sha256).limit(1).executeTakeFirst();
    return !left;
  });

/** Deletes the marks of files of a folder that no longer exist. */
export async function deleteAbsentMarks(db: Database, folder: string, stored: readonly string[]): Promise<void> {
  const marks = await db.selectFrom('unnamedBlob').select('sha256').where('sha256', 'like', `${folder}%`).execute();
  const existing = new Set(stored);
  const absent = marks.map(({ sha256 }) => sha256).filter((sha256) => !existing.has(sha256));
  if (absent.length > 0) await db.deleteFrom('unnamedBlob').where('sha256', 'in', absent).execute();
}
