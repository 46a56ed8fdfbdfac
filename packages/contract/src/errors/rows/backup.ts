import type { ErrorRow } from '../error-row.ts';

/** Backups of the server, and copies of its data folder. */
export const backupErrors = {
  BACKUP_FOLDER_UNUSABLE: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'Backups cannot be kept in {path}: {problem}.',
    remedy: 'Choose a folder outside the data folder that is empty or holds earlier backups of this installation.',
  },
  BACKUP_OTHER_INSTALLATION: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: '{path} holds backups of installation {found}, but this is installation {own}.',
    remedy: 'Give each installation its own folder.',
  },
  BACKUP_IN_USE: {
    rpc: 'failed_precondition',
    retry: 'later',
    message: 'Another process uses the backups in {path}[ (pid {pid})].',
    remedy: 'Wait until that process has ended, or use another folder.',
  },
  BACKUP_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: '{path} holds no complete backup[ named {name}][; it holds: {names}].',
    remedy:
      'Check the folder and the name: platform admin verify lists the snapshots. An interrupted backup is never listed.',
  },
  BACKUP_DAMAGED: {
    rpc: 'data_loss',
    retry: 'never',
    message: 'The backup is damaged and cannot be restored: {file}: {problem}.',
    remedy:
      'Use another snapshot (--snapshot), or a copy of this folder from elsewhere. platform admin verify lists every damaged file.',
  },
  BACKUP_SOURCE_DAMAGED: {
    rpc: 'data_loss',
    retry: 'never',
    message:
      'The backup {name} is complete except for {count} files that are missing or damaged in the data folder itself, for example {file}: {problem}.',
    remedy:
      'Check the disk of the data folder. platform admin restore from an earlier snapshot has these files if they were intact then.',
  },
  BACKUP_NEWER: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'Version {found} made the backup {name}; this is version {own}[, which does not know {what}].',
    remedy: 'Restore it with version {found} or a newer one.',
  },
  BACKUP_KEYS_MISSING: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The keys of the backup {name} are not in {file}[: {problem}].',
    remedy: 'Pass the file with --keys. Without the keys, the machines and users in the backup cannot sign in.',
  },
  BACKUP_NOT_AUTHENTICATED: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The origin of the backup {name} cannot be verified: {problem}.',
    remedy:
      'Pass the key file of the installation with --backup-key, or keys that are stored apart from the backups with --keys. If only you can write to the backup folder, add --accept-unauthenticated.',
  },
  BACKUP_PASSPHRASE_WRONG: {
    rpc: 'permission_denied',
    retry: 'never',
    message: 'The passphrase does not open the keys in {file}[: {problem}].',
    remedy: 'Set PLATFORM_BACKUP_PASSPHRASE to the passphrase that was used for this backup.',
  },
  RESTORE_TARGET_IN_USE: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'Nothing was restored: {path} is not empty[: it holds {found}].',
    remedy:
      'Restore into a new folder, or an empty database. To replace an installation, first move its folder away; --replace does that for a server that is installed as a service.',
  },
  BLOBS_NOT_MOUNTED: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The folder {path} does not hold the files of this installation: {problem}.',
    remedy:
      'Mount the disk with the files at this folder, and start the server again. If this folder is the right one, or if the files are lost for good, run platform admin doctor --adopt-blobs: it lists what is missing and accepts the folder.',
  },
  COPIED_WHILE_RUNNING: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The folder {path} was copied while a server used the original. Its database may be inconsistent.',
    remedy:
      'Shut down the original server and copy the folder again, or restore a backup with platform admin restore. If this copy is all that is left, start once with --accept-copy: the server starts if all files and rows pass a check.',
  },
  COPY_DAMAGED: {
    rpc: 'data_loss',
    retry: 'never',
    message: 'The copy {path} cannot be accepted: {file}: {problem}[, and {more} more].',
    remedy: 'Restore a backup with platform admin restore, or stop the original server and copy the folder again.',
  },
  DATABASE_ELSEWHERE: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The database of {path} is not in this folder but in {home}[, which belongs to {owner}].',
    remedy:
      'Use platform admin backup and platform admin restore to copy this server. Its database is outside its data folder because the database user cannot enter that folder.',
  },
  RESTORE_INCOMPLETE: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'A restore into {path} was interrupted.',
    remedy: 'Run platform admin restore again. It starts from the beginning in this folder.',
  },
} as const satisfies Record<string, ErrorRow>;
