// A MAC over each manifest, with a key of the installation: a manifest names the hashes of everything else, so whoever can
// write to the folder of backups, but has no key, cannot make a backup that a restore takes for one of the installation.
// Decision 0118.
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { PlatformError } from '@platform/contract/errors/errors';
import { atomicWrite, readJson } from '@platform/kit/node';

/** The key that authenticates the backups of an installation. It gives access to nothing else. */
export type BackupKey = { installationId: string; key: Buffer };

type SecretsFile = { installation_id?: unknown; sealing_key?: unknown };
type KeyFile = { format: 1; installation_id: string; backup_key: string };

/** @returns undefined if these are not the secrets of a server. */
function backupKeyOf(secrets: unknown): BackupKey | undefined {
  const { installation_id: installationId, sealing_key: sealingKey } = (secrets ?? {}) as SecretsFile;
  if (typeof installationId !== 'string' || typeof sealingKey !== 'string') return undefined;
  const secret = Buffer.from(sealingKey, 'base64url');
  const key = Buffer.from(hkdfSync('sha256', secret, installationId, 'manifests of backups', 32));
  return { installationId, key };
}

/** @throws PlatformError INVALID_ARGUMENT if this is not the data folder of a server. */
export async function readBackupKey(dataFolder: string): Promise<BackupKey> {
  const found = backupKeyOf(await readJson(path.join(dataFolder, 'secrets.json')).catch(() => undefined));
  if (found) return found;
  const limit = 'the data folder of a server that was started before, with its secrets.json';
  throw new PlatformError('INVALID_ARGUMENT', { field: '--data-dir', value: dataFolder, limit });
}

/** Writes the key file. One of this installation that is there already stays. @returns whether it was written. */
export async function writeKeyFile(file: string, { installationId, key }: BackupKey): Promise<boolean> {
  if ((await readKeyFile(file))?.installationId === installationId) return false;
  const content: KeyFile = { format: 1, installation_id: installationId, backup_key: key.toString('base64url') };
  const found = await stat(file).catch(() => undefined);
  if (found && !found.isFile()) {
    const limit = 'a new file, or a key file of backups';
    throw new PlatformError('INVALID_ARGUMENT', { field: 'FILE', value: file, limit });
  }
  await atomicWrite(file, `${JSON.stringify(content)}\n`, { mode: 0o600 });
  return true;
}

/** Reads a key file, the secrets of a server, or its keys from `--keys-to`. @returns undefined if it holds no such key. */
async function readKeyFile(file: string): Promise<BackupKey | undefined> {
  const found = (await readJson(file).catch(() => undefined)) as
    | (Partial<KeyFile> & { files?: { path: string; base64: string }[] })
    | undefined;
  const { installation_id: installationId, backup_key: key } = found ?? {};
  if (typeof installationId === 'string' && typeof key === 'string')
    return { installationId, key: Buffer.from(key, 'base64url') };
  if (Array.isArray(found?.files)) return keyAmong(found.files);
  return backupKeyOf(found);
}

/** The key that the secrets among the keys of a backup give. */
export function keyAmong(files: readonly { path: string; base64: string }[]): BackupKey | undefined {
  const secrets = files.find((one) => one.path === 'secrets.json');
  if (typeof secrets?.base64 !== 'string') return undefined;
  try {
    return backupKeyOf(JSON.parse(Buffer.from(secrets.base64, 'base64').toString()));
  } catch {
    return undefined;
  }
}

export const macOf = (text: string, { key }: BackupKey): string => createHmac('sha256', key).update(text).digest('hex');

export function isMacOf(mac: string, text: string, key: BackupKey): boolean {
  const [found, right] = [Buffer.from(mac), Buffer.from(macOf(text, key))];
  return found.length === right.length && timingSafeEqual(found, right);
}

/**
 * The keys of a caller: the file that a user names, then that of this host.
 *
 * @throws PlatformError INVALID_ARGUMENT if the user's file holds no key.
 */
export async function readTrustedKeys(of: {
  backupKey: string | undefined;
  hostKey: string | undefined;
}): Promise<BackupKey[]> {
  const named = of.backupKey === undefined ? undefined : await readKeyFile(of.backupKey);
  if (of.backupKey !== undefined && !named) {
    const isThere = await readFile(of.backupKey).then(Boolean, () => false);
    const limit = isThere
      ? 'a key file that platform admin backup-key wrote, or the keys of --keys-to without a passphrase'
      : 'a file that this user can read';
    throw new PlatformError('INVALID_ARGUMENT', { field: '--backup-key', value: of.backupKey, limit });
  }
  const own = of.hostKey === undefined ? undefined : await readKeyFile(of.hostKey);
  return [named, own].filter((key) => key !== undefined);
}
