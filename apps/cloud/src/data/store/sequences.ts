import { type RawBuilder, sql } from 'kysely';
import { PlatformError } from '@platform/contract/errors/errors';
import type { Caller } from '../../access/rules/permissions.ts';
import { audit } from '../../access/store/audit.ts';
import { boundedList } from '../../database/bounded-list.ts';
import { type Database, atUs } from '../../database/database.ts';
import { type Bounded, pageBytes, readBounded } from '../../rpc/rules/answer-bounds.ts';
import type { DataPlace } from '../../rpc/rules/page-tokens.ts';
import type { SequenceRow } from '../../database/training-schema.ts';
import { isUuid } from '@platform/contract/text/names';
import { data, type FullDatum } from './binary-data.ts';
import type { DatasetKey } from './dataset-members.ts';
import { invalidArgument } from '../../rpc/rules/invalid-argument.ts';

/** Captures of resources of a machine part from `startUs` (inclusive) to `endUs` (exclusive), in µs since 1970. */
export type Sequence = Omit<SequenceRow, 'startTime' | 'endTime' | 'createdOn' | 'updatedOn'> & {
  startUs: number;
  endUs: number;
};
export type StoredSequence = Sequence & { createdUs: number; updatedUs: number; datasetIds: string[] };

/** Limit of the sequences in a dataset, so that an export of it ends. */
export const mostSequences = 10_000;

const us = (column: string): RawBuilder<number> =>
  sql<number>`(extract(epoch from ${sql.ref(`sequence.${column}`)}) * 1000000)::bigint`;

const sequences = (db: Database) =>
  db.selectFrom('sequence').select([
    'sequence.orgId',
    'sequence.id',
    'sequence.partId',
    'sequence.resourceNames',
    'sequence.methodNames',
    'sequence.tags',
    us('start_time').as('startUs'),
    us('end_time').as('endUs'),
    us('created_on').as('createdUs'),
    us('updated_on').as('updatedUs'),
    sql<string[]>`(select coalesce(jsonb_agg(m.dataset_id order by m.dataset_id), '[]') from sequence_member m
        where m.org_id = sequence.org_id and m.sequence_id = sequence.id)`.as('datasetIds'),
  ]);

export async function insertSequence(db: Database, of: Sequence): Promise<void> {
  await sql`
    insert into sequence (org_id, id, part_id, resource_names, method_names, tags, start_time, end_time)
    values (${of.orgId}, ${of.id}, ${of.partId}, ${of.resourceNames}::text[], ${of.methodNames}::text[], ${of.tags}::text[],
            ${atUs(of.startUs)}, ${atUs(of.endUs)})`.execute(db);
}

/** Finds a sequence of any organization; the caller of this function must check rights. */
export const findSequence = async (db: Database, id: string): Promise<StoredSequence | undefined> =>
  isUuid(id) ? sequences(db).where('sequence.id', '=', id).executeTakeFirst() : undefined;

/**
 * Locks the sequence and writes the result of `change`.
 *
 * @throws PlatformError SEQUENCE_NOT_FOUND if it was deleted meanwhile; errors of `change`.
 */
export const updateSequence = (
  db: Database,
  { orgId, id }: Pick<Sequence, 'orgId' | 'id'>,
  change: (before: Sequence) => Sequence,
): Promise<void> =>
  db.transaction().execute(async (trx) => {
    const before = await sequences(trx)
      .where((eb) => eb.and({ 'sequence.orgId': orgId, 'sequence.id': id }))
      .forUpdate()
      .executeTakeFirst();
    if (!before) throw new PlatformError('SEQUENCE_NOT_FOUND', { sequenceId: id });
    const of = change(before);
    await sql`
      update sequence set resource_names = ${of.resourceNames}::text[], method_names = ${of.methodNames}::text[],
             tags = ${of.tags}::text[], start_time = ${atUs(of.startUs)}, end_time = ${atUs(of.endUs)}, updated_on = now()
       where org_id = ${orgId} and id = ${id}`.execute(trx);
  });

/** Deletes a sequence; the captured data stay. */
export const deleteSequence = (db: Database, of: StoredSequence, caller: Caller): Promise<void> =>
  db.transaction().execute(async (trx) => {
    const { orgId, id, partId, tags, datasetIds } = of;
    const done = await trx.deleteFrom('sequence').where('orgId', '=', orgId).where('id', '=', id).executeTakeFirst();
    if (done.numDeletedRows === 0n) return;
    const details = { partId, tags, datasets: datasetIds.length };
    await audit(trx, { orgId, caller, action: 'delete sequence', subject: id, details });
  });

/** Newest first, after a position. `datasetId`: only members of this dataset. */
export async function sequencesOf(
  db: Database,
  { orgId, datasetId }: { orgId: string; datasetId?: string },
  { after, size }: { after: DataPlace | undefined; size: number },
): Promise<{ rows: StoredSequence[]; next: DataPlace | undefined }> {
  let query = sequences(db).where('sequence.orgId', '=', orgId);
  if (datasetId !== undefined)
    query = query.where(
      sql<boolean>`exists (select from sequence_member m where m.org_id = sequence.org_id
        and m.sequence_id = sequence.id and m.dataset_id = ${datasetId})`,
    );
  if (after) {
    const time = atUs(after.us);
    query = query.where(
      sql<boolean>`(sequence.created_on < ${time} or sequence.created_on = ${time} and sequence.id > ${after.id}::uuid)`,
    );
  }
  const ordered = query.orderBy('sequence.createdOn', 'desc').orderBy('sequence.id');
  const { rows, isCut } = await boundedList<StoredSequence>(db, ordered, { rows: size, bytes: pageBytes, atOnce: 100 });
  const last = rows.at(-1);
  return { rows, next: isCut && last ? { us: last.createdUs, id: last.id } : undefined };
}

export const countSequences = async (db: Database, { orgId, id }: DatasetKey): Promise<number> => {
  const { count } = await db
    .selectFrom('sequenceMember')
    .select(sql<number>`count(*)::bigint`.as('count'))
    .where((eb) => eb.and({ orgId, datasetId: id }))
    .executeTakeFirstOrThrow();
  return count;
};

/**
 * Adds sequences to a dataset; existing members stay. @throws PlatformError SEQUENCE_NOT_FOUND, INVALID_ARGUMENT:
 * nothing was added.
 */
export const addSequences = (db: Database, { orgId, id }: DatasetKey, sequenceIds: readonly string[]): Promise<void> =>
  db.transaction().execute(async (trx) => {
    await sql`select from dataset where org_id = ${orgId} and id = ${id} for update`.execute(trx);
    const known = await trx
      .selectFrom('sequence')
      .select('id')
      .where('orgId', '=', orgId)
      .where(sql<boolean>`id = any(${sequenceIds.filter(isUuid)}::uuid[])`)
      .forKeyShare()
      .execute();
    const found = new Set(known.map((one) => one.id));
    const absent = sequenceIds.find((one) => !found.has(one.toLowerCase()));
    if (absent !== undefined) throw new PlatformError('SEQUENCE_NOT_FOUND', { sequenceId: absent });
    await sql`
      insert into sequence_member (org_id, dataset_id, sequence_id)
      select ${orgId}::uuid, ${id}::uuid, one from unnest(${[...found]}::uuid[]) one on conflict do nothing`.execute(
      trx,
    );
    const count = await countSequences(trx, { orgId, id });
    if (count > mostSequences)
      throw invalidArgument('sequence_ids', `${count} sequences`, `at most ${mostSequences} in one dataset`);
  });

export async function removeSequences(
  db: Database,
  { orgId, id }: DatasetKey,
  sequenceIds: readonly string[],
): Promise<void> {
  await sql`
    delete from sequence_member where org_id = ${orgId} and dataset_id = ${id}
       and sequence_id = any(${sequenceIds.filter(isUuid)}::uuid[])`.execute(db);
}

/** SQL condition: a row of `table` belongs to the sequence. */
export const inSequence = (table: 'binary_data' | 'tabular_data', of: Sequence): RawBuilder<boolean> => {
  const column = (name: string) => sql.ref(`${table}.${name}`);
  return sql<boolean>`(${column('org_id')} = ${of.orgId} and ${column('part_id')} = ${of.partId}
    and ${column('time_requested')} >= ${atUs(of.startUs)} and ${column('time_requested')} < ${atUs(of.endUs)}
    and exists (select from unnest(${of.resourceNames}::text[], ${of.methodNames}::text[]) resource(name, method)
      where ${column('component_name')} = resource.name and resource.method in ('', ${column('method_name')})))`;
};

/** Images and files of a sequence, oldest first. */
export const sequenceData = (
  db: Database,
  of: Sequence,
  page: { after: DataPlace | undefined; size: number },
): Promise<Bounded<FullDatum>> =>
  readBounded<FullDatum>({ rows: page.size, bytes: pageBytes, atOnce: 100 }, (end, limit) => {
    const after = end ? { us: end.timeRequestedUs, id: end.id } : page.after;
    const matching = data(db).where(inSequence('binary_data', of));
    const rest = after
      ? matching.where(
          sql<boolean>`(binary_data.time_requested, binary_data.id) > (${atUs(after.us)}, ${after.id}::uuid)`,
        )
      : matching;
    return rest.orderBy('binaryData.timeRequested').orderBy('binaryData.id').limit(limit).execute();
  });
