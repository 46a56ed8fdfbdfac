import type { Client } from '@connectrpc/connect';
import type { Dataset, DatasetService } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';

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

  async listDatasetsByOrganizationId(organizationId: string): Promise<Dataset[]> {
    const { datasets } = await this.#rpc.listDatasetsByOrganizationID({ organizationId });
    return datasets;
  }

  /** Unknown IDs are left out. */
  async listDatasetsByIds(ids: readonly string[]): Promise<Dataset[]> {
    const { datasets } = await this.#rpc.listDatasetsByIDs({ ids: [...ids] });
    return datasets;
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
