import { type Selectable, sql } from 'kysely';
import { PlatformError } from '@platform/contract/errors/errors';
import type { Caller } from '../../access/rules/permissions.ts';
import { audit } from '../../access/store/audit.ts';
import { boundedList } from '../../database/bounded-list.ts';
import { at, type Database, sqlState, atUs } from '../../database/database.ts';
import type { DatasetRow } from '../../database/training-schema.ts';
import { boundsOf, byText } from '../../rpc/rules/answer-bounds.ts';
import type { DataPlace } from '../../rpc/rules/page-tokens.ts';
import { isUuid } from '@platform/contract/text/names';
import type { DatumKey } from './binary-data.ts';
import { countMembers } from './dataset-members.ts';
import { countSequences, mostSequences } from './sequences.ts';
import { invalidArgument } from '../../rpc/rules/invalid-argument.ts';

export type Dataset = Selectable<DatasetRow>;

const uniqueViolation = '23505';

async function refuseTaken<T>(name: string, write: Promise<T>): Promise<T> {
  try {
    return await write;
  } catch (error) {
    throw sqlState(error) === uniqueViolation ? new PlatformError('DATASET_NAME_TAKEN', { name }, error) : error;
  }
}

/** @throws PlatformError DATASET_NAME_TAKEN */
export async function createDataset(db: Database, dataset: Dataset): Promise<void> {
  const values = { ...dataset, createdOn: at(dataset.createdOn) };
  await refuseTaken(dataset.name, db.insertInto('dataset').values(values).execute());
}

/** Finds a dataset of any organization; the caller of this function must check rights. */
export const findDataset = async (db: Database, id: string): Promise<Dataset | undefined> =>
  isUuid(id) ? db.selectFrom('dataset').selectAll().where('id', '=', id).executeTakeFirst() : undefined;

export const findDatasets = async (db: Database, ids: readonly string[]): Promise<Dataset[]> => {
  const known = ids.filter(isUuid);
  return known.length === 0
    ? []
    : db.selectFrom('dataset').selectAll().where('id', 'in', known).orderBy('name').execute();
};

/** The newest datasets after a position, sorted by name. `next`: position of the oldest one, if there are more. */
export async function datasetsOf(
  db: Database,
  orgIds: readonly string[],
  { type, after, size }: { type?: Dataset['type']; after: DataPlace | undefined; size: number },
): Promise<{ rows: Dataset[]; next: DataPlace | undefined }> {
  if (orgIds.length === 0) return { rows: [], next: undefined };
  let query = db
    .selectFrom('dataset')
    .selectAll()
    .select(sql<number>`(extract(epoch from created_on) * 1000000)::bigint`.as('us'))
    .where('orgId', 'in', orgIds);
  if (type) query = query.where('type', '=', type);
  if (after) {
    const time = atUs(after.us);
    query = query.where(sql<boolean>`(created_on < ${time} or created_on = ${time} and id > ${after.id}::uuid)`);
  }
  const ordered = query.orderBy('createdOn', 'desc').orderBy('id');
  const { rows, isCut } = await boundedList<Dataset & { us: number }>(db, ordered, {
    ...boundsOf(size),
    atOnce: 1_000,
  });
  const last = rows.at(-1);
  return {
    rows: rows.toSorted((a, b) => byText(a.name, b.name)),
    next: isCut && last ? { us: last.us, id: last.id } : undefined,
  };
}

/** @throws PlatformError DATASET_NAME_TAKEN */
export async function renameDataset(db: Database, { orgId, id }: Dataset, name: string): Promise<void> {
  const write = db.updateTable('dataset').set({ name }).where('orgId', '=', orgId).where('id', '=', id).execute();
  await refuseTaken(name, write);
}

/** Deletes a dataset; its data stay. */
export const deleteDataset = (db: Database, { orgId, id, name }: Dataset, caller: Caller): Promise<void> =>
  db.transaction().execute(async (trx) => {
    const members = (await countMembers(trx, { orgId, id })) + (await countSequences(trx, { orgId, id }));
    const done = await trx.deleteFrom('dataset').where('orgId', '=', orgId).where('id', '=', id).executeTakeFirst();
    if (done.numDeletedRows === 0n) return;
    await audit(trx, { orgId, caller, action: 'delete dataset', subject: id, details: { name, members } });
  });

/** Adds data to a dataset of the same organization; existing members stay. */
export async function addMembers(
  db: Database,
  { orgId, id }: Pick<Dataset, 'orgId' | 'id'>,
  keys: readonly DatumKey[],
): Promise<void> {
  if (keys.length === 0) return;
  await sql`
    insert into dataset_member (org_id, dataset_id, binary_id)
    select ${orgId}::uuid, ${id}::uuid, binary_id from unnest(${keys.map((key) => key.id)}::uuid[]) binary_id
        on conflict do nothing`.execute(db);
}

export async function removeMembers(
  db: Database,
  { orgId, id }: Pick<Dataset, 'orgId' | 'id'>,
  keys: readonly DatumKey[],
): Promise<void> {
  await sql`
    delete from dataset_member where org_id = ${orgId} and dataset_id = ${id}
       and binary_id = any(${keys.map((key) => key.id)}::uuid[])`.execute(db);
}

/** Creates a dataset with the members of all `from`. @throws PlatformError DATASET_NAME_TAKEN, INVALID_ARGUMENT */
export const mergeDatasets = (db: Database, into: Dataset, from: readonly Dataset[]): Promise<void> =>
  db.transaction().execute(async (trx) => {
    await createDataset(trx, into);
    const ids = from.map((dataset) => dataset.id);
    await sql`
      insert into sequence_member (org_id, dataset_id, sequence_id)
      select distinct org_id, ${into.id}::uuid, sequence_id from sequence_member
       where org_id = ${into.orgId} and dataset_id = any(${ids}::uuid[])`.execute(trx);
    const sequences = await countSequences(trx, into);
    if (sequences > mostSequences)
      throw invalidArgument('dataset_ids', `${sequences} sequences`, `at most ${mostSequences} in one dataset`);
    await sql`
      insert into dataset_member (org_id, dataset_id, binary_id)
      select distinct org_id, ${into.id}::uuid, binary_id from dataset_member
       where org_id = ${into.orgId} and dataset_id = any(${ids}::uuid[])`.execute(trx);
  });
