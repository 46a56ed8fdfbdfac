import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { datasetRules, type LabelCounts } from '@platform/contract/job/dataset-rules';
import { PlatformError } from '@platform/contract/errors/errors';
import type { JobKind, Split } from '@platform/contract/job/job';
import type { BlobStore, StoredBlob } from '../../blobs/blob-store.ts';
import { noteBlob } from '../../blobs/store/owned-blobs.ts';
import { at, type Database, type Trx } from '../../database/database.ts';
import { type Example, type FoundLabels, isAmbiguous, tally } from '../rules/dataset-rules.ts';
import { assignSplits } from '../rules/dataset-split.ts';
import { manifestLine } from '../rules/manifest.ts';
import { fileNotes, isLeftOut } from '../rules/usable-files.ts';
import { countGroups, type GroupCounts, splitAdvice, splitProblem } from '../rules/split-checks.ts';
import { countMembers, type DatasetKey, memberLabels, members } from './dataset-members.ts';

/** The same for all jobs: models on one dataset are comparable only if they share its split. */
const splitSeed = 1;

/** The stored files and counts of a frozen dataset, before a row references them. */
export type Frozen = {
  manifest: StoredBlob;
  counts: LabelCounts;
  found: FoundLabels;
  /** Images that the training uses. */
  splits: Readonly<Record<Split, number>>;
  /** Files that are left out, and labels that no test image shows, for users. */
  notes: readonly string[];
};

type TrainingData = { dataset: DatasetKey; kind: JobKind; labels: readonly string[] };

/** What a training on a dataset would use now. */
export type Assessment = {
  counts: LabelCounts | undefined;
  found: FoundLabels;
  /** In the order of the members that are not left out. */
  splits: readonly Split[];
  /** Images per split that the training uses. */
  used: Readonly<Record<Split, number>>;
  groups: GroupCounts;
  /** Why it cannot be trained on. */
  problem: PlatformError | undefined;
  /** Files that are left out and images that are read in another way, for users. */
  files: readonly string[];
  /** What the split means for the score, for users. */
  notes: readonly string[];
};

/** @throws PlatformError DATASET_TOO_LARGE */
async function requireCountable(db: Database, dataset: DatasetKey): Promise<void> {
  const images = await countMembers(db, dataset);
  if (images > datasetRules.maxImages) {
    throw new PlatformError('DATASET_TOO_LARGE', {
      datasetId: dataset.id,
      count: images,
      limit: datasetRules.maxImages,
    });
  }
}

async function assess(trx: Trx, { dataset, kind, labels }: TrainingData): Promise<Assessment> {
  const datasetId = dataset.id;
  const counted = tally(kind, labels);
  const files = fileNotes(kind);
  const examples: Example[] = [];
  for await (const page of memberLabels(trx, dataset)) {
    for (const image of page) {
      files.add(image);
      if (!isLeftOut(kind, image)) examples.push(counted.add(image));
    }
  }
  const result = counted.result();
  const splits = assignSplits(kind, examples, splitSeed);
  const rule = result.ok ? splitProblem(kind, examples, splits) : result;
  const broken = files.leftOut > 0 && examples.length === 0 ? noImage(files.leftOut) : rule;
  return {
    counts: result.ok ? result.counts : undefined,
    found: counted.found(),
    splits,
    used: countSplits(splits.filter((_, place) => !isAmbiguous(kind, examples[place] ?? { labels: [] }))),
    groups: countGroups(examples),
    problem: broken && new PlatformError(broken.code, { datasetId, ...broken.data }),
    files: files.sentences(),
    notes: splitAdvice(kind, examples, splits),
  };
}

const noImage = (files: number) => ({
  code: 'DATASET_EMPTY' as const,
  data: {
    problem:
      files === 1 ? 'its only file cannot be used as an image' : `none of its ${files} files can be used as an image`,
  },
});

/** How `freeze` would split the dataset now. @throws PlatformError DATASET_TOO_LARGE */
export async function assessDataset(db: Database, of: TrainingData): Promise<Assessment> {
  await requireCountable(db, of.dataset);
  return db.transaction().execute((trx) => assess(trx, of));
}

function countSplits(splits: readonly Split[]): Record<Split, number> {
  const counts: Record<Split, number> = { train: 0, validation: 0, test: 0 };
  for (const split of splits) counts[split]++;
  return counts;
}

/**
 * Writes the manifest: the current images with their labels and splits. Reads the dataset twice in one snapshot, so
 * that neither dataset nor manifest is in memory as a whole.
 *
 * @param labels - to learn; ignored for scripts, which get all labels.
 * @throws PlatformError DATASET_TOO_LARGE, or the error of the training rule that the dataset breaks.
 */
export async function freeze(db: Database, blobs: BlobStore, of: TrainingData): Promise<Frozen> {
  await requireCountable(db, of.dataset);
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (trx) => {
      const { counts, found, splits, used, problem, files, notes } = await assess(trx, of);
      if (problem) throw problem;
      if (!counts) throw new Error('a dataset without a problem has no counts');
      const manifest = await blobs.put(Readable.from(lines(trx, of, splits)));
      return { manifest, counts, found, splits: used, notes: [...files, ...notes] };
    });
}

/** @param splits - in the order of the members that are not left out. */
async function* lines(trx: Trx, { dataset, kind }: TrainingData, splits: readonly Split[]): AsyncGenerator<Uint8Array> {
  let place = 0;
  for await (const page of members(trx, dataset)) {
    const used = page.filter((image) => !isLeftOut(kind, image));
    yield Buffer.from(used.map((image) => manifestLine(image, splits[place++] ?? 'train')).join(''));
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
      images,
      counts: JSON.stringify({ ...frozen.counts, splits: frozen.splits }),
      createdOn: at(now),
    })
    // An update without effect, so that the existing row is returned.
    .onConflict((conflict) => conflict.columns(['orgId', 'datasetId', 'manifestSha256']).doUpdateSet({ images }))
    .returning('id')
    .executeTakeFirstOrThrow();
  return row.id;
}
