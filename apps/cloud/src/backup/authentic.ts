// Whether a snapshot was made by its installation.
import path from 'node:path';
import { PlatformError } from '@platform/contract/errors/errors';
import { macFile, type Snapshot } from './backup-folder.ts';
import { type BackupKey, isMacOf } from './manifest-mac.ts';

/**
 * right: a given key proves it. wrong: the MAC is not of the key of its installation. unknown: no given key is of its
 * installation. none: it has no MAC.
 */
export type Authenticity = 'right' | 'wrong' | 'unknown' | 'none';

export function authenticity({ text, mac, manifest }: Snapshot, keys: readonly BackupKey[]): Authenticity {
  if (mac === undefined) return 'none';
  const own = keys.filter(({ installationId }) => installationId === manifest.installationId);
  if (own.length === 0) return 'unknown';
  return own.every((key) => isMacOf(mac, text, key)) ? 'right' : 'wrong';
}

export const wrongMac =
  'it is not the MAC that the key of the installation gives: the manifest was changed after the backup';

/**
 * @param of - inBackup: the key in the key file of the restore. proves: that file cannot have been written by who can
 *   write to the folder of backups.
 * @throws PlatformError BACKUP_DAMAGED, BACKUP_NOT_AUTHENTICATED
 */
export function requireAuthentic(
  snapshot: Snapshot,
  of: {
    trusted: readonly BackupKey[];
    inBackup: BackupKey | undefined;
    proves: boolean;
    acceptUnauthenticated: boolean;
  },
): void {
  const { name, folder } = snapshot;
  const inBackup = of.inBackup ? [of.inBackup] : [];
  const found = authenticity(snapshot, of.proves ? [...of.trusted, ...inBackup] : of.trusted);
  // The key in the backup proves nothing, but a MAC that does not even match it is damaged.
  if (found === 'wrong' || authenticity(snapshot, inBackup) === 'wrong')
    throw new PlatformError('BACKUP_DAMAGED', { file: path.join(folder, macFile), problem: wrongMac });
  if (found === 'right' || of.acceptUnauthenticated) return;
  const problem =
    found === 'none'
      ? 'it has no MAC: it was removed'
      : 'the key for its MAC is not on this host, and the key in the backup proves nothing';
  throw new PlatformError('BACKUP_NOT_AUTHENTICATED', { name, problem });
}
