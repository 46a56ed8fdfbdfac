import type { Client } from '@connectrpc/connect';
import type { Dataset, DatasetService } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import { allPages } from './pages.ts';

/** Datasets of an organization. */
export class DatasetClient {
  readonly #rpc: Client<typeof DatasetService>;

  constructor(rpc: Client<typeof DatasetService>) {
    this.#rpc = rpc;
  }

  /** @returns the ID of the new dataset. @throws PlatformApiError DATASET_NAME_TAKEN. */
  async createDataset(name: string, organizationId: string): Promise<string> {
    const { id } = await this.#rpc.createDataset({ name, organizationId });
    return id;
  }

  /** Lists every dataset, over all pages: the newest 10,000 first, each page sorted by name. */
  async listDatasetsByOrganizationId(organizationId: string): Promise<Dataset[]> {
    return allPages(async (pageToken) => {
      const { datasets, nextPageToken } = await this.#rpc.listDatasetsByOrganizationID({ organizationId, pageToken });
      return { rows: datasets, nextPageToken };
    });
  }

  /** Omits unknown IDs. Without IDs, lists all datasets that the caller may see. */
  async listDatasetsByIds(ids: readonly string[]): Promise<Dataset[]> {
    return allPages(async (pageToken) => {
      const { datasets, nextPageToken } = await this.#rpc.listDatasetsByIDs({ ids: [...ids], pageToken });
      return { rows: datasets, nextPageToken };
    });
  }

  async renameDataset(id: string, name: string): Promise<void> {
    await this.#rpc.renameDataset({ id, name });
  }

  /** Deletes the dataset; its images stay. */
  async deleteDataset(id: string): Promise<void> {
    await this.#rpc.deleteDataset({ id });
  }

  /** @returns the ID of a new dataset with the images of all given datasets. */
  async mergeDatasets(datasetIds: readonly string[], name: string, organizationId: string): Promise<string> {
    const { datasetId } = await this.#rpc.mergeDatasets({ datasetIds: [...datasetIds], name, organizationId });
    return datasetId;
  }
}
