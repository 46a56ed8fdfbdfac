import { mkdir, readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { PlatformError } from '@platform/contract/errors/errors';
import { atomicWrite, readPem } from '@platform/kit/node';
import { type KeyKind, makeKey, readKey, type SigningKey } from './keys.ts';

// A folder of private keys, one PKCS#8 PEM file of mode 0600 each:
//   root-<n>.pem     ed25519, sign root documents; keep them apart and offline
//   targets.pem      ed25519, signs the list of released files at each publish
//   installer.pem    P-256, signs SHA256SUMS for the shell installer at each publish

/** Keys by purpose, according to their file names. A key file with another name is never used automatically. */
export interface KeyRing {
  readonly root: readonly SigningKey[];
  readonly targets: readonly SigningKey[];
  readonly installer: readonly SigningKey[];
  /** Folder names for messages. */
  readonly folders: readonly string[];
}

type Purpose = 'root' | 'targets' | 'installer';
const kindOf: Readonly<Record<Purpose, KeyKind>> = { root: 'ed25519', targets: 'ed25519', installer: 'p256' };

/**
 * Creates new keys; never replaces an existing file.
 *
 * @param rootKeys - number of keys for root documents.
 * @returns names of the created files.
 */
export async function makeKeyFolder(folder: string, rootKeys: number, passphrase?: string): Promise<string[]> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const names = [...Array.from({ length: rootKeys }, (_, i) => `root-${i + 1}.pem`), 'targets.pem', 'installer.pem'];
  const made: string[] = [];
  for (const name of names) if (await makeKeyFile(path.join(folder, name), passphrase)) made.push(name);
  return made;
}

const purposeOf = (name: string): Purpose | undefined => {
  const purpose = /^(root|targets|installer)(-[\w.]+)?\.pem$/.exec(name)?.[1];
  return purpose as Purpose | undefined;
};

/** @returns false if the file already exists. */
export async function makeKeyFile(file: string, passphrase?: string): Promise<boolean> {
  const purpose = purposeOf(path.basename(file));
  if (!purpose) {
    throw new PlatformError('INVALID_ARGUMENT', {
      field: 'key file',
      value: path.basename(file),
      limit: 'root-<name>.pem, targets.pem or installer.pem',
    });
  }
  if ((await stat(file).catch(noSuchFile)) !== undefined) return false;
  await atomicWrite(file, makeKey(kindOf[purpose], passphrase), { mode: 0o600 });
  return true;
}

function noSuchFile(error: unknown): undefined {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
  throw error;
}

/**
 * Reads all keys of the folders; a missing folder contains none.
 *
 * @throws PlatformError SIGNING_KEY_UNREADABLE
 */
export async function readKeyFolders(folders: readonly string[], passphrase?: string): Promise<KeyRing> {
  const keys = {
    root: new Map<string, SigningKey>(),
    targets: new Map<string, SigningKey>(),
    installer: new Map<string, SigningKey>(),
  };
  for (const folder of folders) {
    for (const name of await namesOf(folder)) {
      const purpose = purposeOf(name);
      if (!purpose) continue;
      const key = readKey(await readPem(path.join(folder, name)), path.join(folder, name), passphrase);
      if ((key.publicKey.keytype === 'ed25519') !== (kindOf[purpose] === 'ed25519')) {
        const problem = `${purpose} keys are of the kind ${kindOf[purpose]}`;
        throw new PlatformError('SIGNING_KEY_UNREADABLE', { name: path.join(folder, name), problem });
      }
      keys[purpose].set(key.id, key);
    }
  }
  return {
    root: [...keys.root.values()],
    targets: [...keys.targets.values()],
    installer: [...keys.installer.values()],
    folders,
  };
}

const namesOf = async (folder: string): Promise<string[]> =>
  (await readdir(folder).catch(noSuchFile))?.toSorted() ?? [];
