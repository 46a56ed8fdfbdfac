import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import type { BlobStore, StoredBlob } from '../blobs/store.ts';
import type { LabelCounts } from '../rules/dataset-rules.ts';
import { assignSplits } from '../rules/dataset-split.ts';
import { manifestLines, type Picture } from '../rules/manifest.ts';
import { at } from './database.ts';
import { noteBlob } from './owned-blobs.ts';
import type { Trx } from './jobs.ts';

/** One for all jobs: what is held out does not depend on who asks, so that models on one dataset can be compared. */
const splitSeed = 1;

/** What a job trains on, as bytes in the blob store; no row names them yet. */
export type Frozen = { manifest: StoredBlob; pictures: number; counts: { [key: string]: unknown } };

/** Writes the manifest: the pictures of this moment with their labels and their split. */
export async function freeze(
  blobs: BlobStore,
  pictures: readonly Picture[],
  labels: readonly string[],
  counts: LabelCounts,
): Promise<Frozen> {
  const splits = assignSplits(pictures, labels, splitSeed);
  const perSplit: Record<string, number> = { train: 0, validation: 0, test: 0 };
  for (const split of splits) perSplit[split] = (perSplit[split] ?? 0) + 1;
  const manifest = await blobs.put(Readable.from(chunks(manifestLines(pictures, splits))));
  return { manifest, pictures: pictures.length, counts: { ...counts, splits: perSplit } };
}

const chunkLines = 500;
function* chunks(lines: Iterable<string>): Generator<Uint8Array> {
  let some: string[] = [];
  for (const line of lines) {
    some.push(line);
    if (some.length < chunkLines) continue;
    yield Buffer.from(some.join(''));
    some = [];
  }
  if (some.length > 0) yield Buffer.from(some.join(''));
}

/** The row of a frozen dataset; the same pictures with the same labels again are the same version. @returns its id. */
export async function writeVersion(
  trx: Trx,
  of: { orgId: string; datasetId: string; frozen: Frozen; now: number },
): Promise<string> {
  const { orgId, datasetId, frozen, now } = of;
  await noteBlob(trx, orgId, frozen.manifest);
  const row = await trx
    .insertInto('datasetVersion')
    .values({
      orgId,
      id: randomUUID(),
      datasetId,
      manifestSha256: frozen.manifest.sha256,
      pictures: frozen.pictures,
      counts: JSON.stringify(frozen.counts),
      createdOn: at(now),
    })
    // An update that changes nothing, so that the row of before is returned.
    .onConflict((conflict) =>
      conflict.columns(['orgId', 'datasetId', 'manifestSha256']).doUpdateSet({ pictures: frozen.pictures }),
    )
    .returning('id')
    .executeTakeFirstOrThrow();
  return row.id;
}
