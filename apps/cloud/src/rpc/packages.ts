import type { JsonObject } from '@bufbuild/protobuf';
import type { ConnectRouter, HandlerContext } from '@connectrpc/connect';
import { PlatformError } from '@platform/contract/errors';
import {
  type CreatePackageRequest,
  type PackageInfo,
  PackageService,
  PackageType,
} from '@platform/contract/gen/platform/app/packages/v1/packages_pb';
import { checkScriptArchive } from '@platform/sandbox/archive';
import { callerOf } from '../auth/caller.ts';
import { putWithCrc } from '../blobs/package-archive.ts';
import { belongsTo, type Caller, requireReaderOrPart, requireOwner } from '../rules/permissions.ts';
import * as check from '../rules/submission.ts';
import { audit } from '../store/audit.ts';
import { claimVersion } from '../store/jobs.ts';
import { noteBlob } from '../store/owned-blobs.ts';
import { findPackage, listPackages, orgOfNamespace, publish, removeVersion, type Version } from '../store/registry.ts';
import { baseUrlOf } from './base-url.ts';
import { kindOfType, typeOfKind } from './package-kinds.ts';
import { timeOf } from './protobuf-times.ts';
import type { Deps } from './routes.ts';

type PackageDeps = Pick<Deps, 'db' | 'blobs' | 'clock' | 'publicUrl' | 'listensAt'>;

const packageLimitBytes = 4 * 1024 ** 3;
/** A script's archive; what it holds unpacked has limits of its own. */
const scriptLimitBytes = 100 * 1024 ** 2;

/** Path of the download on this server. */
export const packagePath = (row: Pick<Version, 'orgId' | 'name' | 'version'>): string =>
  `/packages/${row.orgId}/${encodeURIComponent(row.name)}/${encodeURIComponent(row.version)}.tar.gz`;

export const packageRoutes =
  (deps: PackageDeps) =>
  (router: ConnectRouter): void => {
    const { db } = deps;
    const message = (row: Version, context: HandlerContext, withUrl: boolean) => ({
      id: `${row.orgId}/${row.name}`,
      info: {
        organizationId: row.orgId,
        name: row.name,
        version: row.version,
        type: typeOfKind.get(row.type) ?? PackageType.UNSPECIFIED,
        files: row.files.map((file) => ({ name: file.path, size: BigInt(file.size_bytes) })),
        metadata: row.metadata as JsonObject,
        ...(row.platform === null ? {} : { platform: row.platform }),
      },
      url: withUrl ? `${baseUrlOf(deps, context)}${packagePath(row)}` : '',
      createdOn: timeOf(row.createdOn),
      checksum: row.packageSha256,
    });

    router.service(PackageService, {
      createPackage: (messages, context) => createPackage(deps, messages, callerOf(context)),

      async getPackage({ id, version, type, includeUrl }, context) {
        const absent = () => new PlatformError('PACKAGE_NOT_FOUND', { packageId: id, version });
        const { owner, name } = check.packageId('id', id);
        const orgId = await orgOfNamespace(db, owner);
        if (orgId === undefined) throw absent();
        requireReaderOrPart(callerOf(context), orgId, absent);
        const kind = type ? kindOfType.get(type) : undefined;
        const row = await findPackage(db, { orgId, name, version: version || 'latest', type: kind });
        if (!row) throw absent();
        return { package: message(row, context, includeUrl ?? false) };
      },

      async listPackages({ organizationId, name, version, type, includeUrl }, context) {
        requireReaderOrPart(callerOf(context), check.filled('organization_id', organizationId));
        const kind = type ? kindOfType.get(type) : undefined;
        const rows = await listPackages(db, { orgId: organizationId, name, version, type: kind });
        return { packages: rows.map((row) => message(row, context, includeUrl ?? false)) };
      },

      async deletePackage({ id, version }, context) {
        const caller = callerOf(context);
        const absent = () => new PlatformError('PACKAGE_NOT_FOUND', { packageId: id, version });
        const { owner: orgId, name } = check.packageId('id', id);
        if (!belongsTo(caller, orgId)) throw absent();
        requireOwner(caller, orgId, absent);
        if (!(await removeVersion(db, { orgId, name, version }))) throw absent();
        await audit(db, { orgId, caller, action: 'delete package', subject: `${id} ${version}` });
        return {};
      },
    });
  };

/** First the info, then the archive in pieces. The version exists only when all of it has arrived. */
async function createPackage(
  { db, blobs, clock }: PackageDeps,
  messages: AsyncIterable<CreatePackageRequest>,
  caller: Caller,
): Promise<{ id: string; version: string }> {
  const stream = messages[Symbol.asyncIterator]();
  const first = (await stream.next()).value?.package;
  if (first?.case !== 'info') {
    throw new PlatformError('INVALID_ARGUMENT', {
      field: 'package',
      value: '',
      limit: 'the first message carries the info',
    });
  }
  const info: PackageInfo = first.value;
  const orgId = check.filled('organization_id', info.organizationId);
  requireOwner(caller, orgId);
  const name = check.packageName('name', info.name);
  const kind = kindOfType.get(info.type);
  if (!kind) {
    const limit = [...kindOfType.values()].map((one) => one.toUpperCase()).join(', ');
    throw new PlatformError('INVALID_ARGUMENT', { field: 'type', value: info.type, limit });
  }
  const now = clock.wall();
  // Public clients leave it out and mean: a new one.
  const version = info.version === '' ? String(now) : check.packageVersion('version', info.version);
  const limitBytes = kind === 'ml_training' ? scriptLimitBytes : packageLimitBytes;
  const packed = await putWithCrc(blobs, archiveBytes(stream), { limitBytes });
  // What no runner could unpack is refused now; bytes without a row are harmless.
  if (kind === 'ml_training') await checkScriptArchive(await blobs.get(packed.sha256));
  await db.transaction().execute(async (trx) => {
    await claimVersion(trx, { orgId, modelName: name, modelVersion: version, claimedBy: null, now });
    await noteBlob(trx, orgId, packed);
    await publish(trx, {
      orgId,
      name,
      type: kind,
      version,
      packed,
      files: info.files.map((file) => ({ path: file.name, size_bytes: Number(file.size) })),
      metadata: info.metadata ?? {},
      platform: info.platform,
      now,
    });
    await audit(trx, { orgId, caller, action: 'create package', subject: `${orgId}/${name} ${version}` });
  });
  return { id: `${orgId}/${name}`, version };
}

const badContents = (limit: string): PlatformError =>
  new PlatformError('INVALID_ARGUMENT', { field: 'contents', value: '', limit });

/** Machines unpack it as gzip; anything else would fail there, for ever. */
async function* archiveBytes(stream: AsyncIterator<CreatePackageRequest>): AsyncGenerator<Uint8Array> {
  let head = Buffer.alloc(0);
  for (let next = await stream.next(); !next.done; next = await stream.next()) {
    const packet = next.value.package;
    if (packet.case !== 'contents') throw badContents('only contents after the first message');
    if (head.length < 2) head = Buffer.concat([head, packet.value.subarray(0, 2)]);
    if (head.length >= 2 && (head[0] !== 0x1f || head[1] !== 0x8b))
      throw badContents('the package must be a .tar.gz file');
    yield packet.value;
  }
  if (head.length < 2) throw badContents('it must not be empty');
}
