import { type SelectQueryBuilder, sql } from 'kysely';
import type { Database, Trx } from '../../database/database.ts';
import type { Tables } from '../../database/schema.ts';
import type { Labelled } from '../rules/dataset-rules.ts';
import { data, type FullDatum } from './binary-data.ts';

export type DatasetKey = { orgId: string; id: string };

/** Limit of the rows in memory. */
const pageRows = 1_000;

/** Number of images in a dataset. */
export const countMembers = async (db: Database, dataset: DatasetKey): Promise<number> => {
  const { count } = await db
    .selectFrom('datasetMember')
    .select(sql<number>`count(*)::bigint`.as('count'))
    .where((eb) => eb.and({ orgId: dataset.orgId, datasetId: dataset.id }))
    .executeTakeFirstOrThrow();
  return count;
};

/** Labels of all members of a dataset, ordered by content, then ID. */
export const memberLabels = (trx: Trx, dataset: DatasetKey): AsyncGenerator<readonly Labelled[]> =>
  pages(
    trx,
    dataset,
    trx.selectFrom('binaryData').select([
      sql<string>`binary_data.org_id || '/' || binary_data.location_id || '/' || binary_data.id`.as('id'),
      'binaryData.sha256',
      'binaryData.fileName',
      'binaryData.mimeType',
      'binaryData.imageProblem',
      'binaryData.imageUsedBits',
      'binaryData.tags',
      'binaryData.captureTags',
      sql<Labelled['classifications']>`(select coalesce(jsonb_agg(jsonb_build_object('label', c.label)), '[]')
          from classification c where c.org_id = binary_data.org_id and c.binary_id = binary_data.id)`.as(
        'classifications',
      ),
      sql<Labelled['boxes']>`(select coalesce(jsonb_agg(jsonb_build_object('label', b.label)), '[]')
          from bounding_box b where b.org_id = binary_data.org_id and b.binary_id = binary_data.id)`.as('boxes'),
    ]),
  );

/** All members of a dataset with their metadata, in the same order. */
export const members = (trx: Trx, dataset: DatasetKey): AsyncGenerator<readonly FullDatum[]> =>
  pages(trx, dataset, data(trx));

/** Reads pages from a cursor. A transaction can run only one of these at a time. */
async function* pages<T>(
  trx: Trx,
  dataset: DatasetKey,
  of: SelectQueryBuilder<Tables, 'binaryData', T>,
): AsyncGenerator<readonly T[]> {
  const query = of
    .where(
      sql<boolean>`exists (select from dataset_member m where m.org_id = ${dataset.orgId}
        and m.dataset_id = ${dataset.id} and m.org_id = binary_data.org_id and m.binary_id = binary_data.id)`,
    )
    .orderBy(sql`binary_data.sha256 collate "C"`)
    .orderBy('binaryData.id');
  await sql`declare member no scroll cursor for ${query}`.execute(trx);
  for (;;) {
    const { rows } = await sql<T>`fetch forward ${sql.raw(String(pageRows))} from member`.execute(trx);
    if (rows.length === 0) break;
    yield rows;
  }
  await sql`close member`.execute(trx);
}
