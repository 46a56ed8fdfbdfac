import type { ConditionRow } from '../condition-row.ts';

/** The management server itself. */
export const serverConditions = {
  SERVER_CHECK_FAILED: {
    severity: 'error',
    message: 'The server is not ready: {check} {problem}.',
    cause: "A check of the server's readiness has failed for 30 seconds.",
    remedy: 'Remove the cause: docs/operations/troubleshooting.md.',
    ends: 'It ends when the check passes.',
  },
  SERVER_DISK_LOW: {
    severity: 'warning',
    message: '{free} of {size} are free on the disk of the server.',
    cause:
      'Less than 10 % of the disk is free (of a large one, 20 GB), or less than 1 GB, or less than --low-disk-gb says.',
    remedy: 'Delete data, or give the server a larger disk: docs/operations/sizes.md says what takes how much.',
    ends: 'It ends when there is room.',
  },
  BACKUP_OVERDUE: {
    severity: 'error',
    message: '{problem}.',
    cause: 'A scheduled backup failed, or the last one is too old.',
    remedy: 'Remove the cause, then make a backup: platform admin backup. See docs/operations/backup.md.',
    ends: 'It ends with the next backup.',
  },
  BACKUP_NOT_SCHEDULED: {
    severity: 'note',
    message: 'The server makes no backups by itself.',
    cause: 'It was started without a folder for backups.',
    remedy: 'Give it a folder on another disk: --backup-dir. See docs/operations/backup.md.',
    ends: 'It ends when backups are scheduled.',
  },
  CERTIFICATE_ENDS: {
    severity: ['warning', 'error'],
    message: 'The certificate of the server ends on {day}.',
    cause: 'It ends within 14 days. From 3 days on, this is an error.',
    remedy: 'Renew it: docs/operations/certificates.md. After that day machines and browsers cannot connect.',
    ends: 'It ends with the new certificate.',
  },
  CERTIFICATE_PROBLEM: {
    severity: ['warning', 'error'],
    message: '{problem}.',
    cause: 'The certificate or its chain is not as it should be. If clients refuse it, this is an error.',
    remedy: 'Correct the certificate: docs/operations/certificates.md.',
    ends: 'It ends when it is corrected.',
  },
} as const satisfies Record<string, ConditionRow>;
