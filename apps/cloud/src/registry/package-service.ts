import type { JsonObject } from '@bufbuild/protobuf';
import type { ConnectRouter, HandlerContext, ServiceImpl } from '@connectrpc/connect';
import { PlatformError } from '@platform/contract/errors/errors';
import {
  type CreatePackageRequest,
  type PackageInfo,
  PackageService,
  PackageType,
} from '@platform/contract/gen/platform/app/packages/v1/packages_pb';
import type { Clock } from '@platform/kit';
import { callerOf } from '../access/caller.ts';
import { belongsTo, type Caller, requireReaderOrPart, requireOwner } from '../access/rules/permissions.ts';
import { audited } from '../access/store/audited.ts';
import type { BlobStore } from '../blobs/blob-store.ts';
import type { OrganizationUsage } from '../blobs/organization-usage.ts';
import type { Database } from '../database/database.ts';
import { timeOf } from '../rpc/protobuf-times.ts';
import * as check from '../rpc/rules/field-checks.ts';
import { packageToken, pageOf, readPackageToken } from '../rpc/rules/page-tokens.ts';
import { baseUrlOf, type Addresses } from '../wire/base-url.ts';
import { kindOfType, typeOfKind } from './package-kinds.ts';
import { limitingNames, readablePackages, requirePackageReader } from './rules/named-resources.ts';
import { storePackage } from './store-package.ts';
import { namesFrom } from './store/named-resources.ts';
import {
  findPackage,
  listPackages,
  machinesWith,
  orgOfNamespace,
  removeVersion,
  type Version,
} from './store/registry.ts';
import { invalidArgument } from '../rpc/rules/invalid-argument.ts';

type StoreDeps = { db: Database; blobs: BlobStore; clock: Clock; usage: OrganizationUsage };

/** Path of the download on this server. */
const packagePath = (row: Pick<Version, 'orgId' | 'name' | 'version'>): string =>
  `/packages/${row.orgId}/${encodeURIComponent(row.name)}/${encodeURIComponent(row.version)}.tar.gz`;

const packageMessage = (row: Version, baseUrl: string | undefined) => ({
  id: `${row.orgId}/${row.name}`,
  info: {
    organizationId: row.orgId,
    name: row.name,
    version: row.version,
    type: typeOfKind.get(row.type) ?? PackageType.UNSPECIFIED,
    files: row.files.map((file) => ({ name: file.path, size: BigInt(file.size_bytes) })),
    metadata: metadataOf(row),
    ...(row.platform === null ? {} : { platform: row.platform }),
  },
  url: baseUrl === undefined ? '' : `${baseUrl}${packagePath(row)}`,
  createdOn: timeOf(row.createdOn),
  checksum: row.packageSha256,
});

const readCalls = (deps: { db: Database; addresses: Addresses }) => {
  const { db } = deps;
  const namesOf = namesFrom(db);
  const urlFor = (includeUrl: boolean | undefined, context: HandlerContext) =>
    includeUrl === true ? baseUrlOf(deps, context) : undefined;
  return {
    async getPackage({ id, version, type, includeUrl }, context) {
      const absent = () => new PlatformError('PACKAGE_NOT_FOUND', { packageId: id, version });
      const { owner, name } = check.packageId('id', id);
      const orgId = await orgOfNamespace(db, owner);
      if (orgId === undefined) throw absent();
      const kind = type ? kindOfType.get(type) : undefined;
      const row = await findPackage(db, { orgId, name, version: version || 'latest', type: kind });
      // Any caller may use a public package.
      if (!row) requireReaderOrPart(callerOf(context), orgId, absent);
      if (!row) throw absent();
      if (row.visibility === 'private') await requirePackageReader(callerOf(context), row, namesOf, absent);
      return { package: packageMessage(row, urlFor(includeUrl, context)) };
    },

    async listPackages({ organizationId, name, version, type, includeUrl, pageSize, pageToken }, context) {
      const caller = callerOf(context);
      const page = pageOf({ pageSize, pageToken }, readPackageToken);
      requireReaderOrPart(caller, check.filled('organization_id', organizationId));
      const kind = type ? kindOfType.get(type) : undefined;
      const names = await limitingNames(caller, namesOf);
      const of = { orgId: organizationId, name, version, type: kind, named: names?.packages };
      const { rows, isCut } = await listPackages(db, of, page);
      const readable = readablePackages(caller, rows, names);
      const last = rows.at(-1);
      const baseUrl = urlFor(includeUrl, context);
      return {
        packages: readable.map((row) => packageMessage(row, baseUrl)),
        truncated: isCut,
        nextPageToken: isCut && last ? packageToken(last.ordinal) : '',
      };
    },
  } satisfies Partial<ServiceImpl<typeof PackageService>>;
};

const editCalls = (deps: StoreDeps) =>
  ({
    createPackage: (messages, context) => createPackage(deps, messages, callerOf(context)),

    async deletePackage({ id, version }, context) {
      const caller = callerOf(context);
      const absent = () => new PlatformError('PACKAGE_NOT_FOUND', { packageId: id, version });
      const { owner: orgId, name } = check.packageId('id', id);
      if (!belongsTo(caller, orgId)) throw absent();
      requireOwner(caller, orgId, absent);
      const { count, machine } = await machinesWith(deps.db, { orgId, name, version });
      if (count > 0) throw new PlatformError('PACKAGE_IN_USE', { packageId: id, version, count, machine });
      const isRemoved = await audited({ db: deps.db }, caller, async (trx, record) => {
        if (!(await removeVersion(trx, { orgId, name, version }))) return false;
        await record({ orgId, action: 'delete package', subject: `${id} ${version}` });
        return true;
      });
      if (!isRemoved) throw absent();
      return {};
    },
  }) satisfies Partial<ServiceImpl<typeof PackageService>>;

export const packageRoutes =
  (deps: StoreDeps & { addresses: Addresses }) =>
  (router: ConnectRouter): void => {
    router.service(PackageService, { ...readCalls(deps), ...editCalls(deps) });
  };

/** Reads the info, then the archive in chunks. The version exists once all chunks have arrived. */
async function createPackage(
  deps: StoreDeps,
  messages: AsyncIterable<CreatePackageRequest>,
  caller: Caller,
): Promise<{ id: string; version: string }> {
  const stream = messages[Symbol.asyncIterator]();
  const first = (await stream.next()).value?.package;
  if (first?.case !== 'info') {
    throw invalidArgument('package', '', 'the first message carries the info');
  }
  const info: PackageInfo = first.value;
  return storePackage(
    deps,
    {
      orgId: info.organizationId,
      name: info.name,
      version: info.version,
      kind: kindOfType.get(info.type),
      files: info.files.map((file) => ({ path: file.name, size_bytes: Number(file.size) })),
      metadata: info.metadata ?? {},
      platform: info.platform,
    },
    contentsOf(stream),
    caller,
  );
}

async function* contentsOf(stream: AsyncIterator<CreatePackageRequest>): AsyncGenerator<Uint8Array> {
  for (let next = await stream.next(); !next.done; next = await stream.next()) {
    const packet = next.value.package;
    if (packet.case !== 'contents') throw badContents('only contents after the first message');
    yield packet.value;
  }
}

const badContents = (limit: string): PlatformError =>
  new PlatformError('INVALID_ARGUMENT', { field: 'contents', value: '', limit });

/** The metadata as sent, with the lineage. */
function metadataOf(row: Version): JsonObject {
  const lineage = {
    ...(row.jobId === null ? {} : { job_id: row.jobId }),
    ...(row.datasetId === null ? {} : { dataset_id: row.datasetId }),
    ...(row.datasetVersionId === null ? {} : { dataset_version_id: row.datasetVersionId }),
    ...(row.scriptId === null ? {} : { script_id: row.scriptId, script_version: row.scriptVersion ?? '' }),
  };
  return { ...(row.metadata as JsonObject), ...(Object.keys(lineage).length > 0 ? { lineage } : {}) };
}
