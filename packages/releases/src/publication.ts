import { PlatformError } from '@platform/contract/errors/errors';
import { attachmentTargetPath, patchTargetPath, programTargetPath } from '@platform/contract/releases/target-path';
import { readRoot, readTargets, rolesOf, sign, signRoot, signTargets, targetsOf, type Roles } from './documents.ts';
import { installerList } from './installer-list.ts';
import type { KeyRing } from './key-folder.ts';
import { keyId, type PublicKey, type SigningKey } from './keys.ts';
import type { AttachmentWords, PatchWords, ProgramWords, Target } from './targets.ts';

// Creates what a publisher signs, from the documents that the server currently serves. The publisher sends it as one
// submission.

/** The documents that the server currently serves; empty bytes: none yet. */
export interface Current {
  readonly root: Uint8Array;
  readonly targets: Uint8Array;
  /** The key with which the server signs snapshot and timestamp. */
  readonly onlineKey: PublicKey;
}

/** Signed documents to send to the server; an absent field leaves the document unchanged. */
export interface Submission {
  readonly root?: Buffer;
  readonly targets?: Buffer;
  readonly installerSignature?: Buffer;
}

interface File {
  readonly sizeBytes: number;
  readonly sha256: string;
}
export const programTarget = (custom: ProgramWords, file: File): Target => ({
  path: programTargetPath(custom),
  ...file,
  custom,
});
export const patchTarget = (custom: PatchWords, file: File): Target => ({
  path: patchTargetPath({ fromSha256: custom.from_sha256, toSha256: custom.to_sha256 }),
  ...file,
  custom,
});
export const attachmentTarget = (custom: AttachmentWords, file: File): Target => ({
  path: attachmentTargetPath({
    kind: custom.attachment,
    name: custom.program,
    version: custom.version,
    platform: custom.platform,
  }),
  ...file,
  custom,
});

/**
 * The first root document, with all root keys of the ring.
 *
 * @throws PlatformError SIGNING_KEYS_MISSING
 */
export function firstRoot(ring: KeyRing, threshold: number, onlineKey: PublicKey, now: number): Buffer {
  if (ring.root.length < threshold || ring.root.length === 0) throw missing('root', ring.root.length, threshold, ring);
  return signRoot({
    version: 1,
    now,
    keys: ring.root,
    roles: {
      root: { keys: ring.root.map((key) => key.publicKey), threshold },
      targets: { keys: ring.targets.map((key) => key.publicKey), threshold: 1 },
      online: [onlineKey],
      installerKey: one(ring.installer, 'installer', ring).publicPem,
    },
  });
}

/**
 * The next root document, signed with every root key of the ring that the old or the new document lists. It may need
 * more signatures: the old and the new threshold must both be met.
 */
export function draftRoot(current: Uint8Array, roles: Roles, ring: KeyRing, now: number): Buffer {
  const wanted = new Set([...rolesOf(current).root.keys, ...roles.root.keys].map(keyId));
  const keys = ring.root.filter((key) => wanted.has(key.id));
  return signRoot({ version: readRoot(current).signed.version + 1, now, roles, keys });
}

/**
 * The next root document, fully signed; `change` maps the current roles to the new ones.
 *
 * @throws PlatformError SIGNING_KEYS_MISSING when the ring has too few keys of the old or the new root.
 */
export function nextRoot(current: Uint8Array, ring: KeyRing, now: number, change: (roles: Roles) => Roles): Buffer {
  const before = rolesOf(current);
  const roles = change(before);
  for (const { root } of [before, roles]) {
    const found = ring.root.filter((key) => root.keys.some((wanted) => keyId(wanted) === key.id)).length;
    if (found < root.threshold) throw missing('root', found, root.threshold, ring);
  }
  return draftRoot(current, roles, ring, now);
}

/** Adds signatures to a root document, for keys that are stored in different places. */
export function signRootMore(bytes: Uint8Array, keys: readonly SigningKey[]): { bytes: Buffer; signatures: number } {
  const document = readRoot(bytes);
  sign(document, keys);
  return {
    bytes: Buffer.from(JSON.stringify(document.toJSON())),
    signatures: Object.keys(document.signatures).length,
  };
}

/**
 * The next targets document with added and removed files, and the installer list for it.
 *
 * @param root - the root document that is valid when the submission arrives.
 * @throws PlatformError SIGNING_KEYS_MISSING
 */
export function nextTargets(
  { root, targets }: { root: Uint8Array; targets: Uint8Array },
  ring: KeyRing,
  now: number,
  change: { add?: readonly Target[]; isRemoved?: (target: Target) => boolean } = {},
): Required<Pick<Submission, 'targets' | 'installerSignature'>> {
  const roles = rolesOf(root);
  const keys = ring.targets.filter((key) => roles.targets.keys.some((wanted) => keyId(wanted) === key.id));
  if (keys.length < roles.targets.threshold) throw missing('targets', keys.length, roles.targets.threshold, ring);
  const listed = new Map((targets.length > 0 ? targetsOf(targets) : []).map((target) => [target.path, target]));
  for (const target of listed.values()) if (change.isRemoved?.(target)) listed.delete(target.path);
  for (const target of change.add ?? []) listed.set(target.path, target);
  const version = (targets.length > 0 ? readTargets(targets).signed.version : 0) + 1;
  const signed = signTargets({ version, targets: [...listed.values()], now, keys });
  return { targets: signed, installerSignature: signInstallerList(root, signed, ring) };
}

/**
 * Signs SHA256SUMS; required with each new root or targets document.
 *
 * @throws PlatformError SIGNING_KEYS_MISSING
 */
export function signInstallerList(root: Uint8Array, targets: Uint8Array, ring: KeyRing): Buffer {
  const { installerKey } = rolesOf(root);
  const key = ring.installer.find((held) => held.publicPem === installerKey);
  if (!key) throw missing('installer', 0, 1, ring);
  return Buffer.from(key.sign(Buffer.from(installerList(root, targets))));
}

function one(keys: readonly SigningKey[], role: string, ring: KeyRing): SigningKey {
  const [first] = keys;
  if (!first) throw missing(role, 0, 1, ring);
  return first;
}

const missing = (role: string, found: number, threshold: number, ring: KeyRing): PlatformError =>
  new PlatformError('SIGNING_KEYS_MISSING', { role, found, threshold, folder: ring.folders.join(', ') });
