import type { PlatformClient } from '@platform/client';
import { errorCodeOf } from '@platform/contract/errors/errors';
import type { Release } from '@platform/contract/gen/platform/release/v1/release_pb';
import { readRoot, readTargets, rolesOf } from '@platform/releases/documents';
import type { KeyRing } from '@platform/releases/key-folder';
import { keyId, type PublicKey } from '@platform/releases/keys';
import {
  attachmentTarget,
  type Current,
  firstRoot,
  nextRoot,
  nextTargets,
  patchTarget,
  programTarget,
  signInstallerList,
} from '@platform/releases/publication';
import type { AttachmentKind } from '@platform/contract/releases/target-path';
import type { PatchWords, ProgramWords, Target } from '@platform/releases/targets';

/** A file that the server already stores. */
export interface StoredFile {
  readonly sizeBytes: number;
  /** 64 hex digits. */
  readonly sha256: string;
}
export type SignedProgram = ProgramWords & StoredFile & { readonly channels: readonly string[] };
export type SignedPatch = PatchWords & StoredFile;
export type SignedAttachment = ProgramWords & StoredFile & { readonly kind: AttachmentKind };

/** What a publication adds. */
export interface Added {
  readonly programs: readonly SignedProgram[];
  readonly patches?: readonly SignedPatch[];
  readonly attachments?: readonly SignedAttachment[];
}

const dayMs = 86_400_000;
const mostAttempts = 5;

export async function currentOf(client: PlatformClient): Promise<Current> {
  const { root, targets, onlineKey } = await client.releaseClient.getMetadata();
  return { root, targets, onlineKey: JSON.parse(onlineKey) as PublicKey };
}

/**
 * Signs a targets document that includes these files and submits it; creates the first root document if none exists.
 *
 * @param threshold - required signatures of the first root document.
 * @param now - ms since 1970.
 * @throws PlatformError SIGNING_KEYS_MISSING; errors of the server.
 */
export async function submitSigned(
  client: PlatformClient,
  ring: KeyRing,
  files: Added,
  how: { threshold: number; now: number },
): Promise<Release[]> {
  for (let attempt = 1; ; attempt++) {
    const current = await currentOf(client);
    try {
      return await submitNextTo(current, client, ring, files, how);
    } catch (error) {
      // Another user published meanwhile: sign again on top of that version.
      if (errorCodeOf(error) !== 'METADATA_REFUSED' || attempt === mostAttempts) throw error;
      if (isSameMetadata(await currentOf(client), current)) throw error;
    }
  }
}

const isSameMetadata = (a: Current, b: Current): boolean =>
  Buffer.from(a.root).equals(b.root) && Buffer.from(a.targets).equals(b.targets);

async function submitNextTo(
  current: Current,
  client: PlatformClient,
  ring: KeyRing,
  { programs, patches = [], attachments = [] }: Added,
  { threshold, now }: { threshold: number; now: number },
): Promise<Release[]> {
  const root = current.root.length > 0 ? undefined : firstRoot(ring, threshold, current.onlineKey, now);
  const add: Target[] = [
    ...programs.map(({ name, version, platform, sizeBytes, sha256 }) =>
      programTarget({ name, version, platform }, { sizeBytes, sha256 }),
    ),
    ...patches.map(({ from_sha256, to_sha256, sizeBytes, sha256 }) =>
      patchTarget({ from_sha256, to_sha256 }, { sizeBytes, sha256 }),
    ),
    ...attachments.map(({ kind, name, version, platform, sizeBytes, sha256 }) =>
      attachmentTarget({ attachment: kind, program: name, version, platform }, { sizeBytes, sha256 }),
    ),
  ];
  const signed = nextTargets({ root: root ?? current.root, targets: current.targets }, ring, now, { add });
  const bytes = (hex: string): Uint8Array<ArrayBuffer> => Uint8Array.from(Buffer.from(hex, 'hex'));
  return client.releaseClient.submitMetadata({
    ...(root && { root }),
    ...signed,
    releases: programs.map(({ name, version, platform, sizeBytes, sha256, channels }) => ({
      name,
      version,
      platform,
      sha256: bytes(sha256),
      sizeBytes: BigInt(sizeBytes),
      channels: [...channels],
    })),
    patches: patches.map(({ from_sha256, to_sha256, sizeBytes, sha256 }) => ({
      fromSha256: bytes(from_sha256),
      toSha256: bytes(to_sha256),
      sha256: bytes(sha256),
      sizeBytes: BigInt(sizeBytes),
    })),
    attachments: attachments.map(({ kind, name, version, platform, sizeBytes, sha256 }) => ({
      kind,
      name,
      version,
      platform,
      sha256: bytes(sha256),
      sizeBytes: BigInt(sizeBytes),
    })),
  });
}

/**
 * Renews documents that expire soon, and authorizes the server's key again if it changed.
 *
 * @returns the signed documents; empty if none was due.
 */
export async function renewDocuments(
  client: PlatformClient,
  ring: KeyRing,
  now: number,
  { rootDays, targetsDays }: { rootDays: number; targetsDays: number },
): Promise<('root' | 'targets')[]> {
  const current = await currentOf(client);
  if (current.root.length === 0 || current.targets.length === 0) return [];
  const isNear = (expires: string, days: number): boolean => Date.parse(expires) - now < days * dayMs;
  const isOnlineKnown = rolesOf(current.root).online.some((key) => keyId(key) === keyId(current.onlineKey));
  const isRootDue = !isOnlineKnown || isNear(readRoot(current.root).signed.expires, rootDays);
  const root = isRootDue
    ? nextRoot(current.root, ring, now, (roles) => ({ ...roles, online: [current.onlineKey] }))
    : undefined;
  const areTargetsDue = isNear(readTargets(current.targets).signed.expires, targetsDays);
  if (!root && !areTargetsDue) return [];
  const targets = areTargetsDue
    ? nextTargets({ root: root ?? current.root, targets: current.targets }, ring, now)
    : undefined;
  const installerSignature = signInstallerList(root ?? current.root, targets?.targets ?? current.targets, ring);
  await client.releaseClient.submitMetadata({ ...(root && { root }), ...targets, installerSignature });
  return [...(root ? (['root'] as const) : []), ...(targets ? (['targets'] as const) : [])];
}

/**
 * Submits the next root document; signs again what it makes invalid.
 *
 * @throws PlatformError SIGNING_KEYS_MISSING; errors of the server.
 */
export async function submitRoot(client: PlatformClient, ring: KeyRing, root: Uint8Array, now: number): Promise<void> {
  const current = await currentOf(client);
  const [before, after] = [rolesOf(current.root), rolesOf(root)];
  const ids = (keys: readonly PublicKey[]): string => keys.map(keyId).toSorted().join(' ');
  const isKept = ids(before.targets.keys) === ids(after.targets.keys);
  const signed = isKept
    ? { installerSignature: signInstallerList(root, current.targets, ring) }
    : nextTargets({ root, targets: current.targets }, ring, now);
  await client.releaseClient.submitMetadata({ root: Uint8Array.from(root), ...signed });
}
