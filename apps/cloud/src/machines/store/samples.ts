import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { sql } from 'kysely';
import { type SampleBatch, SampleBatchSchema } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { at, type Database } from '../../database/database.ts';
import { newSamples, type SampleState } from '../rules/samples.ts';

export type NewSamples = { partId: string; batch: SampleBatch };

/** Stores the samples that are new. Ignores those of a deleted part. */
export async function saveSamples(db: Database, all: readonly NewSamples[]): Promise<void> {
  // Sorted by ID, so that two writers cannot deadlock.
  const ids = [...new Set(all.map(({ partId }) => partId))].toSorted();
  await db.transaction().execute(async (trx) => {
    await sql`insert into part_sample_state (part_id) select id from part where id = any(${ids}::uuid[]) order by id
      on conflict do nothing`.execute(trx);
    const { rows: known } = await sql<SampleState & { partId: string }>`
      select part_id, spool_id, last_sequence, case when day = current_date then day_count else 0 end as day_count
        from part_sample_state where part_id = any(${ids}::uuid[]) order by part_id for update`.execute(trx);
    const states = new Map(known.map(({ partId, ...state }) => [partId, state]));
    const rows: { partId: string; firstTime: number; lastTime: number; batch: Buffer }[] = [];
    for (const { partId, batch } of all) {
      const state = states.get(partId);
      const found = state && newSamples(batch, state);
      if (!found) continue;
      const { firstTime, lastTime, lastSequence } = found;
      rows.push({ partId, firstTime, lastTime, batch: Buffer.from(toBinary(SampleBatchSchema, found.batch)) });
      states.set(partId, {
        spoolId: batch.spoolId,
        lastSequence,
        dayCount: state.dayCount + found.batch.samples.length,
      });
    }
    if (rows.length === 0) return;
    await sql`insert into part_sample (part_id, first_time, last_time, batch)
      select id, to_timestamp(first), to_timestamp(last), batch from unnest(${rows.map((row) => row.partId)}::uuid[],
        ${rows.map((row) => row.firstTime)}::double precision[], ${rows.map((row) => row.lastTime)}::double precision[],
        ${rows.map((row) => row.batch)}::bytea[]) new(id, first, last, batch)`.execute(trx);
    const changed = [...new Set(rows.map(({ partId }) => partId))].map((partId) => ({
      partId,
      ...states.get(partId)!,
    }));
    await sql`update part_sample_state state set spool_id = new.spool, last_sequence = new.last, day = current_date,
        day_count = new.count
      from unnest(${changed.map((row) => row.partId)}::uuid[], ${changed.map((row) => row.spoolId)}::text[],
        ${changed.map((row) => row.lastSequence)}::bigint[], ${changed.map((row) => row.dayCount)}::integer[])
        new(id, spool, last, count) where state.part_id = new.id`.execute(trx);
  });
}

/** More than a machine that sends each sample alone makes in a month. */
const mostBatches = 50_000;

/** Batches with samples of a span, in ms since 1970, the newest first. */
export async function readSamples(
  db: Database,
  partId: string,
  { from, until }: { from: number; until: number },
): Promise<SampleBatch[]> {
  const { rows } = await sql<{ batch: Buffer }>`
    select batch from part_sample
      where part_id = ${partId} and last_time >= ${at(from)} and first_time <= ${at(until)}
      order by last_time desc limit ${mostBatches}`.execute(db);
  return rows.map(({ batch }) => fromBinary(SampleBatchSchema, batch));
}

/** Deletes batches that were stored before `before` (ms since 1970), at most `limit`. @returns their number. */
export async function removeOldSamples(db: Database, before: number, limit: number): Promise<number> {
  const { numAffectedRows } = await sql`delete from part_sample where ctid = any(array(
    select ctid from part_sample where stored_on < ${at(before)} order by stored_on limit ${limit}))`.execute(db);
  return Number(numAffectedRows ?? 0n);
}
