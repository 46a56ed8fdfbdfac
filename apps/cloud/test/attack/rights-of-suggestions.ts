import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { members, owners, right, type Right } from './rights.ts';
import type { World } from './world.ts';

const suggestion = (method: string): string => `platform.suggestions.v1.SuggestionService/${method}`;

/** A model that a built-in trainer made, by its rows. */
async function trainedModel({ on, orgId, freshPackage }: World): Promise<string> {
  const name = await freshPackage('ml_model');
  const files = JSON.stringify([
    { path: `${name}.onnx`, size_bytes: 1 },
    { path: 'labels.txt', size_bytes: 1 },
  ]);
  await sql`update registry_version set job_id = gen_random_uuid(), files = ${files}::jsonb,
      metadata = metadata || '{"model_type": "single_label_classification"}'
     where org_id = ${orgId} and name = ${name}`.execute(on.db);
  return name;
}

/** Suggestions and near copies for two images of the dataset, with the organization's mark in each label. */
async function predicted({ on, orgId, datasetId, dataId }: World): Promise<{ suggestionId: string }> {
  const suggestionId = randomUUID();
  const suggestions = JSON.stringify([{ id: suggestionId, label: 'victim suggestion', score: 0.9 }]);
  await sql`insert into prediction (org_id, dataset_id, binary_id, job_id, model_name, model_version, model_type, suggestions,
                                    scores, copy_group, made_on)
    select org_id, dataset_id, binary_id, ${randomUUID()}, 'victim', '1', 'single_label_classification', ${suggestions}::jsonb,
           '{"victim suggestion": 0.9}', 1, now()
      from dataset_member where org_id = ${orgId} and dataset_id = ${datasetId}
       and binary_id in (select binary_id from dataset_member where dataset_id = ${datasetId}
                          order by binary_id = ${dataId.split('/').at(-1)}::uuid desc limit 2)
    on conflict (org_id, dataset_id, binary_id) do update set suggestions = excluded.suggestions`.execute(on.db);
  return { suggestionId };
}

export const rightsOfSuggestions: readonly Right[] = [
  right(suggestion('StartPrediction'), { ok: owners }, async (world) => ({
    organizationId: world.orgId,
    datasetId: world.datasetId,
    modelName: await trainedModel(world),
    modelVersion: '1',
  })),
  right(suggestion('ListSuggestions'), { shows: members }, async (world) => {
    await predicted(world);
    return { datasetId: world.datasetId, binaryDataIds: [world.dataId] };
  }),
  right(suggestion('RejectSuggestions'), { ok: members }, async (world) => ({
    datasetId: world.datasetId,
    binaryDataId: world.dataId,
    suggestionIds: [(await predicted(world)).suggestionId],
  })),
  right(suggestion('ReviewLabels'), { shows: members }, async (world) => {
    await predicted(world);
    return { datasetId: world.datasetId };
  }),
];
