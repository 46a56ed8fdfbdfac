import { sql } from 'kysely';
import type { PredictedBox } from '@platform/contract/job/predictions';
import { at, type Database, type Trx } from '../../database/database.ts';
import type { StoredSuggestion } from '../../database/training-schema.ts';
import type { DatasetKey } from '../../data/store/dataset-members.ts';
import type { JobRow } from './jobs.ts';

export type NewPrediction = {
  binaryId: string;
  suggestions: readonly StoredSuggestion[];
  scores: Readonly<Record<string, number>>;
  copyGroup: number | null;
};

/**
 * Writes what a job predicted; it replaces what earlier jobs suggested for these images. Leaves out images that were
 * removed from the dataset meanwhile, and all if the dataset was deleted.
 */
export async function writePredictions(
  trx: Trx,
  job: JobRow,
  predictions: readonly NewPrediction[],
  now: number,
): Promise<void> {
  if (predictions.length === 0) return;
  const rows = JSON.stringify(
    predictions.map(({ binaryId, suggestions, scores, copyGroup }) => ({
      binary_id: binaryId,
      suggestions,
      scores,
      copy_group: copyGroup,
    })),
  );
  await sql`
    insert into prediction (org_id, dataset_id, binary_id, job_id, model_name, model_version, model_type,
                            suggestions, scores, copy_group, made_on)
    select distinct on (m.binary_id) m.org_id, m.dataset_id, m.binary_id, ${job.id}::uuid, ${job.modelName}, ${job.modelVersion},
           ${job.modelType}, p.suggestions, p.scores, p.copy_group, ${at(now)}
      from jsonb_to_recordset(${rows}::jsonb) p (binary_id uuid, suggestions jsonb, scores jsonb, copy_group integer)
      join dataset_member m on m.org_id = ${job.orgId}::uuid and m.dataset_id = ${job.datasetId}::uuid and m.binary_id = p.binary_id
        on conflict (org_id, dataset_id, binary_id) do update
       set job_id = excluded.job_id, model_name = excluded.model_name, model_version = excluded.model_version,
           model_type = excluded.model_type, suggestions = excluded.suggestions, scores = excluded.scores,
           copy_group = excluded.copy_group, made_on = excluded.made_on, rejected = '{}'`.execute(trx);
}

/** Predictions of images that are in the dataset. */
export const findPredictions = (db: Database, dataset: DatasetKey, binaryIds: readonly string[]) =>
  binaryIds.length === 0
    ? Promise.resolve([])
    : db
        .selectFrom('prediction')
        .innerJoin('binaryData', (join) =>
          join.onRef('binaryData.orgId', '=', 'prediction.orgId').onRef('binaryData.id', '=', 'prediction.binaryId'),
        )
        .selectAll('prediction')
        .select('binaryData.locationId')
        .where((eb) => eb.and({ 'prediction.orgId': dataset.orgId, 'prediction.datasetId': dataset.id }))
        .where('prediction.binaryId', 'in', [...binaryIds])
        .execute();

/** @returns whether the image has a prediction. */
export async function setRejected(
  db: Database,
  dataset: DatasetKey,
  binaryId: string,
  { ids, undo }: { ids: readonly string[]; undo: boolean },
): Promise<boolean> {
  const sent = sql`${[...ids]}::uuid[]`;
  const { numAffectedRows } = await sql`
    update prediction set rejected = coalesce((
      select array_agg(distinct one) from unnest(${undo ? sql`rejected` : sql`rejected || ${sent}`}) one
       where ${
         undo
           ? sql`not one = any(${sent})`
           : sql`exists (
         select from jsonb_array_elements(suggestions) s where (s ->> 'id')::uuid = one)`
       }), '{}')
     where org_id = ${dataset.orgId} and dataset_id = ${dataset.id} and binary_id = ${binaryId}`.execute(db);
  return (numAffectedRows ?? 0n) > 0n;
}

/** An image with what it was predicted and the labels that it has now. */
export type PredictedImage = {
  binaryId: string;
  locationId: string;
  fileName: string;
  tags: string[];
  captureTags: string[];
  classifications: { label: string }[];
  boxes: { label: string; box: PredictedBox }[];
  modelType: string;
  suggestions: StoredSuggestion[];
  scores: Record<string, number>;
  jobId: string;
  copyGroup: number | null;
};

/** Limit of the rows in memory. */
const pageRows = 1_000;

/** The predicted images of a dataset, in pages. */
export async function* predictedImages(db: Database, { orgId, id }: DatasetKey): AsyncGenerator<PredictedImage[]> {
  let after: string | null = null;
  for (;;) {
    const { rows }: { rows: PredictedImage[] } = await sql<PredictedImage>`
      select d.id as binary_id, d.location_id, d.file_name, d.tags, coalesce(d.capture_tags, '{}') as capture_tags,
             (select coalesce(jsonb_agg(jsonb_build_object('label', c.label)), '[]') from classification c
               where c.org_id = d.org_id and c.binary_id = d.id) as classifications,
             (select coalesce(jsonb_agg(jsonb_build_object('label', b.label,
                'box', jsonb_build_array(b.x_min, b.y_min, b.x_max, b.y_max)) order by b.ordinal), '[]') from bounding_box b
               where b.org_id = d.org_id and b.binary_id = d.id) as boxes,
             p.model_type, p.suggestions, p.scores, p.job_id, p.copy_group
        from prediction p
        join dataset_member m on m.org_id = p.org_id and m.dataset_id = p.dataset_id and m.binary_id = p.binary_id
        join binary_data d on d.org_id = p.org_id and d.id = p.binary_id
       where p.org_id = ${orgId} and p.dataset_id = ${id} and (${after}::uuid is null or p.binary_id > ${after}::uuid)
       order by p.binary_id limit ${pageRows}`.execute(db);
    if (rows.length > 0) yield rows;
    after = rows.at(-1)?.binaryId ?? null;
    if (rows.length < pageRows) return;
  }
}
