import { randomUUID } from 'node:crypto';
import { type RawBuilder, sql } from 'kysely';
import type { Caller } from '../../access/rules/permissions.ts';
import { audit } from '../../access/store/audit.ts';
import { endUploads } from '../../blobs/store/owned-blobs.ts';
import type { Database, Trx } from '../../database/database.ts';
import type { JsonObject } from '../../database/schema.ts';
import { labelsOf } from '../rules/dataset-rules.ts';
import type { Box } from '../rules/manifest.ts';
import type { DatumKey } from './binary-data.ts';
import { endExports } from './sequence-exports.ts';

const among = (keys: readonly DatumKey[]): RawBuilder<boolean> =>
  sql<boolean>`(binary_data.org_id, binary_data.id) in (select * from unnest(
    ${keys.map((key) => key.orgId)}::uuid[], ${keys.map((key) => key.id)}::uuid[]))`;

/** Locks rows in one order, so that two edits of the same data cannot deadlock. */
export const lockData = (trx: Trx, keys: readonly DatumKey[]): Promise<unknown> =>
  sql`select from binary_data where ${among(keys)} order by org_id, id for update`.execute(trx);

/** Appends new tags, each once. A tag that a user adds is a label, even if it also came with the capture. */
export const addTags = (db: Database, keys: readonly DatumKey[], tags: readonly string[]): Promise<void> =>
  db.transaction().execute(async (trx) => {
    await lockData(trx, keys);
    await addTagsTo(trx, keys, tags);
  });

/** How a call changes the labels of images: what each must have before, what it loses and what it gets. */
export interface LabelChange {
  readonly add: readonly string[];
  readonly remove: readonly string[];
  /** Undefined: any labels. */
  readonly expected: readonly string[] | undefined;
}

/**
 * Changes labels in one transaction. An image that has the resulting labels already does not conflict, so that the change
 * can be repeated.
 *
 * @returns the first image whose labels are others than expected; then nothing was changed.
 */
export const changeLabels = (
  db: Database,
  keys: readonly DatumKey[],
  { add, remove, expected }: LabelChange,
): Promise<{ id: string; labels: string[] } | undefined> =>
  db.transaction().execute(async (trx) => {
    await lockData(trx, keys);
    const conflict =
      expected && findConflict(await lockedLabels(trx, keys), expected, labelsAfter(expected, { add, remove }));
    if (conflict) return conflict;
    const kept = new Set(add);
    const removed = remove.filter((label) => !kept.has(label));
    await removeTagsFrom(trx, keys, removed);
    await removeClassifications(trx, keys, removed);
    await addTagsTo(trx, keys, add);
    return undefined;
  });

interface ImageLabels {
  readonly id: string;
  readonly labels: string[];
}

const isSameSet = (labels: readonly string[], wanted: ReadonlySet<string>): boolean =>
  labels.length === wanted.size && labels.every((label) => wanted.has(label));

function labelsAfter(before: readonly string[], { add, remove }: Pick<LabelChange, 'add' | 'remove'>): Set<string> {
  const removed = new Set(remove);
  return new Set([...before.filter((label) => !removed.has(label)), ...add]);
}

const findConflict = (
  images: readonly ImageLabels[],
  expected: readonly string[],
  result: ReadonlySet<string>,
): ImageLabels | undefined => {
  const before = new Set(expected);
  return images.find(({ labels }) => !isSameSet(labels, before) && !isSameSet(labels, result));
};

/** The labels of locked images: tags and classifications. */
async function lockedLabels(trx: Trx, keys: readonly DatumKey[]): Promise<ImageLabels[]> {
  const { rows } = await sql<{ id: string; tags: string[]; captureTags: string[]; predicted: string[] }>`
    select id, tags, capture_tags, array(
             select c.label from classification c
              where c.org_id = binary_data.org_id and c.binary_id = binary_data.id) as predicted
      from binary_data where ${among(keys)} order by org_id, id`.execute(trx);
  return rows.map(({ id, tags, captureTags, predicted }) => ({
    id,
    labels: labelsOf({ tags, captureTags, classifications: predicted.map((label) => ({ label })) }),
  }));
}

/** @returns the number of removed ones. */
async function removeClassifications(trx: Trx, keys: readonly DatumKey[], labels: readonly string[]): Promise<number> {
  const gone = await sql`
    delete from classification using binary_data
     where ${among(keys)} and classification.org_id = binary_data.org_id
       and classification.binary_id = binary_data.id and classification.label = any(${labels}::text[])`.execute(trx);
  return Number(gone.numAffectedRows ?? 0n);
}

/** Like `addTags`, for locked data. */
export async function addTagsTo(trx: Trx, keys: readonly DatumKey[], tags: readonly string[]): Promise<void> {
  const added = [...new Set(tags)];
  await sql`
    update binary_data set tags = tags || array(
             select tag from unnest(${added}::text[]) with ordinality given(tag, place)
              where tag <> all(tags) order by place),
           capture_tags = array(select tag from unnest(capture_tags) tag where tag <> all(${added}::text[]))
     where ${among(keys)} and (not tags @> ${added}::text[] or capture_tags && ${added}::text[])`.execute(trx);
}

/** Removes a tag whether it was a label or came with the capture. */
const removeTagsFrom = (trx: Trx, keys: readonly DatumKey[], tags: readonly string[]) =>
  sql<{ removed: number }>`
  with before as (
    select org_id, id, tags from binary_data where ${among(keys)} and tags && ${tags}::text[]
  ), done as (
    update binary_data set tags = array(
             select tag from unnest(binary_data.tags) with ordinality had(tag, place)
              where tag <> all(${tags}::text[]) order by place),
           capture_tags = array(select tag from unnest(capture_tags) tag where tag <> all(${tags}::text[]))
      from before where before.org_id = binary_data.org_id and before.id = binary_data.id
    returning cardinality(before.tags) - cardinality(binary_data.tags) as removed
  )
  select coalesce(sum(removed), 0)::bigint as removed from done`.execute(trx);

/** Removes tags of locked data, for example a `split:` tag that another one replaces. */
export async function dropTags(trx: Trx, keys: readonly DatumKey[], tags: readonly string[]): Promise<void> {
  await removeTagsFrom(trx, keys, tags);
}

/**
 * @returns the number of removed tags over all data; with `classifications`, also of classifications with these labels.
 */
export const removeTags = (
  db: Database,
  keys: readonly DatumKey[],
  tags: readonly string[],
  { classifications }: { classifications: boolean },
): Promise<number> =>
  db.transaction().execute(async (trx) => {
    await lockData(trx, keys);
    const { rows } = await removeTagsFrom(trx, keys, tags);
    const removed = rows[0]?.removed ?? 0;
    if (!classifications) return removed;
    return removed + (await removeClassifications(trx, keys, tags));
  });

/** The caller who deletes, and the request for the audit log. */
export type Deletion = { caller: Caller; request: JsonObject };

/**
 * Deletes data, also from every dataset. Frozen datasets stay; the bytes stay until a sweep. One audit entry per
 * organization, in the same transaction.
 *
 * @returns the number of deleted data.
 */
export const deleteData = (db: Database, keys: readonly DatumKey[], by: Deletion): Promise<number> =>
  db.transaction().execute(async (trx) => {
    await lockData(trx, keys);
    const { rows } = await sql<{ orgId: string; count: number; sizeBytes: number; sha256s: string[] }>`
      with gone as (delete from binary_data where ${among(keys)} returning org_id, size_bytes, sha256)
      select org_id, count(*)::bigint as count, sum(size_bytes)::bigint as size_bytes,
             array_agg(distinct sha256) as sha256s from gone group by org_id`.execute(trx);
    for (const { orgId, count, sizeBytes, sha256s } of rows) {
      await endUploads(
        trx,
        sha256s.map((sha256) => ({ orgId, sha256 })),
      );
      const details = { ...by.request, count, size_bytes: sizeBytes };
      await audit(trx, { orgId, caller: by.caller, action: 'delete captured data', subject: orgId, details });
    }
    await endExports(
      trx,
      rows.map(({ orgId }) => orgId),
    );
    return rows.reduce((sum, { count }) => sum + count, 0);
  });

/**
 * @param boxId - a box of the image that has this ID already stays as it is, so that the call can be repeated.
 * @returns ID of the box; undefined: the datum does not exist, or the box belongs to another one.
 */
export async function addBox(
  db: Database,
  { orgId, id }: DatumKey,
  box: Omit<Box, 'id'>,
  boxId: string = randomUUID(),
): Promise<string | undefined> {
  const { rows } = await sql`
    insert into bounding_box (org_id, id, binary_id, label, x_min, y_min, x_max, y_max, confidence)
    select org_id, ${boxId}::uuid, id, ${box.label}, ${box.xMin}::float8, ${box.yMin}::float8, ${box.xMax}::float8,
           ${box.yMax}::float8, ${box.confidence}::float8
      from binary_data where org_id = ${orgId} and id = ${id}
    on conflict (org_id, id) do update set binary_id = bounding_box.binary_id
     where bounding_box.binary_id = excluded.binary_id returning id`.execute(db);
  return rows.length > 0 ? boxId : undefined;
}

type BoxFacts = Omit<Box, 'id'>;
/** Label and edges that a box must have before a change; undefined: any. */
export type ExpectedBox = Pick<Box, 'label' | 'xMin' | 'yMin' | 'xMax' | 'yMax'> | undefined;
/** `changed`: the box is another than expected, and stayed as it is. */
export type BoxOutcome = { is: 'done' } | { is: 'absent' } | { is: 'changed'; label: string };

const isSameBox = (a: NonNullable<ExpectedBox>, b: NonNullable<ExpectedBox>): boolean =>
  a.label === b.label && a.xMin === b.xMin && a.yMin === b.yMin && a.xMax === b.xMax && a.yMax === b.yMax;

const lockBox = (trx: Trx, { orgId, id }: DatumKey, boxId: string): Promise<Box | undefined> =>
  trx
    .selectFrom('boundingBox')
    .select(['id', 'label', 'xMin', 'yMin', 'xMax', 'yMax', 'confidence'])
    .where((eb) => eb.and({ orgId, binaryId: id, id: boxId }))
    .forUpdate()
    .executeTakeFirst();

/** Applies `change` to the current box. A box that already is as it results does not conflict. */
export const updateBox = (
  db: Database,
  key: DatumKey,
  { boxId, expected }: { boxId: string; expected: ExpectedBox },
  change: (box: Box) => BoxFacts,
): Promise<BoxOutcome> =>
  db.transaction().execute(async (trx): Promise<BoxOutcome> => {
    const row = await lockBox(trx, key, boxId);
    if (!row) return { is: 'absent' };
    const next = change(row);
    if (expected && !isSameBox(row, expected) && !isSameBox(row, next)) return { is: 'changed', label: row.label };
    await trx.updateTable('boundingBox').set(next).where('orgId', '=', key.orgId).where('id', '=', boxId).execute();
    return { is: 'done' };
  });

export const removeBox = (
  db: Database,
  key: DatumKey,
  { boxId, expected }: { boxId: string; expected: ExpectedBox },
): Promise<BoxOutcome> =>
  db.transaction().execute(async (trx): Promise<BoxOutcome> => {
    const row = await lockBox(trx, key, boxId);
    if (!row) return { is: 'absent' };
    if (expected && !isSameBox(row, expected)) return { is: 'changed', label: row.label };
    await trx.deleteFrom('boundingBox').where('orgId', '=', key.orgId).where('id', '=', boxId).execute();
    return { is: 'done' };
  });
