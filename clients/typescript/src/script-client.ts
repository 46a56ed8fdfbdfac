import { ModelFramework, ModelType } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import type { RegistryItem } from '@platform/contract/gen/platform/app/v1/app_pb';
import type { Connection } from './connection.ts';
import type { DownloadOptions } from './download.ts';
import type { Packages, PackageVersion } from './packages.ts';

export interface ScriptUploadOptions {
  /** A version not used before for this script. Default: the server generates one. */
  readonly version?: string;
  /** The model type that the script trains; shown with its jobs. */
  readonly modelType?: ModelType;
  readonly modelFramework?: ModelFramework;
  readonly draft?: boolean;
  readonly signal?: AbortSignal;
}

type Bytes = Uint8Array<ArrayBuffer>;

/** Training scripts of the registry. */
export class TrainingScriptClient {
  readonly #scripts: Packages;
  readonly #connection: Connection;

  constructor(scripts: Packages, connection: Connection) {
    this.#scripts = scripts;
    this.#connection = connection;
  }

  /** Lists the training scripts of an organization with their versions. */
  listTrainingScripts(organizationId: string): Promise<RegistryItem[]> {
    return this.#scripts.items(organizationId);
  }

  /** Lists all versions of a script, newest first. */
  listTrainingScriptVersions(organizationId: string, name: string): Promise<PackageVersion[]> {
    return this.#scripts.versions(organizationId, name);
  }

  /**
   * Publishes a version of a training script.
   *
   * @param archive - .tar.gz of a Python project with setup.py and model/training.py.
   * @returns its version.
   * @throws PlatformApiError SCRIPT_ARCHIVE_INVALID, MODEL_VERSION_TAKEN, NOT_OWNER.
   */
  async uploadTrainingScript(
    organizationId: string,
    name: string,
    archive: Bytes,
    options: ScriptUploadOptions = {},
  ): Promise<string> {
    const metadata = {
      model_type: nameOf(ModelType, options.modelType),
      model_framework: nameOf(ModelFramework, options.modelFramework),
      draft: options.draft ?? false,
    };
    const query = new URLSearchParams({
      type: 'ml_training',
      version: options.version ?? '',
      metadata: JSON.stringify(metadata),
    });
    const path = `/packages/${encodeURIComponent(organizationId)}/${encodeURIComponent(name)}?${query.toString()}`;
    const signal = options.signal ? { signal: options.signal } : {};
    const response = await this.#connection.request(path, { method: 'POST', body: archive, ...signal });
    const { version } = (await response.json()) as { version: string };
    return version;
  }

  /** Downloads the .tar.gz like downloadModel. @throws PlatformApiError PACKAGE_NOT_FOUND, DOWNLOAD_CORRUPT. */
  downloadTrainingScript(
    organizationId: string,
    name: string,
    version = 'latest',
    options: DownloadOptions = {},
  ): AsyncGenerator<Bytes, PackageVersion> {
    return this.#scripts.download(organizationId, name, version, options);
  }

  /** Removes a version; its number cannot be used again. @throws PlatformApiError PACKAGE_NOT_FOUND. */
  async deleteTrainingScriptVersion(organizationId: string, name: string, version: string): Promise<void> {
    await this.#scripts.remove(organizationId, name, version);
  }
}

const nameOf = (of: Readonly<Record<string, number>>, value: number | undefined): string =>
  (Object.entries(of).find(([, number]) => number === (value ?? 0))?.[0] ?? 'unspecified').toLowerCase();
