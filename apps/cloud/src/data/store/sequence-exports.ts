import { randomUUID } from 'node:crypto';
import { type RawBuilder, type Selectable, sql } from 'kysely';
import type { StoredBlob } from '../../blobs/blob-store.ts';
import { noteForeignBlob } from '../../blobs/store/owned-blobs.ts';
import { at, type Database, atUs } from '../../database/database.ts';
import type { SequenceExportRow } from '../../database/training-schema.ts';
import { isUuid } from '@platform/contract/text/names';
import type { DatasetKey } from './dataset-members.ts';
import { inSequence, type Sequence } from './sequences.ts';

export type SequenceExport = Selectable<SequenceExportRow>;

/** Starts an export of the dataset, or finds the running one. @returns its ID. */
export const startExport = (db: Database, dataset: DatasetKey, now: number): Promise<string> =>
  db.transaction().execute(async (trx) => {
    // Waits for running deletions, which do not see this export and could not end it.
    await sql`select from organization where id = ${dataset.orgId} for share`.execute(trx);
    const { rows } = await sql<{ id: string }>`
      insert into sequence_export (org_id, id, dataset_id, state, created_on)
      values (${dataset.orgId}, ${randomUUID()}, ${dataset.id}, 'running', ${at(now)})
      on conflict (org_id, dataset_id) where state = 'running' do update set state = excluded.state
      returning id`.execute(trx);
    return rows[0]?.id ?? '';
  });

export const findExport = async (db: Database, id: string): Promise<SequenceExport | undefined> =>
  isUuid(id) ? db.selectFrom('sequenceExport').selectAll().where('id', '=', id).executeTakeFirst() : undefined;

/** Takes the oldest running export and counts the attempt. An export of a server that stopped is restarted. */
export async function nextExport(db: Database): Promise<SequenceExport | undefined> {
  const { rows } = await sql<SequenceExport>`
    update sequence_export set attempts = attempts + 1
     where id = (select id from sequence_export where state = 'running' order by attempts, created_on limit 1)
    returning *`.execute(db);
  return rows[0];
}

/** Reverts the count of an attempt that ended because the server stopped. */
export async function uncountAttempt(db: Database, id: string): Promise<void> {
  await sql`update sequence_export set attempts = attempts - 1 where id = ${id} and attempts > 0`.execute(db);
}

/**
 * Has no effect if the export, its dataset or its source data were deleted meanwhile. @returns whether it completed.
 */
export const completeExport = (
  db: Database,
  { orgId, id }: SequenceExport,
  file: StoredBlob,
  now: number,
): Promise<boolean> =>
  db.transaction().execute(async (trx) => {
    const { numUpdatedRows } = await trx
      .updateTable('sequenceExport')
      .set({ state: 'completed', fileSha256: file.sha256, sizeBytes: file.sizeBytes, completedOn: at(now) })
      .where((eb) => eb.and({ orgId, id, state: 'running' }))
      .executeTakeFirst();
    if (numUpdatedRows === 0n) return false;
    await noteForeignBlob(trx, orgId, file);
    return true;
  });

export async function failExport(db: Database, id: string, errorMessage: string, now: number): Promise<void> {
  await db
    .updateTable('sequenceExport')
    .set({ state: 'failed', errorMessage, completedOn: at(now) })
    .where((eb) => eb.and({ id, state: 'running' }))
    .execute();
}

/**
 * Ends all exports of these organizations, so that none contains deleted data. Call it in the transaction that deletes
 * captured data.
 */
export async function endExports(trx: Database, orgIds: readonly string[]): Promise<void> {
  await sql`select from organization where id = any(${orgIds}::uuid[]) order by id for no key update`.execute(trx);
  await sql`
    update sequence_export set state = 'failed', file_sha256 = null, size_bytes = null,
           completed_on = coalesce(completed_on, now()),
           error_message = 'Captured data were deleted after this export began. Start the export again.'
     where org_id = any(${orgIds}::uuid[]) and state <> 'failed'`.execute(trx);
}

/** Removes exports that ended before `before`. @returns their number; no row references their files then. */
export async function removeOldExports(db: Database, before: number, limit: number): Promise<number> {
  const { numAffectedRows } = await sql`delete from sequence_export where id in (
    select id from sequence_export where completed_on < ${at(before)} limit ${limit})`.execute(db);
  return Number(numAffectedRows ?? 0n);
}

/** A row that a sequence covers: a reading with its payload, or the names of an image or file. */
export type CoveredRow = {
  kind: 'tabular' | 'binary';
  id: string;
  locationId: string;
  machineId: string | null;
  machineName: string;
  partName: string;
  componentType: string;
  componentName: string;
  methodName: string;
  timeRequestedUs: number;
  timeReceivedUs: number;
  tags: string[];
  /** JSON text. */
  payload: string | null;
  fileName: string | null;
  mimeType: string | null;
  sizeBytes: number | null;
  sha256: string | null;
};

/** The next rows of a sequence, oldest first. */
export async function coveredRows(
  db: Database,
  of: Sequence,
  { after, limit }: { after: CoveredRow | undefined; limit: number },
): Promise<CoveredRow[]> {
  const part = (table: 'binary_data' | 'tabular_data', kind: string, own: RawBuilder<unknown>) => {
    const beyond = after
      ? sql`(time_requested, id) > (${atUs(after.timeRequestedUs)}, ${after.id}::uuid)`
      : sql<boolean>`true`;
    return sql`(select ${sql.lit(kind)} as kind, id, location_id, machine_id, machine_name, part_name, component_type,
        component_name, method_name, (extract(epoch from time_requested) * 1000000)::bigint as time_requested_us,
        (extract(epoch from time_received) * 1000000)::bigint as time_received_us, tags, ${own}
      from ${sql.table(table)} where ${inSequence(table, of)} and ${beyond} order by time_requested, id limit ${limit})`;
  };
  const readings = sql`payload::text as payload, null::text as file_name, null::text as mime_type,
    null::bigint as size_bytes, null::text as sha256`;
  const files = sql`null::text as payload, file_name, mime_type, size_bytes, sha256`;
  const { rows } = await sql<CoveredRow>`
    ${part('tabular_data', 'tabular', readings)} union all ${part('binary_data', 'binary', files)}
    order by time_requested_us, id limit ${limit}`.execute(db);
  return rows;
}
