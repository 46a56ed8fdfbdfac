import { stat } from 'node:fs/promises';
import path from 'node:path';
import { sql } from 'kysely';
import type { Database } from '../../database/database.ts';
import { readBlobMark, requireBlobMark, writeBlobMark } from '../installation-mark.ts';
import { filesToBackUp } from './owned-blobs.ts';

/** Files that rows name, in SQL. */
export const namedFiles = `select sha256 from (${filesToBackUp({ hasAttachments: true })}) file where "isRequired"`;

/** Files that are looked for when there is no mark. */
const sampleSize = 100;

/**
 * Makes sure that the folder holds the files of this installation. A folder without a mark gets it if files that rows
 * name, chosen at random, are all there: no row may name one yet, or a first start was killed between the schema and the
 * mark.
 *
 * @throws PlatformError BLOBS_NOT_MOUNTED
 */
export async function requireOwnBlobs(
  db: Database,
  { folder, installationId }: { folder: string; installationId: string },
): Promise<void> {
  if ((await readBlobMark(folder)) === undefined) {
    const { rows } = await sql
      .raw<{ sha256: string }>(`select sha256 from (${namedFiles}) named order by random() limit ${sampleSize}`)
      .execute(db);
    const isThere = ({ sha256 }: { sha256: string }): Promise<boolean> =>
      stat(path.join(folder, sha256.slice(0, 2), sha256.slice(2, 4), sha256)).then(
        () => true,
        () => false,
      );
    const found = await Promise.all(rows.map(isThere));
    if (found.every(Boolean)) await writeBlobMark(folder, installationId);
  }
  await requireBlobMark(folder, installationId);
}
