import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import type { Trx } from '../../database/database.ts';
import { chosenSplit, splitTagNames } from '../rules/dataset-rules.ts';
import { mergedBoxes } from '../rules/merged-boxes.ts';
import type { DatumKey } from './binary-data.ts';
import { addTagsTo, dropTags, lockData } from './data-edits.ts';
import type { DatasetKey } from './dataset-members.ts';
import type { Upload } from './upload-rows.ts';

export interface Merged {
  readonly id: string;
  readonly locationId: string;
  readonly isNew: false;
  /** Datasets of the upload that do not contain these bytes yet. */
  readonly without: readonly DatasetKey[];
}

/**
 * Adds labels, split and boxes of an upload to the images of its datasets that have the same bytes. All existing copies
 * get them, so that this upload cannot give equal images of a dataset different labels.
 *
 * @returns the oldest of these images; undefined: no dataset of the upload has these bytes.
 */
export async function mergeUpload(
  trx: Trx,
  datasets: readonly DatasetKey[],
  upload: Upload,
  sha256: string,
): Promise<Merged | undefined> {
  // Concurrent uploads of the same bytes create one image: the second waits for the commit of the first.
  for (const { id } of datasets.toSorted((a, b) => (a.id < b.id ? -1 : 1)))
    await sql`select pg_advisory_xact_lock(hashtextextended(${`${id} ${sha256}`}, 0))`.execute(trx);
  const { orgId } = upload;
  const { rows } = await sql<{ datasetId: string; id: string; locationId: string }>`
    select member.dataset_id, datum.id, datum.location_id
      from binary_data datum join dataset_member member on member.org_id = datum.org_id and member.binary_id = datum.id
     where datum.org_id = ${orgId} and datum.sha256 = ${sha256}
       and member.dataset_id = any(${datasets.map(({ id }) => id)}::uuid[])
     order by datum.time_received, datum.id`.execute(trx);
  const [oldest] = rows;
  if (!oldest) return undefined;
  const keys = [...new Set(rows.map(({ id }) => id))].map((id) => ({ orgId, id }));
  await lockData(trx, keys);
  const split = chosenSplit(upload.tags);
  // An image is in one split: the latest one.
  if (split) {
    const others = splitTagNames.filter((tag) => tag !== `split:${split}`);
    await dropTags(trx, keys, others);
  }
  if (upload.tags.length > 0) await addTagsTo(trx, keys, upload.tags);
  for (const key of keys) {
    await addBoxes(trx, key, upload);
    await addClassifications(trx, key, upload);
  }
  const having = new Set(rows.map(({ datasetId }) => datasetId));
  const without = datasets.filter(({ id }) => !having.has(id));
  return { id: oldest.id, locationId: oldest.locationId, isNew: false, without };
}

async function addBoxes(trx: Trx, { orgId, id }: DatumKey, { boxes }: Upload): Promise<void> {
  if (boxes.length === 0) return;
  const existing = await trx
    .selectFrom('boundingBox')
    .select(['id', 'label', 'xMin', 'yMin', 'xMax', 'yMax', 'confidence'])
    .where((eb) => eb.and({ orgId, binaryId: id }))
    .execute();
  const { added, confirmed } = mergedBoxes(existing, boxes);
  if (added.length > 0) {
    const rows = added.map((box) => ({ ...box, orgId, id: randomUUID(), binaryId: id }));
    await trx.insertInto('boundingBox').values(rows).execute();
  }
  for (const { id: boxId, box } of confirmed)
    await trx.updateTable('boundingBox').set(box).where('orgId', '=', orgId).where('id', '=', boxId).execute();
}

async function addClassifications(trx: Trx, { orgId, id }: DatumKey, { classifications }: Upload): Promise<void> {
  if (classifications.length === 0) return;
  const existing = await trx
    .selectFrom('classification')
    .select('label')
    .where((eb) => eb.and({ orgId, binaryId: id }))
    .execute();
  const known = new Set(existing.map(({ label }) => label));
  const added = classifications.filter(({ label }) => !known.has(label));
  if (added.length === 0) return;
  const rows = added.map((one) => ({ ...one, orgId, id: randomUUID(), binaryId: id }));
  await trx.insertInto('classification').values(rows).execute();
}
