import { PlatformError } from '@platform/contract/errors/errors';
import { patchTargetPath, programTargetPath } from '@platform/contract/releases/target-path';
import type { Disk } from '../../os/ports.ts';
import type { ListedFile, RefreshParts, Trusted } from './refresh.ts';

/** Verifies that a release key signed the bytes that the management server names. */
export interface Trust {
  /** @throws PlatformError if the release must not be used */
  check(
    of: { target: string; program: string; version: string; platform: string; sha256: string },
    signal: AbortSignal,
  ): Promise<{ sizeBytes: number; sha256: string }>;
  patch(
    of: { fromSha256: string; toSha256: string; sha256: string },
    signal: AbortSignal,
  ): Promise<{ sizeBytes: number; sha256: string }>;
}

const folder = 'state/tuf';
const rootFile = `${folder}/root.json`;

/** Verifies with the documents of The Update Framework from the management server. Loads tuf-js at the first use. */
export function releaseTrust(parts: RefreshParts): Trust {
  const trusted = async (signal: AbortSignal): Promise<Trusted> => {
    const { refresh } = await import('./refresh.ts');
    return refresh(parts, signal);
  };
  return {
    async check({ target, program, version, platform, sha256 }, signal) {
      if (target === '') throw new PlatformError('RELEASE_UNSIGNED', { name: program, version, platform });
      // The path is only a claim of the management server: it must match this program, version and platform.
      const wanted = programTargetPath({ name: program, version, platform });
      if (target !== wanted) throw untrusted(target, `wanted here is ${wanted}`);
      const file = listed(await trusted(signal), target);
      const { name, version: listedVersion, platform: listedPlatform } = file.custom;
      if (name !== program || listedVersion !== version || listedPlatform !== platform)
        throw untrusted(target, 'it is signed as another program, version or platform');
      return proven(target, file, sha256);
    },
    async patch({ fromSha256, toSha256, sha256 }, signal) {
      const target = patchTargetPath({ fromSha256, toSha256 });
      const file = listed(await trusted(signal), target);
      if (file.custom['from_sha256'] !== fromSha256 || file.custom['to_sha256'] !== toSha256)
        throw untrusted(target, 'it is signed as a patch between other files');
      return proven(target, file, sha256);
    },
  };
}

/**
 * Trusts this root document from now on, instead of the first one that the server shows. A successor of the trusted
 * root changes nothing. Any other root discards everything that was trusted by the old keys.
 *
 * @throws PlatformError RELEASE_UNTRUSTED if it is not a root document.
 */
export async function pinRoot(disk: Disk, bytes: Uint8Array): Promise<void> {
  const { TrustedMetadataStore } = await import('tuf-js/dist/store.js');
  const read = (root: Uint8Array) => new TrustedMetadataStore(Buffer.from(root));
  try {
    void read(bytes);
  } catch (error) {
    const problem = `it is not a root document: ${error instanceof Error ? error.message : String(error)}`;
    throw new PlatformError('RELEASE_UNTRUSTED', { target: 'root.json', problem }, error);
  }
  const own = await disk.read(rootFile).catch(() => undefined);
  if (own && Buffer.from(own).equals(bytes)) return;
  try {
    if (own) return void read(own).updateRoot(Buffer.from(bytes));
  } catch {
    // signed by other keys, or more than one version ahead
  }
  for (const file of await disk.list(folder)) await disk.remove(`${folder}/${file}`);
  await disk.write(rootFile, bytes);
}

function listed(trusted: Trusted, target: string): ListedFile {
  const file = trusted.find(target);
  if (!file) throw untrusted(target, 'the signed targets do not list it');
  return file;
}

function proven(
  target: string,
  { sha256, sizeBytes }: ListedFile,
  claimed: string,
): { sizeBytes: number; sha256: string } {
  // Empty: the management server leaves the hash to the release keys.
  if (claimed !== '' && claimed !== sha256)
    throw untrusted(target, `the cloud names sha256 ${claimed.slice(0, 12)}, signed is ${sha256.slice(0, 12)}`);
  return { sha256, sizeBytes };
}

const untrusted = (target: string, problem: string): PlatformError =>
  new PlatformError('RELEASE_UNTRUSTED', { target, problem });
