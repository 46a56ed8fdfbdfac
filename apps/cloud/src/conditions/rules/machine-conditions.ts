import { absentAfterMs } from '../../machines/rules/online.ts';
import {
  cutCode,
  cutPlace,
  cutText,
  type FoundCondition,
  gigabytes,
  ownCondition,
  type SeverityNumber,
} from './condition.ts';

/** A condition that a machine reports, or that the server notices about it. */
export interface ReportedCondition {
  readonly code: string;
  readonly severity: SeverityNumber;
  readonly message: string;
  readonly remedy: string;
  readonly path: string;
  readonly since: number | undefined;
}

/** A machine by its main part, as it is now. All times in ms since 1970. */
export interface MeasuredMachine {
  readonly orgId: string;
  readonly machineId: string;
  readonly name: string;
  readonly createdOn: number;
  readonly state: 'online' | 'offline' | 'awaiting setup' | 'uninstalled';
  readonly lastSeen: number | undefined;
  readonly diskFree: number | undefined;
  readonly diskSize: number | undefined;
  /** As its last report has them; the report is about the past while it is offline. */
  readonly reported: readonly ReportedCondition[];
}

const awaitedMs = 24 * 3_600_000;
/** Both have to hold: a small disk is not low for its share alone, and a large one not for its bytes. */
const lowDisk = { percent: 10, bytes: 2e9 } as const;

/**
 * @param watchedSince - since when this server could have seen machines: what it did not see before says nothing.
 * @param isOpen - whether the machine was offline before that, too.
 */
export function machineConditions(
  machine: MeasuredMachine,
  { now, watchedSince, wasOffline }: { now: number; watchedSince: number; wasOffline: boolean },
): FoundCondition[] {
  const { state, name, machineId, orgId, lastSeen } = machine;
  const of = { orgId, subject: 'machine', subjectId: machineId, subjectName: name, machineId } as const;
  if (state === 'uninstalled') return [];
  if (state === 'awaiting setup') {
    const isLate = now - machine.createdOn > awaitedMs;
    const late = { ...of, since: machine.createdOn + awaitedMs };
    return isLate ? [ownCondition(late, 'MACHINE_NEVER_SEEN', {})] : [];
  }
  const reported = reportedConditions(machine).map((one) => ({ ...of, ...one }));
  // A time of the future comes from a clock that was wrong: it says nothing of now.
  const seen = lastSeen !== undefined && lastSeen <= now ? lastSeen : 0;
  const isAway = state === 'offline' && now - Math.max(seen, watchedSince) > absentAfterMs;
  const reportedLast = worst(machine.reported)?.message;
  const last = reportedLast === undefined ? undefined : `Its last report: ${reportedLast}`;
  const away = { ...of, since: lastSeen };
  return [
    ...(isAway || (state === 'offline' && wasOffline) ? [ownCondition(away, 'MACHINE_OFFLINE', { last })] : []),
    ...diskCondition(machine, of),
    ...reported,
  ];
}

const worst = (reported: readonly ReportedCondition[]): ReportedCondition | undefined =>
  reported.reduce<ReportedCondition | undefined>(
    (one, next) => (one === undefined || next.severity > one.severity ? next : one),
    undefined,
  );

function diskCondition(
  { diskFree, diskSize, reported }: MeasuredMachine,
  of: Pick<FoundCondition, 'orgId' | 'subject' | 'subjectId' | 'subjectName' | 'machineId'>,
): FoundCondition[] {
  if (diskFree === undefined || diskSize === undefined || diskSize <= 0) return [];
  // The machine says so itself, and where.
  if (reported.some(({ code }) => code === 'DISK_FULL')) return [];
  if (diskFree >= lowDisk.bytes || (diskFree / diskSize) * 100 >= lowDisk.percent) return [];
  const data = { free: gigabytes(diskFree), size: gigabytes(diskSize) };
  return [ownCondition({ ...of, since: undefined }, 'MACHINE_DISK_LOW', data)];
}

const mostReported = 20;
/** The server itself notices fewer; what a machine reports does not hide them. */
const mostNoticed = 5;
const longest = 500;

/** What is kept of a report: the worst conditions, each cut. The same code at the same place counts once, the worst one. */
export function keptOf(reported: readonly ReportedCondition[], most = mostReported): readonly ReportedCondition[] {
  const found = new Map<string, ReportedCondition>();
  for (const one of reported.toSorted((a, b) => b.severity - a.severity)) {
    const [code, path] = [cutCode(one.code), cutPlace(one.path)];
    const key = JSON.stringify([code, path]);
    if (code === '' || found.has(key)) continue;
    found.set(key, {
      ...one,
      code,
      path,
      message: cutText(one.message, longest),
      remedy: cutText(one.remedy, longest),
    });
    if (found.size === most) break;
  }
  return [...found.values()];
}

/**
 * A time from before the machine existed comes from a wrong clock. Only the server knows when it missed a machine: those
 * conditions are the history of its absences.
 */
const reportedConditions = ({ reported, createdOn }: MeasuredMachine) =>
  keptOf(
    reported.filter(({ code }) => code !== 'MACHINE_OFFLINE'),
    mostReported + mostNoticed,
  ).map(({ path, since, ...one }) => ({
    ...one,
    place: path,
    since: since !== undefined && since < createdOn ? undefined : since,
  }));
