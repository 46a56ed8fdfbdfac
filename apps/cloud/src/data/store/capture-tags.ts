import { type RawBuilder, sql } from 'kysely';
import { type Capture, provenCaptureTags } from './capture-identity.ts';
import type { Database } from '../../database/database.ts';

type Row = Capture & { orgId: string; id: string; tags: string[]; identity: Buffer };

/** The condition of the index binary_data_untold. */
const isUnseparated = sql<boolean>`binary_data.capture_tags is null and binary_data.identity is not null
  and binary_data.part_id is not null and binary_data.component_name <> '' and binary_data.tags <> '{}'`;

/**
 * Separates capture tags from labels in rows that were stored before `capture_tags` existed. Each row is written once,
 * so the migration can be interrupted at any time.
 *
 * @param among - condition of the rows; by default all rows.
 * @returns the number of migrated rows.
 */
export const separateCaptureTags = (
  db: Database,
  limit: number,
  among: RawBuilder<boolean> = sql<boolean>`true`,
): Promise<number> =>
  db.transaction().execute(async (trx) => separateRows(trx, await unseparatedRows(trx, limit, among)));

/** Like `tellCaptureTags`, for all rows that match, within a transaction. */
export async function separateCaptureTagsOf(trx: Database, among: RawBuilder<boolean>): Promise<void> {
  while ((await separateRows(trx, await unseparatedRows(trx, 1_000, among))) > 0);
}

/** Like `tellCaptureTags`, for the images of a dataset. */
export async function separateDatasetTags(db: Database, dataset: { orgId: string; id: string }): Promise<void> {
  const among = sql<boolean>`binary_data.org_id = ${dataset.orgId} and exists (select from dataset_member m
    where m.org_id = binary_data.org_id and m.binary_id = binary_data.id and m.dataset_id = ${dataset.id})`;
  while ((await separateCaptureTags(db, 1_000, among)) > 0);
}

async function unseparatedRows(trx: Database, limit: number, among: RawBuilder<boolean>): Promise<Row[]> {
  const { rows } = await sql<Row>`
    select org_id, id, part_id, component_type, component_name, method_name, file_name, sha256, tags, identity,
           (extract(epoch from time_requested) * 1000000)::bigint as time_requested_us
      from binary_data where ${isUnseparated} and ${among} order by org_id, id limit ${limit} for update`.execute(trx);
  return rows;
}

async function separateRows(trx: Database, rows: readonly Row[]): Promise<number> {
  if (rows.length === 0) return 0;
  const separated = rows.map((row) => ({
    org_id: row.orgId,
    id: row.id,
    capture_tags: provenCaptureTags(row, row.tags, row.identity),
  }));
  await sql`
    update binary_data set capture_tags = separated.capture_tags
      from jsonb_to_recordset(${JSON.stringify(separated)}::jsonb) as separated(org_id uuid, id uuid, capture_tags text[])
     where binary_data.org_id = separated.org_id and binary_data.id = separated.id`.execute(trx);
  return rows.length;
}
