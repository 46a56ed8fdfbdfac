import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { DataService } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { DatasetService, DatasetType } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import { systemClock } from '@platform/kit/node';
import { members, right, type Right } from './rights.ts';
import { mark, type World } from './world.ts';

const data = (method: string): string => `platform.app.data.v1.DataService/${method}`;
const dataset = (method: string): string => `platform.app.dataset.v1.DatasetService/${method}`;

/** Returns the id of a finished export whose file contains the mark. */
export async function exported({ on, orgId, freshName, freshBlob }: World): Promise<string> {
  const { id: datasetId } = await (
    await on.client(DatasetService)
  ).createDataset({ organizationId: orgId, name: freshName(), type: DatasetType.SEQUENCE_DATA });
  const { sha256, bytes } = await freshBlob();
  const id = randomUUID();
  await sql`insert into sequence_export (org_id, id, dataset_id, state, file_sha256, size_bytes, created_on, completed_on)
    values (${orgId}, ${id}, ${datasetId}, 'completed', ${sha256}, ${bytes.length}, now(), now())`.execute(on.db);
  return id;
}

/** Waits until the server has written every requested file. */
async function ended({ on }: World): Promise<void> {
  const running = () =>
    on.db.selectFrom('sequenceExport').select('id').where('state', '=', 'running').executeTakeFirst();
  while (await running()) await systemClock.sleep(50);
}

/** A sequence of the machine, with a mark in its tags. */
const sequence = async ({ on, machine }: World): Promise<string> =>
  (
    await (
      await on.client(DataService)
    ).createSequence({
      partId: machine.partId,
      resources: [{ resourceName: `${mark} camera` }],
      sequenceTags: [`${mark} tag`],
      startTime: { seconds: 0n, nanos: 0 },
      endTime: { seconds: 253_402_300_799n, nanos: 0 },
    })
  ).id;
/** A dataset of sequences that contains one sequence. */
const sequences = async (world: World): Promise<{ datasetId: string; sequenceIds: string[] }> => {
  const { on, orgId, freshName } = world;
  const { id: datasetId } = await (
    await on.client(DatasetService)
  ).createDataset({ organizationId: orgId, name: freshName(), type: DatasetType.SEQUENCE_DATA });
  const sequenceIds = [await sequence(world)];
  await (await on.client(DataService)).addSequencesToDataset({ datasetId, sequenceIds });
  return { datasetId, sequenceIds };
};
const sequenceRange = { startTime: '2026-01-01T00:00:00Z', endTime: '2026-01-02T00:00:00Z' };

export const rightsOfSequences: readonly Right[] = [
  right(data('CreateSequence'), { ok: members }, ({ machine }) => ({
    partId: machine.partId,
    resources: [{ resourceName: 'camera' }],
    ...sequenceRange,
  })),
  right(data('GetSequence'), { shows: members }, async (world) => ({ id: await sequence(world) })),
  right(data('UpdateSequence'), { ok: members }, async (world) => ({
    id: await sequence(world),
    sequenceTags: ['t'],
    fieldMask: 'sequenceTags',
  })),
  right(data('DeleteSequence'), { ok: members }, async (world) => ({ id: await sequence(world) })),
  right(data('ListSequences'), { shows: members }, async (world) => {
    await sequence(world);
    return { organizationId: world.orgId };
  }),
  right(data('SequencesByDatasetID'), { shows: members }, async (world) => ({
    datasetId: (await sequences(world)).datasetId,
  })),
  right(data('GetSequenceBinaryData'), { shows: members }, async (world) => ({ sequenceId: await sequence(world) })),
  right(data('AddSequencesToDataset'), { ok: members }, sequences),
  right(data('RemoveSequencesFromDataset'), { ok: members }, sequences),
  right(
    dataset('StartSequenceDatasetExport'),
    { ok: members },
    async (world) => ({
      datasetId: (await sequences(world)).datasetId,
    }),
    ended,
  ),
  right(dataset('GetSequenceDatasetExport'), { ok: members }, async (world) => ({ jobId: await exported(world) })),
];
