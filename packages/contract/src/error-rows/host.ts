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
  DATABASE_UNAVAILABLE: {
    rpc: 'unavailable',
    retry: 'later',
    message: 'The database does not answer[: {problem}].',
    remedy: 'Repeat the call in a few seconds. If it continues, read the server log and check that the database runs.',
  },
  DISK_FULL: {
    rpc: 'resource_exhausted',
    retry: 'later',
    message: 'There is no space left on the disk[ of {path}][: {what} needs {needed}, {free} are free].',
    remedy: 'Free some space on that disk. All stored data is intact.',
  },
  PORT_IN_USE: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'Another program uses port {port}.',
    remedy: 'Stop that program, or choose another port with --port (0: any free port).',
  },
} as const satisfies Record<string, ErrorRow>;
