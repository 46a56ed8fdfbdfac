import { modelArchive } from '@platform/contract/job/archive-rules';
import { PlatformError } from '@platform/contract/errors/errors';
import { checkScriptArchive } from '@platform/sandbox/archive';
import { checkModelArchive } from '@platform/sandbox/model-archive';
import type { Clock } from '@platform/kit';
import { type Caller, requireOwner } from '../access/rules/permissions.ts';
import { audited } from '../access/store/audited.ts';
import type { BlobStore } from '../blobs/blob-store.ts';
import type { OrganizationUsage } from '../blobs/organization-usage.ts';
import { putWithCrc } from '../blobs/package-archive.ts';
import { noteBlob } from '../blobs/store/owned-blobs.ts';
import type { Database } from '../database/database.ts';
import type { PackageFile, PackageKind } from '../database/training-schema.ts';
import * as check from '../rpc/rules/field-checks.ts';
import { kindOfType } from './package-kinds.ts';
import { publish, refuseTakenName } from './store/registry.ts';
import { claimVersion } from './store/version-claims.ts';

const packageLimitBytes = modelArchive.limits.unpackedBytes;
/** Limit of a script's archive; its unpacked contents have limits of their own. */
const scriptLimitBytes = 100 * 1024 ** 2;

/** A package as the caller sends it. */
export type SentPackage = {
  orgId: string;
  name: string;
  /** '': the server chooses one. */
  version: string;
  kind: PackageKind | undefined;
  files: readonly PackageFile[];
  metadata: { [key: string]: unknown };
  platform?: string | undefined;
  /** Bytes of the archive, if the sender announces them. */
  announcedBytes?: number;
};

/**
 * Stores an archive and publishes it. The version exists once the archive is complete and can be unpacked.
 *
 * @throws PlatformError INVALID_ARGUMENT, NOT_OWNER, SCRIPT_ARCHIVE_INVALID, MODEL_ARCHIVE_INVALID,
 * MODEL_VERSION_TAKEN, SCRIPT_VERSION_TAKEN, NAME_TAKEN, BLOB_TOO_LARGE, ORGANIZATION_FULL
 */
export async function storePackage(
  { db, blobs, clock, usage }: { db: Database; blobs: BlobStore; clock: Clock; usage: OrganizationUsage },
  sent: SentPackage,
  bytes: AsyncIterable<Uint8Array>,
  caller: Caller,
): Promise<{ id: string; version: string }> {
  const orgId = check.filled('organization_id', sent.orgId);
  requireOwner(caller, orgId);
  const name = check.packageName('name', sent.name);
  const { kind } = sent;
  if (!kind) {
    const limit = [...kindOfType.values()].map((one) => one.toUpperCase()).join(', ');
    throw new PlatformError('INVALID_ARGUMENT', { field: 'type', value: '', limit });
  }
  const now = clock.wall();
  // Public clients omit the version to create a new one.
  const version = sent.version === '' ? String(now) : check.packageVersion('version', sent.version);
  await refuseTakenName(db, { orgId, name, type: kind });
  const limitBytes = kind === 'ml_training' ? scriptLimitBytes : packageLimitBytes;
  using admission = await usage.admit([orgId], sent.announcedBytes);
  const packed = await putWithCrc(blobs, admission.counted(zipped(bytes)), { limitBytes });
  // Reject now what no runner or machine could unpack; bytes without a row are harmless.
  if (kind === 'ml_training') await checkScriptArchive(await blobs.get(packed.sha256));
  if (kind === 'ml_model') await checkModelArchive(await blobs.get(packed.sha256));
  const { files, metadata, platform } = sent;
  await audited({ db }, caller, async (trx, record) => {
    await claimVersion(trx, { orgId, modelName: name, modelVersion: version, claimedBy: null, now }, kind);
    await noteBlob(trx, orgId, packed);
    await publish(trx, { orgId, name, type: kind, version, packed, files, metadata, platform, now });
    await record({ orgId, action: 'create package', subject: `${orgId}/${name} ${version}` });
  });
  admission.keep();
  return { id: `${orgId}/${name}`, version };
}

/** Machines unpack the package with gzip, so any other format would fail there on every attempt. */
async function* zipped(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let head = Buffer.alloc(0);
  for await (const chunk of bytes) {
    if (head.length < 2) head = Buffer.concat([head, chunk.subarray(0, 2)]);
    if (head.length >= 2 && (head[0] !== 0x1f || head[1] !== 0x8b))
      throw badContents('the package must be a .tar.gz file');
    yield chunk;
  }
  if (head.length < 2) throw badContents('it must not be empty');
}

const badContents = (limit: string): PlatformError =>
  new PlatformError('INVALID_ARGUMENT', { field: 'contents', value: '', limit });
