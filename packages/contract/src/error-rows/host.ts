import type { ErrorRow } from '../error-row.ts';

/** The host of the server: data folder, disk, database, port. */
export const hostErrors = {
  DATA_DIR_IN_USE: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'Another process uses the data folder {path}[ (pid {pid})].',
    remedy: 'Stop that process, or choose another folder with --data-dir.',
  },
  DATA_DIR_NEWER: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'A newer version wrote the data folder {path}[ (schema {found}, this version knows {known})].',
    remedy: 'Use that newer version, or choose another folder with --data-dir.',
  },
  DATABASE_IN_USE: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'Another server uses the database at {host}.',
    remedy:
      'Stop that server, or give this one a database of its own with --database-url (DATABASE_URL). If no other server runs, a pooler may hold the session of an earlier one: restart the pooler.',
  },
  DATABASE_OF_OTHER_INSTALLATION: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The database belongs to installation {found}, and the data folder {path} to {own}.',
    remedy:
      'Start the server with the data folder of that installation (--data-dir): its secrets.json opens the rows. Or give this one an empty database with --database-url (DATABASE_URL).',
  },
  DATABASE_NEWER: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'A newer version wrote the database at {host}[ (schema {found}, this version knows {known})].',
    remedy:
      'Use that newer version, or give this one an empty database with --database-url (DATABASE_URL). Nothing in it was changed.',
  },
  DATABASE_POOLER: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The database at {host} is behind a pooler that the server cannot use: {problem}.',
    remedy:
      'Name PostgreSQL itself with --database-url (DATABASE_URL). A pooler must give each client a session of its own (pgbouncer: pool_mode = session), and the role must have a lock_timeout, statement_timeout and idle_in_transaction_session_timeout.',
  },
  DATABASE_TOO_OLD: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The database of --database-url is PostgreSQL {found}; this version needs {needed} or newer.',
    remedy: 'Upgrade that database, or name another one. Nothing in it was changed.',
  },
  DATABASE_OF_OTHER_MAJOR: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The database in {path} is of PostgreSQL {found}; this version runs PostgreSQL {known}.',
    remedy:
      'If {found} is older, bring it over: platform admin upgrade-database --old-programs DIR. If it is newer, use the version of the platform that wrote it. Nothing in it was changed.',
  },
  DATABASE_PROGRAMS_NEEDED: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'To read the old database, the programs of PostgreSQL {needed} are needed[; {problem}].',
    remedy:
      'Name their folder with --old-programs: that of the version of the platform which wrote the database, or one with bin/postgres of PostgreSQL {needed}. Nothing was changed.',
  },
  DATABASE_UPGRADE_FAILED: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The database in {path} was not upgraded: {problem}.',
    remedy: 'Mend this and repeat the command. The database is as it was; the version that wrote it starts with it.',
  },
  DATABASE_UPGRADE_NEEDLESS: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The database in {path} is of PostgreSQL {known} already.',
    remedy: 'Start the server.',
  },
  DATABASE_USED_AFTER_UPGRADE: {
    rpc: 'failed_precondition',
    retry: 'never',
    message:
      '{path} holds a database of PostgreSQL {known}, made from that of {found}, which an older version of the platform has used since.',
    remedy:
      'Choose one. To keep that of {known}, rename {path}/{found} to {found}-unused. To keep that of {found}, rename {path}/{known} to {known}-unused, and run platform admin upgrade-database again.',
  },
  DATABASE_UNAVAILABLE: {
    rpc: 'unavailable',
    retry: 'later',
    message: 'The database does not answer[: {problem}].',
    remedy: 'Repeat the call in a few seconds. If it continues, read the server log and check that the database runs.',
  },
  DISK_FULL: {
    rpc: 'resource_exhausted',
    retry: 'later',
    message:
      'There is no space left on the disk[ of {path}][: {what} needs {needed}, {free} are free][: {freeInodes} of {inodes} inodes and {freeSpace} are free].',
    remedy: 'Free some space on that disk; without a free inode, delete files. All stored data is intact.',
  },
  OUT_OF_FILES: {
    rpc: 'unavailable',
    retry: 'later',
    message: 'The server has reached the limit of open files and connections of {what}.',
    remedy:
      'Repeat the call in a few seconds. If it continues, raise the limit: LimitNOFILE of the service, or fs.file-max of the host. All stored data is intact.',
  },
  PORT_IN_USE: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'Another program uses port {port}.',
    remedy: 'Stop that program, or choose another port with --port (0: any free port).',
  },
  NEEDS_ROOT: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'This command changes the system, and only root may do that.',
    remedy: 'Run it as root, for example with sudo.',
  },
  NEEDS_SYSTEMD: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'This host does not run systemd, so no service can be installed.',
    remedy: 'Use a host with systemd, or start the server with "./platform up --empty" under your own supervisor.',
  },
  NOT_INSTALLED: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'No server is installed on this host.',
    remedy: 'Unpack an archive of the server, and run "./platform admin install-service" in its folder.',
  },
  INSTALLATION_IN_USE: {
    rpc: 'failed_precondition',
    retry: 'later',
    message: 'Another command changes this installation[ (pid {pid})].',
    remedy: 'Wait until that command has ended, then repeat this one.',
  },
  ARCHIVE_UNUSABLE: {
    rpc: 'invalid_argument',
    retry: 'never',
    message: 'The archive {file} cannot be installed: {problem}.',
    remedy: 'Check its hash with "sha256sum -c", and use the archive for this host. Nothing was changed.',
  },
  ARCHIVE_UNTRUSTED: {
    rpc: 'permission_denied',
    retry: 'never',
    message: 'The archive {file} is not trusted: {problem}.',
    remedy:
      'Take the archive with its .sha256 and .sha256.sig from the source of the installed one. If its key was changed, compare the new key with its source, and name its file with --trust KEY. Nothing was changed.',
  },
  VERSION_DIFFERS: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'Version {version} is in {path} already, with other content.',
    remedy: 'Build the archive with another version: --release-version.',
  },
  OLDER_VERSION: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'Version {version} is older than the installed version {current}, and data only move forward.',
    remedy: 'Return to the version before with "platform admin rollback".',
  },
  NO_VERSION_BEFORE: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'There is no version to return to from {current}[: {problem}].',
    remedy: 'Install an archive of the version that you want with "platform admin upgrade".',
  },
  ROLLBACK_LOSES_DATA: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'Version {version} cannot read the data that the current version has written since {since}.',
    remedy: 'To give them up, repeat the command with --discard-changes-since {since}.',
  },
  SERVER_NOT_READY: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'Version {version} was not ready in time: {problem}.',
    remedy: 'Read "journalctl -u platform-management", mend the cause, then repeat the command. All data are intact.',
  },
  CERTIFICATE_UNUSABLE: {
    rpc: 'invalid_argument',
    retry: 'never',
    message: 'The certificate or key in {file} cannot be used: {problem}.',
    remedy: 'Name a valid certificate with its chain and its private key, both as PEM files. Nothing was changed.',
  },
} as const satisfies Record<string, ErrorRow>;
