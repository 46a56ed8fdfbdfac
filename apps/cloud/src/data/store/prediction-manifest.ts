/** The images that a prediction reads, frozen as a manifest. */
import { Readable } from 'node:stream';
import { datasetRules } from '@platform/contract/job/dataset-rules';
import { PlatformError } from '@platform/contract/errors/errors';
import type { ModelKind } from '@platform/contract/job/model-kinds';
import type { BlobStore } from '../../blobs/blob-store.ts';
import type { Database, Trx } from '../../database/database.ts';
import { labelsOf } from '../rules/dataset-rules.ts';
import { manifestLine } from '../rules/manifest.ts';
import { fileNotes, isLeftOut } from '../rules/usable-files.ts';
import type { FullDatum } from './binary-data.ts';
import { countMembers, type DatasetKey, members } from './dataset-members.ts';
import type { Frozen } from './dataset-versions.ts';

export type PredictionImages = {
  dataset: DatasetKey;
  /** Only images without a label of this source; undefined: all. */
  unlabelled: ModelKind['labelSource'] | undefined;
};

/**
 * Writes the manifest of the images that can be decoded, whatever their labels.
 *
 * @throws PlatformError DATASET_TOO_LARGE, NOTHING_TO_PREDICT
 */
export async function freezeForPrediction(db: Database, blobs: BlobStore, of: PredictionImages): Promise<Frozen> {
  const { dataset } = of;
  const count = await countMembers(db, dataset);
  const limit = datasetRules.maxImages;
  if (count > limit) throw new PlatformError('DATASET_TOO_LARGE', { datasetId: dataset.id, count, limit });
  const notes = fileNotes('predict');
  const counts = { images: 0 };
  const manifest = await db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute((trx) => blobs.put(Readable.from(lines(trx, of, { notes, counts }))));
  const { images } = counts;
  if (images === 0) {
    const problem = count === 0 ? 'it is empty' : of.unlabelled ? 'no image is without a label' : 'no file is an image';
    throw new PlatformError('NOTHING_TO_PREDICT', { datasetId: dataset.id, problem });
  }
  return {
    manifest,
    counts: { images, labels: {}, unlabelled: 0, ambiguous: 0, absent: [] },
    found: { others: new Map(), labelled: 0, boxed: 0, examples: [], ambiguous: new Map() },
    splits: { train: 0, validation: 0, test: images },
    notes: notes.sentences(),
  };
}

async function* lines(
  trx: Trx,
  { dataset, unlabelled }: PredictionImages,
  { notes, counts }: { notes: ReturnType<typeof fileNotes>; counts: { images: number } },
): AsyncGenerator<Uint8Array> {
  const isMeant = (image: FullDatum): boolean => {
    if (unlabelled === undefined) return true;
    return (unlabelled === 'boxes' ? image.boxes : labelsOf(image)).length === 0;
  };
  for await (const page of members(trx, dataset)) {
    const used = page.filter((image) => {
      if (!isMeant(image)) return false;
      notes.add(image);
      return !isLeftOut('predict', image);
    });
    counts.images += used.length;
    yield Buffer.from(used.map((image) => manifestLine(image, 'test')).join(''));
  }
}
