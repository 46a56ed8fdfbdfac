import type { ModelType } from '@platform/client';
import { kindOfModelType, modelKind } from '@platform/contract/job/model-kinds';
import type { Connection } from '../connection.ts';

/** Every label of the dataset that this model type trains on, in alphabetical order. */
export async function labelsOf(connection: Connection, datasetId: string, type: ModelType): Promise<string[]> {
  if (modelKind(kindOfModelType(type))?.labelSource === 'boxes') {
    return (await connection.client.dataClient.boundingBoxLabelsByFilter({ datasetId })).toSorted();
  }
  return (await connection.client.dataClient.labelsByFilter({ datasetId })).toSorted();
}
