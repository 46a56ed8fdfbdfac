import type { RegistryItem } from '@platform/contract/gen/platform/app/v1/app_pb';
import type { DownloadOptions } from './download.ts';
import type { Packages, PackageVersion } from './packages.ts';

type Bytes = Uint8Array<ArrayBuffer>;

/** Models of the registry. */
export class ModelClient {
  readonly #models: Packages;

  constructor(models: Packages) {
    this.#models = models;
  }

  /** Lists the models of an organization with their versions, and public models of others. */
  listModels(organizationId: string): Promise<RegistryItem[]> {
    return this.#models.items(organizationId);
  }

  /** Lists all versions of a model, newest first. */
  listModelVersions(organizationId: string, name: string): Promise<PackageVersion[]> {
    return this.#models.versions(organizationId, name);
  }

  /** @param version - `latest`: the newest. @throws PlatformApiError PACKAGE_NOT_FOUND. */
  getModelVersion(organizationId: string, name: string, version = 'latest'): Promise<PackageVersion> {
    return this.#models.version(organizationId, name, version);
  }

  /**
   * Downloads the .tar.gz of a version in chunks and resumes after a broken connection. It verifies the sha256 after
   * the last chunk, so do not use the data before the iteration ends.
   *
   * @returns at its end the version, also for `latest`.
   * @throws PlatformApiError PACKAGE_NOT_FOUND, DOWNLOAD_CORRUPT.
   * @example for await (const piece of client.modelClient.downloadModel(organizationId, 'things')) file.write(piece);
   */
  downloadModel(
    organizationId: string,
    name: string,
    version = 'latest',
    options: DownloadOptions = {},
  ): AsyncGenerator<Bytes, PackageVersion> {
    return this.#models.download(organizationId, name, version, options);
  }

  /** Like `downloadModel`, but returns all bytes. */
  async downloadModelBytes(
    organizationId: string,
    name: string,
    version = 'latest',
    options: DownloadOptions = {},
  ): Promise<Bytes> {
    const pieces: Bytes[] = [];
    for await (const piece of this.downloadModel(organizationId, name, version, options)) pieces.push(piece);
    return new Uint8Array(await new Blob(pieces).arrayBuffer());
  }

  /** Removes a version; its number cannot be used again. @throws PlatformApiError PACKAGE_NOT_FOUND, PACKAGE_IN_USE. */
  async deleteModelVersion(organizationId: string, name: string, version: string): Promise<void> {
    await this.#models.remove(organizationId, name, version);
  }
}
