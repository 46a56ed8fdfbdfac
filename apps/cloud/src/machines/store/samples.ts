import { createHash } from 'node:crypto';
import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { sql } from 'kysely';
import { type SampleBatch, SampleBatchSchema } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { at, type Database, type Trx } from '../../database/database.ts';
import { dayOf } from '../../database/rules/days.ts';
import {
  mostSamplesPerDay,
  newSamples,
  numberedSamples,
  type SampleRun,
  type SampleState,
  spanOf,
} from '../rules/samples.ts';

export type NewSamples = { partId: string; batch: SampleBatch };

/** What is stored of one spool of a part: rows that a batch may repeat. */
type StoredSpool = {
  runs: SampleRun[];
  /** Highest stored sequence; 0: none. */
  highest: number;
};

type SampleRow = { partId: string; spool: string } & SampleRun;

/**
 * Stores the samples that are new. A sample is named by its spool and sequence for as long as it is stored: a machine
 * whose folder was copied, or put back, sends earlier ones again. Ignores samples of a deleted part.
 *
 * @param day - on which they arrive; its partition must exist.
 */
export async function saveSamples(db: Database, all: readonly NewSamples[], day: string): Promise<void> {
  // Sorted by ID, so that two writers cannot deadlock.
  const ids = [...new Set(all.map(({ partId }) => partId))].toSorted();
  await db.transaction().execute(async (trx) => {
    await sql`insert into part_sample_state (part_id) select id from part where id = any(${ids}::uuid[]) order by id
      on conflict do nothing`.execute(trx);
    const { rows: known } = await sql<SampleState & { partId: string }>`
      select part_id, spool_id, last_sequence, case when day = current_date then day_count else 0 end as day_count
        from part_sample_state where part_id = any(${ids}::uuid[]) order by part_id for update`.execute(trx);
    const states = new Map(known.map(({ partId, ...state }) => [partId, state]));
    const stored = await readStored(trx, all, states);
    const rows: SampleRow[] = [];
    const different = new Map<string, number>();
    for (const { partId, batch } of all) {
      const state = states.get(partId);
      const samples = numberedSamples(batch);
      if (!state || !samples) continue;
      const key = keyOf({ partId, batch });
      const spool = stored.get(key) ?? { runs: [], highest: 0 };
      const isCurrent = batch.spoolId === state.spoolId;
      const found = newSamples(samples, spool.runs, mostSamplesPerDay - state.dayCount);
      if (found.runs.length === 0) continue;
      const last = samples.at(-1)!.sequence;
      stored.set(key, { runs: [...spool.runs, ...found.runs], highest: Math.max(spool.highest, last) });
      rows.push(...found.runs.map((run) => ({ partId, spool: spoolOf(batch), ...run })));
      if (found.different > 0) different.set(partId, (different.get(partId) ?? 0) + found.different);
      states.set(partId, {
        spoolId: batch.spoolId,
        lastSequence: Math.max(isCurrent ? state.lastSequence : 0, spool.highest, last),
        dayCount: state.dayCount + found.runs.reduce((sum, run) => sum + run.batch.samples.length, 0),
      });
    }
    if (rows.length === 0) return;
    await insertRows(trx, rows, day);
    await saveStates(trx, new Set(rows.map(({ partId }) => partId)), states);
    for (const [partId, samples] of different) await countDifferent(trx, partId, samples);
  });
}

const spoolOf = ({ spoolId }: SampleBatch): string =>
  createHash('sha256').update(spoolId).digest().readBigInt64BE().toString();

const keyOf = ({ partId, batch }: NewSamples): string => `${partId} ${spoolOf(batch)}`;

/** More rows than a batch has samples: a machine that sends others without end must not have the server read them all. */
const mostCompared = 2_000;

/** What is stored of the spools of these batches. A batch that goes on after the last one of its part needs nothing. */
async function readStored(
  trx: Trx,
  all: readonly NewSamples[],
  states: ReadonlyMap<string, SampleState>,
): Promise<Map<string, StoredSpool>> {
  const isNext = ({ partId, batch }: NewSamples): boolean => {
    const state = states.get(partId);
    return batch.spoolId === state?.spoolId && Number(batch.firstSequence) > state.lastSequence;
  };
  const found = new Map<string, StoredSpool>();
  const unsure = all.filter((one) => !isNext(one) && numberedSamples(one.batch));
  if (unsure.length === 0) return found;
  for (const one of unsure) found.set(keyOf(one), { runs: [], highest: 0 });
  const asked = sql`unnest(${unsure.map(({ partId }) => partId)}::uuid[],
    ${unsure.map(({ batch }) => spoolOf(batch))}::bigint[],
    ${unsure.map(({ batch }) => Number(batch.firstSequence))}::bigint[],
    ${unsure.map(({ batch }) => Number(batch.firstSequence) + batch.samples.length - 1)}::bigint[])
    as new(part_id, spool, first, last)`;
  const { rows: spools } = await sql<{ partId: string; spool: string; highest: number }>`
    select part_id, spool::text as spool, (select max(last_sequence) from part_sample old
        where old.part_id = new.part_id and old.spool = new.spool) as highest
      from (select distinct part_id, spool from ${asked}) new`.execute(trx);
  for (const { partId, spool, highest } of spools)
    found.set(`${partId} ${spool}`, { runs: [], highest: Number(highest ?? 0) });
  const { rows } = await sql<Omit<SampleRow, 'batch'> & { batch: Buffer }>`
    select new.part_id, new.spool::text as spool, old.first_sequence, old.last_sequence, old.batch
      from ${asked} cross join lateral (
        select first_sequence, last_sequence, batch from part_sample same
         where same.part_id = new.part_id and same.spool = new.spool and same.last_sequence >= new.first
           and same.first_sequence <= new.last limit ${mostCompared}) old`.execute(trx);
  for (const { partId, spool, firstSequence, lastSequence, batch } of rows)
    found.get(`${partId} ${spool}`)?.runs.push({
      firstSequence: Number(firstSequence),
      lastSequence: Number(lastSequence),
      batch: fromBinary(SampleBatchSchema, batch),
    });
  return found;
}

async function insertRows(trx: Trx, rows: readonly SampleRow[], day: string): Promise<void> {
  const spans = rows.map(({ batch }) => spanOf(batch));
  await sql`insert into part_sample (part_id, day, spool, first_sequence, last_sequence, first_time, last_time, batch)
    select id, ${day}::date, spool, first_sequence, last_sequence, to_timestamp(first), to_timestamp(last), batch
      from unnest(${rows.map((row) => row.partId)}::uuid[], ${rows.map((row) => row.spool)}::bigint[],
        ${rows.map((row) => row.firstSequence)}::bigint[], ${rows.map((row) => row.lastSequence)}::bigint[],
        ${spans.map((span) => span.firstTime)}::double precision[],
        ${spans.map((span) => span.lastTime)}::double precision[],
        ${rows.map((row) => Buffer.from(toBinary(SampleBatchSchema, row.batch)))}::bytea[])
        new(id, spool, first_sequence, last_sequence, first, last, batch)`.execute(trx);
}

async function saveStates(
  trx: Trx,
  partIds: ReadonlySet<string>,
  states: ReadonlyMap<string, SampleState>,
): Promise<void> {
  const changed = [...partIds].map((partId) => ({ partId, ...states.get(partId)! }));
  await sql`update part_sample_state state set spool_id = new.spool, last_sequence = new.last, day = current_date,
      day_count = new.count
    from unnest(${changed.map((row) => row.partId)}::uuid[], ${changed.map((row) => row.spoolId)}::text[],
      ${changed.map((row) => row.lastSequence)}::bigint[], ${changed.map((row) => row.dayCount)}::integer[])
      new(id, spool, last, count) where state.part_id = new.id`.execute(trx);
}

const countDifferent = (trx: Trx, partId: string, samples: number): Promise<unknown> =>
  trx
    .updateTable('part')
    .set((eb) => ({ repeatedSamples: eb('repeatedSamples', '+', samples), repeatedSamplesOn: sql<number>`now()` }))
    .where('id', '=', partId)
    .execute();

/** How far the clock of a machine may be ahead. */
const skewMs = 24 * 3_600_000;

/** More than a machine that sends each sample alone makes in a month. */
const mostBatches = 50_000;

/**
 * Batches with samples of a span, in ms since 1970, the newest first. Samples arrive after they were made, so the days
 * before the span are not read, except one.
 */
export async function readSamples(
  db: Database,
  partId: string,
  { from, until }: { from: number; until: number },
): Promise<SampleBatch[]> {
  const { rows } = await sql<{ batch: Buffer }>`
    select batch from part_sample
      where part_id = ${partId} and last_time >= ${at(from)} and first_time <= ${at(until)}
        and day >= ${dayOf(Math.max(0, from - skewMs))}::date
      order by last_time desc limit ${mostBatches}`.execute(db);
  return rows.map(({ batch }) => fromBinary(SampleBatchSchema, batch));
}
