import { createHash, verify } from 'node:crypto';
import { PlatformError } from '@platform/contract/errors';
import { readRoot, readTargets, rolesOf, targetsOf } from './documents.ts';
import { isProgram } from './targets.ts';

/**
 * SHA256SUMS for installers that are shell scripts: every signed program with its path below /releases/, and the root
 * document, by which the agent that is installed checks everything else. Made of the two documents alone, so that publisher
 * and server have the same text.
 */
export function installerList(root: Uint8Array, targets: Uint8Array): string {
  const { version, expires } = readTargets(targets).signed;
  const lines = targetsOf(targets)
    .flatMap(({ path, sha256, custom }) => (isProgram(custom) ? [`${sha256}  ${path}/${custom.name}`] : []))
    .toSorted((a, b) => (a.slice(66) < b.slice(66) ? -1 : 1));
  const rootHash = createHash('sha256').update(root).digest('hex');
  const rootLine = `${rootHash}  tuf/${readRoot(root).signed.version}.root.json`;
  return [`# targets ${version}, valid until ${expires}`, ...lines, rootLine, ''].join('\n');
}

/** @throws PlatformError METADATA_REFUSED */
export function checkInstallerList(root: Uint8Array, targets: Uint8Array, signature: Uint8Array): void {
  let isRight = false;
  try {
    isRight = verify('sha256', Buffer.from(installerList(root, targets)), rolesOf(root).installerKey, signature);
  } catch {
    // a signature or key of another form
  }
  if (!isRight) {
    throw new PlatformError('METADATA_REFUSED', {
      problem: 'SHA256SUMS: the signature is not by the installer key of the root document',
    });
  }
}
