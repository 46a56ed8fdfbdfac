import type { StoredBlob } from '../blobs/store.ts';
import type { Database } from './database.ts';

/** Notes that an organization brought a file, and so may read it. The file lies in the blob store already. */
export async function noteBlob(db: Database, orgId: string, { sha256, sizeBytes }: StoredBlob): Promise<void> {
  await db
    .insertInto('blob')
    .values({ orgId, sha256, sizeBytes })
    .onConflict((conflict) => conflict.columns(['orgId', 'sha256']).doNothing())
    .execute();
}

/** Sizes of those files that the organization has, by sha256. */
export async function ownedBlobs(
  db: Database,
  orgId: string,
  sha256s: readonly string[],
): Promise<Map<string, number>> {
  if (sha256s.length === 0) return new Map();
  const rows = await db
    .selectFrom('blob')
    .select(['sha256', 'sizeBytes'])
    .where('orgId', '=', orgId)
    .where('sha256', 'in', sha256s)
    .execute();
  return new Map(rows.map((row) => [row.sha256, row.sizeBytes]));
}
