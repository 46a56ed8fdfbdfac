import type { Clock, Log } from '@platform/kit';
import { readSnapshot, readTimestamp, signSnapshot, signTimestamp } from '@platform/releases/documents';
import { type Connection, openDatabase } from '../../database/database.ts';
import { openOnlineKey } from '../../releases/online-key.ts';
import { insertDocument, newestDocument } from '../../releases/store/release-metadata.ts';

/**
 * Agents never accept a document older than one that they have seen. The server signs a timestamp each hour, so this
 * is more than it can have signed within a year after the backup.
 */
const ahead = 10_000;

/** Signs snapshot and timestamp under versions that no machine has seen since the backup. */
export async function advanceReleaseDocuments(
  connection: Connection,
  dataFolder: string,
  { clock, log }: { clock: Clock; log: Log },
): Promise<void> {
  const keys = [await openOnlineKey(dataFolder)];
  const { db, close } = openDatabase(connection, log, { max: 1 });
  try {
    await db.transaction().execute(async (trx) => {
      const [targets, snapshot, timestamp] = [
        await newestDocument(trx, 'targets'),
        await newestDocument(trx, 'snapshot'),
        await newestDocument(trx, 'timestamp'),
      ];
      if (!targets || !snapshot || !timestamp) return;
      const now = clock.wall();
      const next = readSnapshot(snapshot.bytes).signed.version + ahead;
      const bytes = signSnapshot({ version: next, targets: targets.bytes, now, keys });
      await insertDocument(trx, 'snapshot', { version: next, bytes });
      const later = readTimestamp(timestamp.bytes).signed.version + ahead;
      const signed = signTimestamp({ version: later, snapshot: bytes, now, keys });
      await insertDocument(trx, 'timestamp', { version: later, bytes: signed });
    });
  } finally {
    await close();
  }
}
