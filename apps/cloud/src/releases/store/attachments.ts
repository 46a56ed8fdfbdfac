import { recordChange } from '../../database/changes.ts';
import type { Database } from '../../database/database.ts';
import type { Row } from '../../database/schema.ts';

export type AttachmentRow = Row<'releaseAttachment'>;

/** @param name - empty: of all programs. */
export function listAttachments(db: Database, name: string): Promise<AttachmentRow[]> {
  const all = db.selectFrom('releaseAttachment').selectAll().orderBy('kind', 'desc');
  return (name ? all.where('name', '=', name) : all).execute();
}

export const findAttachment = (
  db: Database,
  { name, version, platform, kind }: Omit<AttachmentRow, 'sha256' | 'sizeBytes'>,
): Promise<AttachmentRow | undefined> =>
  db
    .selectFrom('releaseAttachment')
    .selectAll()
    .where((eb) => eb.and({ name, version, platform, kind }))
    .executeTakeFirst();

export async function insertAttachment(db: Database, row: AttachmentRow): Promise<void> {
  await db
    .insertInto('releaseAttachment')
    .values(row)
    .onConflict((conflict) =>
      conflict
        .columns(['name', 'version', 'platform', 'kind'])
        .doUpdateSet({ sha256: row.sha256, sizeBytes: row.sizeBytes }),
    )
    .execute();
  await recordChange(db, 'release', row.name);
}

/** Removes attachments that the signed targets do not list. */
export async function keepAttachments(db: Database, isListed: (row: AttachmentRow) => boolean): Promise<void> {
  for (const row of await listAttachments(db, '')) {
    if (isListed(row)) continue;
    await db
      .deleteFrom('releaseAttachment')
      .where((eb) => eb.and({ name: row.name, version: row.version, platform: row.platform, kind: row.kind }))
      .execute();
    await recordChange(db, 'release', row.name);
  }
}
