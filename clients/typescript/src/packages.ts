import type { Client } from '@connectrpc/connect';
import {
  type Package,
  type PackageService,
  PackageType,
} from '@platform/contract/gen/platform/app/packages/v1/packages_pb';
import type { AppService, RegistryItem } from '@platform/contract/gen/platform/app/v1/app_pb';
import type { Connection } from './connection.ts';
import { type DownloadOptions, download } from './download.ts';
import { localError } from './errors.ts';
import { allPages } from './pages.ts';

/** A version of a model, a script or another package. */
export interface PackageVersion {
  /** `<organization ID>/<name>`. */
  readonly id: string;
  readonly organizationId: string;
  readonly name: string;
  readonly version: string;
  /** In hex, of the .tar.gz. */
  readonly sha256: string;
  /** Paths and sizes in bytes of the files in the archive. */
  readonly files: readonly { readonly path: string; readonly sizeBytes: number }[];
  /** Metadata as published; `lineage` names the job, dataset and script of a model. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Milliseconds since 1970. */
  readonly createdOn: number;
}

type Bytes = Uint8Array<ArrayBuffer>;

/** Operations shared by models and training scripts. */
export class Packages {
  readonly #packages: Client<typeof PackageService>;
  readonly #app: Client<typeof AppService>;
  readonly #connection: Connection;
  readonly #type: PackageType;

  constructor(of: {
    packages: Client<typeof PackageService>;
    app: Client<typeof AppService>;
    connection: Connection;
    type: PackageType;
  }) {
    this.#packages = of.packages;
    this.#app = of.app;
    this.#connection = of.connection;
    this.#type = of.type;
  }

  async items(organizationId: string): Promise<RegistryItem[]> {
    const { items } = await this.#app.listRegistryItems({ organizationId, types: [this.#type] });
    return items;
  }

  async versions(organizationId: string, name: string): Promise<PackageVersion[]> {
    return allPages(async (pageToken) => {
      const of = { organizationId, name, type: this.#type, pageToken };
      const { packages, nextPageToken } = await this.#packages.listPackages(of);
      return { rows: packages.map(versionOf), nextPageToken };
    });
  }

  async version(organizationId: string, name: string, version: string): Promise<PackageVersion> {
    const id = `${organizationId}/${name}`;
    const answer = await this.#packages.getPackage({ id, version, type: this.#type });
    if (!answer.package)
      throw localError('PACKAGE_NOT_FOUND', `There is no package ${id}.`, { packageId: id, version });
    return versionOf(answer.package);
  }

  async *download(
    organizationId: string,
    name: string,
    version: string,
    options: DownloadOptions,
  ): AsyncGenerator<Bytes, PackageVersion> {
    const found = await this.version(organizationId, name, version);
    const path = [organizationId, name, `${found.version}.tar.gz`].map(encodeURIComponent).join('/');
    yield* download(this.#connection, `/packages/${path}`, found.sha256, options);
    return found;
  }

  async remove(organizationId: string, name: string, version: string): Promise<void> {
    await this.#packages.deletePackage({ id: `${organizationId}/${name}`, version, type: this.#type });
  }
}

function versionOf({ id, info, checksum, createdOn }: Package): PackageVersion {
  return {
    id,
    organizationId: info?.organizationId ?? '',
    name: info?.name ?? '',
    version: info?.version ?? '',
    sha256: checksum,
    files: (info?.files ?? []).map(({ name: path, size }) => ({ path, sizeBytes: Number(size) })),
    metadata: info?.metadata ?? {},
    createdOn: createdOn ? Number(createdOn.seconds) * 1000 + Math.floor(createdOn.nanos / 1e6) : 0,
  };
}
