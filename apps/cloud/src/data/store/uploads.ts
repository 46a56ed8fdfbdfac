import { createHash, randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { PlatformError } from '@platform/contract/errors/errors';
import type { StoredBlob } from '../../blobs/blob-store.ts';
import { noteBlob } from '../../blobs/store/owned-blobs.ts';
import { contentColumns } from '../../images/store/image-contents.ts';
import { atUs, type Database, type Trx } from '../../database/database.ts';
import type { DatumKey } from './binary-data.ts';
import { addMembers, findDatasets } from './datasets.ts';
import { mergeUpload } from './merged-uploads.ts';
import { originColumns, type Reading, type Upload } from './upload-rows.ts';

/**
 * Writes datum, tags, annotations and dataset memberships in one transaction. The blob store already has the bytes.
 *
 * @returns `existed`: a dataset had these bytes, and the upload was merged into that image.
 * @throws PlatformError DATASET_NOT_FOUND, DATASET_TYPE_MISMATCH: nothing was written.
 */
export const writeUpload = (
  db: Database,
  upload: Upload,
  blob: StoredBlob,
): Promise<DatumKey & { locationId: string; existed: boolean }> =>
  db.transaction().execute(async (trx) => {
    const datasets = await uploadTargets(trx, upload.orgId, upload.datasetIds);
    const before = upload.isMerged ? await mergeUpload(trx, datasets, upload, blob.sha256) : undefined;
    const { id, locationId, isNew } = before ?? (await insertDatum(trx, upload, blob));
    // After the datum, because deletions lock in this order, too.
    await noteBlob(trx, upload.orgId, blob);
    if (isNew) await insertAnnotations(trx, { orgId: upload.orgId, id }, upload);
    // A capture that comes again was added to its datasets with the first one; a user may have removed it since.
    const without = before?.without ?? (isNew || upload.repeats?.is !== 'capture' ? datasets : []);
    for (const dataset of without) await addMembers(trx, dataset, [{ orgId: upload.orgId, id }]);
    return { orgId: upload.orgId, id, locationId, existed: before !== undefined };
  });

/** @throws PlatformError DATASET_NOT_FOUND, DATASET_TYPE_MISMATCH */
export async function uploadTargets(
  db: Database,
  orgId: string,
  ids: readonly string[],
): Promise<{ orgId: string; id: string }[]> {
  if (ids.length === 0) return [];
  const found = new Map((await findDatasets(db, ids)).map((dataset) => [dataset.id, dataset]));
  return [...new Set(ids)].map((datasetId) => {
    const dataset = found.get(datasetId.toLowerCase());
    if (dataset?.orgId !== orgId) throw new PlatformError('DATASET_NOT_FOUND', { datasetId });
    if (dataset.type !== 'binary_data') {
      throw new PlatformError('DATASET_TYPE_MISMATCH', { datasetId, type: 'sequences', wanted: 'images and files' });
    }
    return dataset;
  });
}

type Written = { id: string; locationId: string; isNew: boolean };

async function insertDatum(trx: Trx, upload: Upload, blob: StoredBlob): Promise<Written> {
  const id = randomUUID();
  const identity = identityOf(upload, blob);
  const done = await trx
    .insertInto('binaryData')
    .values({
      ...originColumns(upload),
      captureTags: [...new Set(upload.captureTags)],
      id,
      sha256: blob.sha256,
      sizeBytes: blob.sizeBytes,
      fileName: upload.fileName,
      fileExt: upload.fileExt,
      mimeType: upload.content?.kind === 'image' ? upload.content.type : upload.mimeType,
      ...(upload.content && contentColumns(upload.content)),
      timeRequested: atUs(upload.timeRequestedUs),
      timeReceived: atUs(upload.timeReceivedUs),
      identity,
    })
    .onConflict((conflict) => conflict.columns(['orgId', 'identity']).doNothing())
    .returning('id')
    .executeTakeFirst();
  if (done) return { id, locationId: upload.locationId, isNew: true };
  const before = await trx
    .selectFrom('binaryData')
    .select(['id', 'locationId'])
    .where((eb) => eb.and({ orgId: upload.orgId, identity }))
    .executeTakeFirstOrThrow();
  return { ...before, isNew: false };
}

function identityOf(upload: Upload, { sha256 }: StoredBlob): Buffer | null {
  const { repeats } = upload;
  if (!repeats) return null;
  if (repeats.is === 'upload') return uploadIdentity(upload.partId, repeats.id);
  return captureIdentity({ ...upload, sha256 }, upload.tags);
}

async function insertAnnotations(
  trx: Trx,
  { orgId, id }: DatumKey,
  { boxes, classifications }: Pick<Upload, 'boxes' | 'classifications'>,
): Promise<void> {
  if (boxes.length > 0) {
    await trx
      .insertInto('boundingBox')
      .values(boxes.map((box) => ({ ...box, orgId, id: randomUUID(), binaryId: id })))
      .execute();
  }
  if (classifications.length > 0) {
    await trx
      .insertInto('classification')
      .values(classifications.map((one) => ({ ...one, orgId, id: randomUUID(), binaryId: id })))
      .execute();
  }
}

/** Writes the readings of one batch, all or none. */
export async function writeReadings(db: Database, readings: readonly Reading[]): Promise<void> {
  if (readings.length === 0) return;
  await db
    .insertInto('tabularData')
    .values(
      readings.map((reading) => ({
        ...originColumns(reading),
        machineId: reading.machineId ?? sql<string>`null`,
        partId: reading.partId ?? sql<string>`null`,
        id: randomUUID(),
        payload: JSON.stringify(reading.payload),
        timeRequested: atUs(reading.timeRequestedUs),
        timeReceived: atUs(reading.timeReceivedUs),
      })),
    )
    .execute();
}

/** The oldest location of an organization, for data without a machine. */
export async function firstLocation(db: Database, orgId: string): Promise<string> {
  const row = await db
    .selectFrom('location')
    .select('id')
    .where('orgId', '=', orgId)
    .orderBy('createdOn')
    .orderBy('id')
    .limit(1)
    .executeTakeFirst();
  if (!row) throw new PlatformError('LOCATION_NOT_FOUND', {});
  return row.id;
}

/** The fields that identify a capture: two uploads with equal fields are the same capture. */
interface Capture {
  readonly partId: string | null;
  readonly componentType: string;
  readonly componentName: string;
  readonly methodName: string;
  readonly fileName: string;
  readonly timeRequestedUs: number;
  readonly sha256: string;
}

/** Hashes with this order and format are stored, so neither may change. */
const captureIdentity = (of: Capture, tags: readonly string[]): Buffer =>
  digest([
    of.partId,
    of.componentType,
    of.componentName,
    of.methodName,
    of.fileName,
    of.timeRequestedUs,
    tags,
    of.sha256,
  ]);

/** Identity of an upload to which the sender gave an ID. */
const uploadIdentity = (partId: string | null, uploadId: string): Buffer => digest(['upload', partId, uploadId]);

const digest = (parts: readonly unknown[]): Buffer => createHash('sha256').update(JSON.stringify(parts)).digest();
