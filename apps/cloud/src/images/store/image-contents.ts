import type { Database } from '../../database/database.ts';
import type { ImageContent } from '../rules/image-content.ts';

type FileKey = { orgId: string; id: string };
export type UnmeasuredFile = FileKey & { sha256: string; sizeBytes: number };

/** Files that are not measured, by their keys after this one. */
export const unmeasuredFiles = (db: Database, after: FileKey | undefined, limit: number): Promise<UnmeasuredFile[]> => {
  const all = db
    .selectFrom('binaryData')
    .select(['orgId', 'id', 'sha256', 'sizeBytes'])
    .where('imageKind', 'is', null)
    .orderBy('orgId')
    .orderBy('id')
    .limit(limit);
  return (
    after
      ? all.where((eb) =>
          eb.or([eb('orgId', '>', after.orgId), eb.and([eb('orgId', '=', after.orgId), eb('id', '>', after.id)])]),
        )
      : all
  ).execute();
};

/** What a file with these bytes was measured as; undefined: no such file was. */
export async function knownContent(db: Database, sha256: string): Promise<ImageContent | undefined> {
  const row = await db
    .selectFrom('binaryData')
    .select(['imageKind', 'imageType', 'imageWidth', 'imageHeight', 'imageUsedBits', 'imageProblem'])
    .where('sha256', '=', sha256)
    .where('imageKind', 'is not', null)
    .limit(1)
    .executeTakeFirst();
  if (!row?.imageKind) return undefined;
  return row.imageKind === 'image'
    ? {
        kind: 'image',
        type: row.imageType ?? '',
        width: row.imageWidth ?? 0,
        height: row.imageHeight ?? 0,
        usedBits: row.imageUsedBits,
      }
    : { kind: row.imageKind, problem: row.imageProblem ?? '' };
}

/** The columns of a row that is measured. */
export const contentColumns = (content: ImageContent) =>
  content.kind === 'image'
    ? {
        imageKind: content.kind,
        imageType: content.type,
        imageWidth: content.width,
        imageHeight: content.height,
        imageUsedBits: content.usedBits,
      }
    : { imageKind: content.kind, imageProblem: content.problem };

/** Has no effect on a row that is measured or deleted. */
export async function writeContent(db: Database, { orgId, id }: FileKey, content: ImageContent): Promise<void> {
  await db
    .updateTable('binaryData')
    .set(contentColumns(content))
    .where((eb) => eb.and({ orgId, id }))
    .where('imageKind', 'is', null)
    .execute();
}
