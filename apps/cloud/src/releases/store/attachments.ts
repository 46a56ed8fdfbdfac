import type { AttachmentKind } from '@platform/contract/releases/target-path';
import { recordChange } from '../../database/changes.ts';
import type { Database } from '../../database/database.ts';

export type AttachmentRow = {
  name: string;
  version: string;
  platform: string;
  kind: AttachmentKind;
  sha256: Buffer;
  sizeBytes: number;
};

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
    .where('name', '=', name)
    .where('version', '=', version)
    .where('platform', '=', platform)
    .where('kind', '=', kind)
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
      .where('name', '=', row.name)
      .where('version', '=', row.version)
      .where('platform', '=', row.platform)
      .where('kind', '=', row.kind)
      .execute();
    await recordChange(db, 'release', row.name);
  }
}
