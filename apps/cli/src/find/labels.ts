import { ModelType } from '@platform/client';
import { DataService } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import type { Connection } from '../connection.ts';

/** Tags with a meaning of their own, such as split:test. */
export const isLabel = (tag: string): boolean => !/^split:(train|validation|test)$/.test(tag);

/** Every label of the dataset that the model type learns from, in alphabetical order. */
export async function labelsOf(connection: Connection, datasetId: string, type: ModelType): Promise<string[]> {
  if (type === ModelType.OBJECT_DETECTION) {
    const { labels } = await connection.rpc(DataService).boundingBoxLabelsByFilter({ filter: { datasetId } });
    return labels.toSorted();
  }
  return (await connection.client.dataClient.tagsByFilter({ datasetId })).filter(isLabel).toSorted();
}
