import { type FoundCondition, gigabytes, ownCondition } from './condition.ts';

/** The server itself, as it is now. All times in ms since 1970. */
export interface MeasuredServer {
  /** Checks of its readiness that failed. */
  readonly failed: readonly { readonly name: string; readonly problem: string; readonly since: number }[];
  readonly disk:
    | {
        readonly size: number;
        readonly free: number;
        /** Bytes that the operator wants free; undefined: a share of the disk. */
        readonly leastFree?: number | undefined;
      }
    | undefined;
  readonly certificate: {
    /** Undefined: the server has none. */
    readonly ends: number | undefined;
    readonly problems: readonly { readonly text: string; readonly isFatal: boolean }[];
  };
  readonly backup: {
    readonly isScheduled: boolean;
    readonly problem: string | undefined;
    readonly last: number | undefined;
  };
}

const dayMs = 24 * 3_600_000;
/** A busy host answers a check late now and then. */
const failedForMs = 30_000;
/** Usual renewals happen 30 days before the end. */
const certificateDays = { warning: 14, error: 3 } as const;
/** The disk is low below the larger one: this share, but at most the cap, or the floor. */
const lowServerDisk = { share: 0.1, cap: 20e9, floor: 1e9 } as const;

const server = { orgId: null, subject: 'server', subjectId: '', subjectName: '', machineId: null } as const;

export function serverConditions({ failed, disk, certificate, backup }: MeasuredServer, now: number): FoundCondition[] {
  const left = certificate.ends === undefined ? Infinity : certificate.ends - now;
  const endsSoon = left < certificateDays.warning * dayMs && left > 0;
  return [
    ...failed
      // The clock was set back if it began in the future.
      .filter(({ since }) => now - since >= failedForMs || since > now)
      .map(({ name, problem, since }) =>
        ownCondition({ ...server, place: name, since }, 'SERVER_CHECK_FAILED', {
          check: name,
          problem,
        }),
      ),
    ...(disk && isLow(disk) && !failed.some(({ name }) => name === 'disk')
      ? [
          ownCondition({ ...server, since: undefined }, 'SERVER_DISK_LOW', {
            free: gigabytes(disk.free),
            size: gigabytes(disk.size),
          }),
        ]
      : []),
    ...(endsSoon
      ? [
          ownCondition(
            { ...server, since: (certificate.ends ?? now) - certificateDays.warning * dayMs },
            'CERTIFICATE_ENDS',
            { day: new Date(certificate.ends ?? now).toISOString().slice(0, 10) },
            left < certificateDays.error * dayMs ? 'error' : 'warning',
          ),
        ]
      : []),
    ...certificate.problems.map(({ text, isFatal }) =>
      ownCondition(
        { ...server, place: text, since: undefined },
        'CERTIFICATE_PROBLEM',
        { problem: text },
        isFatal ? 'error' : 'warning',
      ),
    ),
    ...backupConditions(backup),
  ];
}

const isLow = ({ size, free, leastFree }: NonNullable<MeasuredServer['disk']>): boolean =>
  free < (leastFree ?? Math.max(lowServerDisk.floor, Math.min(size * lowServerDisk.share, lowServerDisk.cap)));

function backupConditions({ isScheduled, problem, last }: MeasuredServer['backup']): FoundCondition[] {
  if (!isScheduled) return [ownCondition({ ...server, since: undefined }, 'BACKUP_NOT_SCHEDULED', {})];
  if (problem === undefined) return [];
  return [ownCondition({ ...server, since: last }, 'BACKUP_OVERDUE', { problem })];
}
