import { PlatformError } from '@platform/contract/errors/errors';
import type { Dataset } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import type { Connection } from '../connection.ts';

/** Finds a dataset by its ID or name. @throws PlatformError DATASET_NOT_FOUND. */
export async function findDataset(connection: Connection, name: string): Promise<Dataset> {
  const all = await connection.client.datasetClient.listDatasetsByOrganizationId(await connection.organizationId());
  const dataset = all.find((one) => one.id === name) ?? all.find((one) => one.name === name);
  if (!dataset) throw new PlatformError('DATASET_NOT_FOUND', { datasetId: name });
  return dataset;
}
