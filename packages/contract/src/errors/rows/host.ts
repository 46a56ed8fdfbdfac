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
  DATA_NOT_RELEASED: {
    rpc: 'failed_precondition',
    retry: 'never',
    message:
      'A version from before the first release (0.1.0) wrote {what}[ (schema {found})]. Releases do not read its data.',
    remedy:
      'Start with a new data folder (--data-dir) or an empty database (--database-url, DATABASE_URL). To keep datasets and models, export them first with the version that wrote them. Nothing was changed.',
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
    message: 'The database belongs to installation {found}, but the data folder {path} belongs to {own}.',
    remedy:
      'Start the server with the data folder of that installation (--data-dir): its secrets.json decrypts the rows. Or give this one an empty database with --database-url (DATABASE_URL).',
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
      'Set --database-url (DATABASE_URL) to PostgreSQL itself. A pooler must give each client a session of its own (pgbouncer: pool_mode = session), and the role must have a lock_timeout, statement_timeout and idle_in_transaction_session_timeout.',
  },
  DATABASE_TOO_OLD: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The database of --database-url is PostgreSQL {found}; this version needs {needed} or newer.',
    remedy: 'Upgrade that database, or use another one. Nothing in it was changed.',
  },
  DATABASE_OF_OTHER_MAJOR: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The database in {path} was written by PostgreSQL {found}; this version runs PostgreSQL {known}.',
    remedy:
      'If {found} is older, upgrade the database: platform admin upgrade-database --old-programs DIR. If it is newer, use the version of the platform that wrote it. Nothing in it was changed.',
  },
  DATABASE_PROGRAMS_NEEDED: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The old database can only be read with the programs of PostgreSQL {needed}[; {problem}].',
    remedy:
      'Pass their folder with --old-programs: the folder of the platform version that wrote the database, or one with bin/postgres of PostgreSQL {needed}. Nothing was changed.',
  },
  DATABASE_UPGRADE_FAILED: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The database in {path} was not upgraded: {problem}.',
    remedy:
      'Remove the cause and repeat the command. The database is unchanged; the version that wrote it can still use it.',
  },
  DATABASE_UPGRADE_NEEDLESS: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The database in {path} already is a database of PostgreSQL {known}.',
    remedy: 'No upgrade is needed. Start the server.',
  },
  DATABASE_USED_AFTER_UPGRADE: {
    rpc: 'failed_precondition',
    retry: 'never',
    message:
      '{path} holds a database of PostgreSQL {known} that was upgraded from the one of {found}, but an older version of the platform has used the old one since.',
    remedy:
      'Choose one of the two. To keep the one of {known}, rename {path}/{found} to {found}-unused. To keep the one of {found}, rename {path}/{known} to {known}-unused, and run platform admin upgrade-database again.',
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
    remedy: 'Free some space on that disk; if no inode is free, delete files. All stored data is intact.',
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
    message: 'This command changes the system, which requires root.',
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
    remedy: 'Wait until that command has ended, then repeat yours.',
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
      'Get the archive with its .sha256 and .sha256.sig from the source of the installed one. If the publisher changed its key, verify the new key with the publisher, and pass its file with --trust KEY. Nothing was changed.',
  },
  VERSION_DIFFERS: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'Version {version} already exists in {path} with different content.',
    remedy: 'Build the archive with another version: --release-version.',
  },
  OLDER_VERSION: {
    rpc: 'failed_precondition',
    retry: 'never',
    message:
      'Version {version} is older than the installed version {current}, and an older version cannot read newer data.',
    remedy: 'Return to the previous version with "platform admin rollback".',
  },
  NO_VERSION_BEFORE: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'There is no previous version to roll back to from {current}[: {problem}].',
    remedy: 'Install the archive of another version with "platform admin upgrade".',
  },
  ROLLBACK_LOSES_DATA: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'Version {version} cannot read the data that the current version has written since {since}.',
    remedy: 'To discard that data, repeat the command with --discard-changes-since {since}.',
  },
  SERVER_NOT_READY: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'Version {version} was not ready in time: {problem}.',
    remedy: 'Read "journalctl -u platform-management", remove the cause, then repeat the command. All data is intact.',
  },
  CERTIFICATE_UNUSABLE: {
    rpc: 'invalid_argument',
    retry: 'never',
    message: 'The certificate or key in {file} cannot be used: {problem}.',
    remedy: 'Pass a valid certificate with its chain and its private key, both as PEM files. Nothing was changed.',
  },
} as const satisfies Record<string, ErrorRow>;
