import { PlatformError } from '@platform/contract/errors';
import { patchTargetPath, programTargetPath } from '@platform/contract/target-path';
import type { Disk } from '../../os/ports.ts';
import type { ListedFile, RefreshParts, Trusted } from './refresh.ts';

/** Says whether the bytes that the management server names are those that a release key signed. */
export interface Trust {
  /** @throws PlatformError when the release must not be used */
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

/** By the documents of The Update Framework that the management server serves. Its code is loaded when it is first needed. */
export function releaseTrust(parts: RefreshParts): Trust {
  const trusted = async (signal: AbortSignal): Promise<Trusted> => {
    const { refresh } = await import('./refresh.ts');
    return refresh(parts, signal);
  };
  return {
    async check({ target, program, version, platform, sha256 }, signal) {
      if (target === '') throw new PlatformError('RELEASE_UNSIGNED', { name: program, version, platform });
      // The path itself is what the cloud claims: it must be of this program, version and kind of machine.
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
 * Trusts this root document from now on, in place of the first one that the server shows. One that follows from what is
 * trusted already changes nothing; another one lets go of everything that was known by the old keys.
 *
 * @throws PlatformError RELEASE_UNTRUSTED when it is none.
 */
export async function pinRoot(disk: Disk, bytes: Uint8Array): Promise<void> {
  const { TrustedMetadataStore } = await import('tuf-js/dist/store.js');
  const read = (root: Uint8Array) => new TrustedMetadataStore(Buffer.from(root));
  try {
    void read(bytes);
  } catch (error) {
    const problem = `it is no root document: ${error instanceof Error ? error.message : String(error)}`;
    throw new PlatformError('RELEASE_UNTRUSTED', { target: 'root.json', problem }, error);
  }
  const own = await disk.read(rootFile).catch(() => undefined);
  if (own && Buffer.from(own).equals(bytes)) return;
  try {
    if (own) return void read(own).updateRoot(Buffer.from(bytes));
  } catch {
    // of other keys, or more than one step away
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
  // Empty: the cloud leaves it to the release keys.
  if (claimed !== '' && claimed !== sha256)
    throw untrusted(target, `the cloud names sha256 ${claimed.slice(0, 12)}, signed is ${sha256.slice(0, 12)}`);
  return { sha256, sizeBytes };
}

const untrusted = (target: string, problem: string): PlatformError =>
  new PlatformError('RELEASE_UNTRUSTED', { target, problem });
