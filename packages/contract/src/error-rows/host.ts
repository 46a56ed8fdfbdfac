import type { ErrorRow } from '../error-row.ts';

/** The host of the server: data folder, disk, database, port. */
export const hostErrors = {
  DATA_DIR_IN_USE: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The data folder {path} is in use by another process[ (pid {pid})].',
    remedy: 'Stop that process, or choose another folder with --data-dir.',
  },
  DATA_DIR_NEWER: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The data folder {path} was written by a newer version[ (schema {found}, this version knows {known})].',
    remedy: 'Use that newer version, or choose another folder with --data-dir.',
  },
  DATABASE_UNAVAILABLE: {
    rpc: 'unavailable',
    retry: 'later',
    message: 'The database does not answer[: {problem}].',
    remedy: 'Try again in a moment. If it lasts, see the server log and check that the database runs.',
  },
  DISK_FULL: {
    rpc: 'resource_exhausted',
    retry: 'later',
    message: 'There is no space left on the disk[ of {path}][: {what} needs {needed}, {free} are free].',
    remedy: 'Free some space on that disk. Nothing that was stored before is lost.',
  },
  PORT_IN_USE: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'Port {port} is in use by another program.',
    remedy: 'Stop that program, or choose another port with --port (0: any free one).',
  },
} as const satisfies Record<string, ErrorRow>;
