import { createHash, verify } from 'node:crypto';
import { PlatformError } from '@platform/contract/errors/errors';
import { readRoot, readTargets, rolesOf, targetsOf } from './documents.ts';
import { isAttachment, isProgram, type Target } from './targets.ts';

/**
 * SHA256SUMS for shell installers: every signed program and attachment with its path below /releases/, and the root
 * document. The installed agent verifies everything else by that root document. The text depends only on the two documents, so that
 * publisher and server produce the same bytes.
 */
export function installerList(root: Uint8Array, targets: Uint8Array): string {
  const { version, expires } = readTargets(targets).signed;
  const lines = targetsOf(targets)
    .flatMap((target) => lineOf(target) ?? [])
    .toSorted((a, b) => (a.slice(66) < b.slice(66) ? -1 : 1));
  const rootHash = createHash('sha256').update(root).digest('hex');
  const rootLine = `${rootHash}  tuf/${readRoot(root).signed.version}.root.json`;
  return [`# targets ${version}, valid until ${expires}`, ...lines, rootLine, ''].join('\n');
}

function lineOf({ path, sha256, custom }: Target): string | undefined {
  if (isProgram(custom)) return `${sha256}  ${path}/${custom.name}`;
  return isAttachment(custom) ? `${sha256}  ${path}` : undefined;
}

/** @throws PlatformError METADATA_REFUSED */
export function checkInstallerList(root: Uint8Array, targets: Uint8Array, signature: Uint8Array): void {
  let isRight = false;
  try {
    isRight = verify('sha256', Buffer.from(installerList(root, targets)), rolesOf(root).installerKey, signature);
  } catch {
    // the signature or the key has another format
  }
  if (!isRight) {
    throw new PlatformError('METADATA_REFUSED', {
      problem: 'SHA256SUMS: the signature is not by the installer key of the root document',
    });
  }
}
