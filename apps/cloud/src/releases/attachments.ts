import type { ReleaseAttachment } from '@platform/contract/gen/platform/release/v1/release_pb';
import { PlatformError } from '@platform/contract/errors/errors';
import {
  type AttachmentKind,
  attachmentFiles,
  attachmentTargetPath,
  isAttachmentKind,
} from '@platform/contract/releases/target-path';
import { attachmentLimitBytes, checkSbom } from '@platform/releases/sbom';
import type { Target } from '@platform/releases/targets';
import type { Trx } from '../database/database.ts';
import { type BlobStore, readBlob } from '../blobs/blob-store.ts';
import { type AttachmentRow, insertAttachment, keepAttachments } from './store/attachments.ts';
import { findRelease } from './store/releases.ts';

const isListedIn = (targets: readonly Target[]) => {
  const hashes = new Map(targets.map((one) => [one.path, `${one.sha256} ${one.sizeBytes}`]));
  return (row: AttachmentRow): boolean =>
    hashes.get(attachmentTargetPath(row)) === `${row.sha256.toString('hex')} ${row.sizeBytes}`;
};

/**
 * Stores attachments that the signed targets list, and removes those that they no longer list.
 *
 * @throws PlatformError METADATA_REFUSED, RELEASE_NOT_FOUND, RELEASE_ATTACHMENT_REFUSED
 */
export async function storeAttachments(
  trx: Trx,
  blobs: BlobStore,
  targets: readonly Target[],
  attachments: readonly AttachmentRow[],
): Promise<void> {
  const isListed = isListedIn(targets);
  for (const row of attachments) {
    const { name, version, platform } = row;
    if (!isListed(row)) {
      const problem = `the signed targets do not list ${attachmentTargetPath(row)} with these bytes`;
      throw new PlatformError('METADATA_REFUSED', { problem });
    }
    const release = await findRelease(trx, name, version, platform);
    if (!release) throw new PlatformError('RELEASE_NOT_FOUND', { name, version, platform });
    if (row.kind === 'sbom') {
      const bytes = await readBlob(blobs, row.sha256.toString('hex'));
      checkSbom(bytes, { name, version, platform, sha256: release.sha256.toString('hex') });
    }
    await insertAttachment(trx, row);
  }
  await keepAttachments(trx, isListed);
}

/** Validates the words of an attachment. @throws PlatformError INVALID_ARGUMENT */
export function attachmentKindOf({ kind, sizeBytes }: ReleaseAttachment): AttachmentKind {
  const refuse = (field: string, value: string, limit: string): never => {
    throw new PlatformError('INVALID_ARGUMENT', { field, value: value.slice(0, 60), limit });
  };
  if (!isAttachmentKind(kind)) return refuse('attachments.kind', kind, Object.keys(attachmentFiles).join(', '));
  if (sizeBytes > BigInt(attachmentLimitBytes))
    refuse('attachments.size_bytes', String(sizeBytes), `${attachmentLimitBytes}`);
  return kind;
}

export const attachmentMessage = (row: AttachmentRow, baseUrl: string) => ({
  ...row,
  sizeBytes: BigInt(row.sizeBytes),
  url: `${baseUrl}/releases/${attachmentTargetPath(row)}`,
});
