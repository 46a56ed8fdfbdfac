import type { ErrorRow } from '../error-row.ts';

/** Backups of the server, and copies of its data folder. */
export const backupErrors = {
  BACKUP_FOLDER_UNUSABLE: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'Backups cannot be kept in {path}: {problem}.',
    remedy: 'Give an empty folder, or one with earlier backups of this installation, outside of the data folder.',
  },
  BACKUP_OTHER_INSTALLATION: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: '{path} holds backups of installation {found}, and this is installation {own}.',
    remedy: 'Give each installation its own folder.',
  },
  BACKUP_IN_USE: {
    rpc: 'failed_precondition',
    retry: 'later',
    message: 'Another process uses the backups in {path}[ (pid {pid})].',
    remedy: 'Wait for its end, or use another folder.',
  },
  BACKUP_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: '{path} holds no complete backup[ named {name}][; there are: {names}].',
    remedy:
      'Check the folder and the name: platform admin verify lists the snapshots. A backup that was cut off is never listed.',
  },
  BACKUP_DAMAGED: {
    rpc: 'data_loss',
    retry: 'never',
    message: 'The backup cannot be used as it is: {file}: {problem}.',
    remedy:
      'Use another snapshot (--snapshot), or a copy of this folder from elsewhere. platform admin verify lists every damaged file.',
  },
  BACKUP_SOURCE_DAMAGED: {
    rpc: 'data_loss',
    retry: 'never',
    message:
      'The backup {name} is complete except for {count} files that are missing or damaged in the data folder itself, for example {file}: {problem}.',
    remedy:
      'Check the disk of the data folder. platform admin restore from an earlier snapshot has these files if they were whole then.',
  },
  BACKUP_NEWER: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'Version {found} made the backup {name}, and this is version {own}[: it does not know {what}].',
    remedy: 'Restore it with version {found} or a newer one.',
  },
  BACKUP_KEYS_MISSING: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The keys of the backup {name} are not in {file}[: {problem}].',
    remedy: 'Name the file with --keys. Without the keys, machines and users of the backup cannot sign in.',
  },
  BACKUP_NOT_AUTHENTICATED: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'Nothing proves that the installation made the backup {name}: {problem}.',
    remedy:
      'Name the key file of the installation with --backup-key, or keys that are kept away from the backups with --keys. If only you can write to the folder of the backups, add --accept-unauthenticated.',
  },
  BACKUP_PASSPHRASE_WRONG: {
    rpc: 'permission_denied',
    retry: 'never',
    message: 'The passphrase does not open the keys in {file}[: {problem}].',
    remedy: 'Set PLATFORM_BACKUP_PASSPHRASE to the passphrase with which this backup was made.',
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
      'Mount the disk with the files at this folder, and start the server again. If these are the files, or if they are lost for good, platform admin doctor --adopt-blobs says what is there and takes the folder.',
  },
  COPIED_WHILE_RUNNING: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The folder {path} is a copy that was made while a server used the original. Its database may be torn.',
    remedy:
      'Stop the original in order and copy it again, or restore a backup with platform admin restore. If this copy is all that is left, start once with --accept-copy: it starts if all files and rows pass a check.',
  },
  COPY_DAMAGED: {
    rpc: 'data_loss',
    retry: 'never',
    message: 'The copy {path} cannot be accepted: {file}: {problem}[, and {more} more].',
    remedy: 'Restore a backup with platform admin restore, or copy the original again after its server was stopped.',
  },
  DATABASE_ELSEWHERE: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The database of {path} is not in this folder: it lies in {home}[, and belongs to {owner}].',
    remedy:
      'Copy a server by platform admin backup and platform admin restore: its database lies outside of its data folder, because the user of the database cannot enter that folder.',
  },
  RESTORE_INCOMPLETE: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'A restore into {path} did not end.',
    remedy: 'Repeat it: platform admin restore. It begins anew in this folder.',
  },
} as const satisfies Record<string, ErrorRow>;
