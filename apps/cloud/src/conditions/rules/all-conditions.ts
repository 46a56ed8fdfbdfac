import { type FoundCondition, keyOf, storable } from './condition.ts';
import { machineConditions, type MeasuredMachine } from './machine-conditions.ts';
import { type MeasuredServer, serverConditions } from './server-conditions.ts';
import {
  type FailedJob,
  jobConditions,
  type MeasuredRunner,
  queueConditions,
  runnerConditions,
  type StuckJobs,
} from './training-conditions.ts';

/** Everything that conditions follow from, as it is now. */
export interface Measured {
  readonly machines: readonly MeasuredMachine[];
  readonly failedJobs: readonly FailedJob[];
  readonly stuckJobs: readonly StuckJobs[];
  readonly runners: readonly MeasuredRunner[];
  readonly server: MeasuredServer;
}

/** @param away - IDs of the machines and runners that were away at the measurement before, also that of an earlier server. */
export const allConditions = (
  { machines, failedJobs, stuckJobs, runners, server }: Measured,
  at: { now: number; watchedSince: number; away: ReadonlySet<string> },
): FoundCondition[] =>
  [
    ...serverConditions(server, at.now),
    ...jobConditions(failedJobs, at.now),
    ...queueConditions(stuckJobs, at.now),
    ...runnerConditions(runners, at),
    ...machines.flatMap((machine) => machineConditions(machine, { ...at, wasOffline: at.away.has(machine.machineId) })),
  ].map(storable);

/** An open condition as it is stored. */
export interface OpenCondition extends Omit<FoundCondition, 'since'> {
  readonly id: string;
  readonly began: number;
}

/** How what is stored becomes what was found. Each condition is open at most once. */
export interface ConditionChanges {
  readonly begun: readonly (FoundCondition & { readonly began: number })[];
  readonly changed: readonly OpenCondition[];
  readonly ended: readonly string[];
}

export function conditionChanges(
  open: ReadonlyMap<string, OpenCondition>,
  found: readonly FoundCondition[],
  now: number,
): ConditionChanges {
  // What the server finds itself comes first: a machine that reports the same code does not replace it.
  const current = new Map(found.toReversed().map((one) => [keyOf(one), one]));
  const changed: OpenCondition[] = [];
  const begun: ConditionChanges['begun'][number][] = [];
  for (const [key, one] of current) {
    const before = open.get(key);
    // A source that starts again may know a later time only; a time of the future comes from a wrong clock.
    const since = Math.min(one.since ?? now, now);
    if (!before) {
      begun.push({ ...one, began: since });
      continue;
    }
    const next = {
      ...one,
      id: before.id,
      // Without `now`: a clock that is set back makes no condition older.
      began: Math.min(before.began, one.since ?? before.began),
    };
    if (!isSame(before, next)) changed.push(next);
  }
  return { begun, changed, ended: [...open].flatMap(([key, { id }]) => (current.has(key) ? [] : [id])) };
}

const isSame = (a: OpenCondition, b: OpenCondition): boolean =>
  a.severity === b.severity &&
  a.message === b.message &&
  a.remedy === b.remedy &&
  a.subjectName === b.subjectName &&
  a.began === b.began;
