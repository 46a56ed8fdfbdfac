import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { datasetRules, type LabelCounts } from '@platform/contract/dataset-rules';
import { PlatformError } from '@platform/contract/errors';
import type { JobKind, Split } from '@platform/contract/job';
import type { BlobStore, StoredBlob } from '../../blobs/blob-store.ts';
import { noteBlob } from '../../blobs/store/owned-blobs.ts';
import { at, type Database, type Trx } from '../../database/database.ts';
import { type Example, type FoundLabels, tally } from '../rules/dataset-rules.ts';
import { assignSplits } from '../rules/dataset-split.ts';
import { manifestLine } from '../rules/manifest.ts';
import { splitAdvice, splitProblem } from '../rules/split-checks.ts';
import { separateDatasetTags } from './capture-tags.ts';
import { countMembers, type DatasetKey, memberLabels, members } from './dataset-members.ts';

/** The same for all jobs: models on one dataset are comparable only if they share its split. */
const splitSeed = 1;

/** The stored files and counts of a frozen dataset, before a row references them. */
export type Frozen = {
  manifest: StoredBlob;
  counts: LabelCounts;
  found: FoundLabels;
  splits: Readonly<Record<Split, number>>;
  /** Labels that no test image shows, for users. */
  notes: readonly string[];
};

/**
 * Writes the manifest: the current images with their labels and splits. Reads the dataset twice in one snapshot, so
 * that neither dataset nor manifest is in memory as a whole.
 *
 * @param labels - to learn; ignored for scripts, which get all labels.
 * @throws PlatformError DATASET_TOO_LARGE, or the error of the training rule that the dataset breaks.
 */
export async function freeze(
  db: Database,
  blobs: BlobStore,
  of: { dataset: DatasetKey; kind: JobKind; labels: readonly string[] },
): Promise<Frozen> {
  const datasetId = of.dataset.id;
  const images = await countMembers(db, of.dataset);
  if (images > datasetRules.maxImages) {
    throw new PlatformError('DATASET_TOO_LARGE', { datasetId, count: images, limit: datasetRules.maxImages });
  }
  await separateDatasetTags(db, of.dataset);
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (trx) => {
      const counted = tally(of.kind, of.labels);
      const examples: Example[] = [];
      for await (const page of memberLabels(trx, of.dataset)) {
        for (const image of page) examples.push(counted.add(image));
      }
      const result = counted.result();
      if (!result.ok) throw new PlatformError(result.code, { datasetId, ...result.data });
      const splits = assignSplits(of.kind, examples, splitSeed);
      const problem = splitProblem(of.kind, examples, splits);
      if (problem) throw new PlatformError(problem.code, { datasetId, ...problem.data });
      const perSplit: Record<Split, number> = { train: 0, validation: 0, test: 0 };
      for (const split of splits) perSplit[split]++;
      const manifest = await blobs.put(Readable.from(lines(trx, of.dataset, splits)));
      const notes = splitAdvice(of.kind, examples, splits);
      return { manifest, counts: result.counts, found: counted.found(), splits: perSplit, notes };
    });
}

/** @param splits - in the order of the members. */
async function* lines(trx: Trx, dataset: DatasetKey, splits: readonly Split[]): AsyncGenerator<Uint8Array> {
  let place = 0;
  for await (const page of members(trx, dataset)) {
    yield Buffer.from(page.map((image) => manifestLine(image, splits[place++] ?? 'train')).join(''));
  }
}

/** Inserts the row of a frozen dataset; the same images and labels are the same version. @returns its ID. */
export async function writeVersion(
  trx: Trx,
  of: { orgId: string; datasetId: string; frozen: Frozen; now: number },
): Promise<string> {
  const { orgId, datasetId, frozen, now } = of;
  const { images } = frozen.counts;
  await noteBlob(trx, orgId, frozen.manifest);
  const row = await trx
    .insertInto('datasetVersion')
    .values({
      orgId,
      id: randomUUID(),
      datasetId,
      manifestSha256: frozen.manifest.sha256,
      pictures: images,
      counts: JSON.stringify({ ...frozen.counts, splits: frozen.splits }),
      createdOn: at(now),
    })
    // An update without effect, so that the existing row is returned.
    .onConflict((conflict) =>
      conflict.columns(['orgId', 'datasetId', 'manifestSha256']).doUpdateSet({ pictures: images }),
    )
    .returning('id')
    .executeTakeFirstOrThrow();
  return row.id;
}
