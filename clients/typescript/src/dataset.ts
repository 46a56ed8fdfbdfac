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

  /** Every dataset, however many pages that takes: the newest 10,000 first, each page by name. */
  async listDatasetsByOrganizationId(organizationId: string): Promise<Dataset[]> {
    return allPages(async (pageToken) => {
      const { datasets, nextPageToken } = await this.#rpc.listDatasetsByOrganizationID({ organizationId, pageToken });
      return { rows: datasets, nextPageToken };
    });
  }

  /** Unknown IDs are left out. Without IDs: all that the caller may see. */
  async listDatasetsByIds(ids: readonly string[]): Promise<Dataset[]> {
    return allPages(async (pageToken) => {
      const { datasets, nextPageToken } = await this.#rpc.listDatasetsByIDs({ ids: [...ids], pageToken });
      return { rows: datasets, nextPageToken };
    });
  }

  async renameDataset(id: string, name: string): Promise<void> {
    await this.#rpc.renameDataset({ id, name });
  }

  /** Deletes the dataset; its pictures stay. */
  async deleteDataset(id: string): Promise<void> {
    await this.#rpc.deleteDataset({ id });
  }

  /** @returns the ID of a new dataset with the pictures of all. */
  async mergeDatasets(datasetIds: readonly string[], name: string, organizationId: string): Promise<string> {
    const { datasetId } = await this.#rpc.mergeDatasets({ datasetIds: [...datasetIds], name, organizationId });
    return datasetId;
  }
}
