import { statfs } from 'node:fs/promises';
import { errorText, type Clock, type Log } from '@platform/kit';
import type { Database } from '../database/database.ts';
import type { HealthDeps } from '../health/installation-service.ts';
import type { Presence } from '../machines/presence.ts';
import { absentAfterMs, isUninstalled } from '../machines/rules/online.ts';
import { saveWatched } from '../machines/store/absences.ts';
import { capabilitiesLifetimeMs } from '../training/rules/runner-capabilities.ts';
import { runnersSince } from '../training/store/runners.ts';
import { reportedConditions } from './reported.ts';
import { allConditions, conditionChanges, type Measured, type OpenCondition } from './rules/all-conditions.ts';
import { keyOf } from './rules/condition.ts';
import { fleetNumbers, type OrganizationNumbers } from './rules/fleet-numbers.ts';
import type { MeasuredMachine } from './rules/machine-conditions.ts';
import { failedDays, runnerMissedDays, stuckAfterMs } from './rules/training-conditions.ts';
import { readOpenConditions, saveConditionChanges } from './store/condition-records.ts';
import { saveFleetSamples } from './store/fleet-samples.ts';
import { type MachineState, readMachineStates } from './store/measured-machines.ts';
import {
  type JobCounts,
  readFailedJobs,
  readJobCounts,
  readRunnersSince,
  readStuckJobs,
} from './store/measured-training.ts';

/**
 * Pause after a measurement; longer where one takes long, so that it costs about 2 % of a processor. It is never longer
 * than a user waits for a new machine to appear on the overview.
 */
export const watchEveryMs = 2_000;
const shareOfTime = 50;
const longestPauseMs = 10_000;
/** A measurement that is older is late. */
const lateMs = 2 * 60_000;
/** How often it is stored that the server listens: how exactly a later server knows when this one ended. */
const watchedEveryMs = 10_000;
/** Each organization has one sample for each of these periods. */
export const sampleEveryMs = 5 * 60_000;
/** After a start, machines connect again within this time. */
const settledMs = 2 * 60_000;
const dayMs = 24 * 3_600_000;

/** What was measured last. */
export type Measurement = {
  /** ms since 1970. */
  readonly at: number;
  readonly numbers: ReadonlyMap<string, OrganizationNumbers>;
  readonly jobs: ReadonlyMap<string, JobCounts>;
  readonly disk: { readonly size: number; readonly free: number } | undefined;
};

export type WatchDeps = Pick<HealthDeps, 'readiness' | 'certificateEnds' | 'certificate' | 'backups'> & {
  db: Database;
  dataFolder: string;
  /** GB on its disk; undefined: a share of the disk. */
  lowDiskGb: number | undefined;
  presence: Presence;
  clock: Clock;
  log: Log;
};

export type ConditionWatch = {
  /** Undefined: nothing was measured yet. */
  last(): Measurement | undefined;
  isLate(): boolean;
  done: Promise<void>;
};

/** Measures all the time what needs attention, and stores what begins and ends, until `stop`. */
export function watchConditions(deps: WatchDeps, stop: AbortSignal): ConditionWatch {
  const { clock, log } = deps;
  const state: { last: Measurement | undefined; since: number; problem: string } = {
    last: undefined,
    since: clock.now(),
    problem: '',
  };
  const measure = measurer(deps);
  const run = async (): Promise<void> => {
    while (!stop.aborted) {
      const began = clock.now();
      try {
        state.last = await measure();
        state.since = began;
        state.problem = '';
      } catch (error) {
        if (stop.aborted) return;
        const problem = errorText(error);
        if (problem !== state.problem) log.warn('conditions could not be measured', { error: problem });
        state.problem = problem;
      }
      const pauseMs = Math.min(longestPauseMs, Math.max(watchEveryMs, shareOfTime * (clock.now() - began)));
      await clock.sleep(pauseMs, stop);
    }
  };
  return { last: () => state.last, isLate: () => clock.now() - state.since > lateMs, done: run() };
}

type WatchState = {
  /** Undefined: what is stored is unknown. */
  open: Map<string, OpenCondition> | undefined;
  /** Since when machines could be seen, monotonic: the wall clock may be set. */
  watchedFrom: number;
  /** Since when no measurement was complete; undefined: the last one was. */
  triedSince: number | undefined;
  /** What was stored last of that this server listens: when, monotonic, and by the wall clock. Undefined: nothing yet. */
  watched: { readonly id: string; readonly at: number; readonly wall: number } | undefined;
  /** Period of the last sample. */
  sampled: number;
  /** Since when checks of the readiness fail. Undefined: those of an earlier server are not read yet. */
  failing: Map<string, number> | undefined;
};

function measurer(deps: WatchDeps): () => Promise<Measurement> {
  const { db, clock } = deps;
  const reported = reportedConditions(deps);
  const state: WatchState = {
    open: undefined,
    watchedFrom: clock.now(),
    triedSince: undefined,
    watched: undefined,
    sampled: 0,
    failing: undefined,
  };
  return async () => {
    state.triedSince ??= clock.now();
    const open = (state.open ??= await readOpenConditions(db));
    const failing = (state.failing ??= failedBefore(open));
    const at = clock.wall();
    const states = await readMachineStates(db);
    forgetLongTry(state, clock);
    const watchedMs = clock.now() - state.watchedFrom;
    const conditionsOf = await reported.read(states);
    const machines = states.map((one) => machineOf(one, deps.presence, conditionsOf(one.id)));
    const measured = { machines, ...(await measureTraining(deps, at)), server: await measureServer(deps, failing) };
    const found = allConditions(measured, { now: at, watchedSince: at - watchedMs, away: awayBefore(open) });
    const changes = conditionChanges(open, found, at);
    // Until it is stored, what is stored is unknown.
    state.open = undefined;
    const begun = await saveConditionChanges(db, changes, at);
    if (begun.size === changes.begun.length) state.open = nextOpen(open, changes, begun);
    await keepWatched(db, state, clock);
    const numbers = fleetNumbers(
      machines.map((machine, index) => ({ ...machine, ...versionsOf(states[index]) })),
      found,
    );
    if (watchedMs >= settledMs) await sampleFleet(db, state, at, numbers);
    const jobs = await readJobCounts(db, at - failedDays * dayMs);
    forgetLongTry(state, clock);
    state.triedSince = undefined;
    return { at, numbers, jobs, disk: measured.server.disk };
  };
}

/** While the database is away, or keeps a measurement waiting, machines cannot be heard either. */
function forgetLongTry(state: WatchState, clock: Clock): void {
  const now = clock.now();
  if (now - (state.triedSince ?? now) > lateMs) state.watchedFrom = now;
}

/**
 * Stores that the server listens. What machines did in a time without a measurement is not known, nor in one that the wall
 * clock skipped: the host slept, or an earlier clock was wrong.
 */
async function keepWatched(db: Database, state: WatchState, clock: Clock): Promise<void> {
  const [now, wall, { watched }] = [clock.now(), clock.wall(), state];
  const passed = watched === undefined ? Infinity : now - watched.at;
  if (passed < watchedEveryMs) return;
  const wallPassed = watched === undefined ? Infinity : Math.abs(wall - watched.wall);
  const id = await saveWatched(db, Math.max(passed, wallPassed) > absentAfterMs ? undefined : watched?.id, wall);
  state.watched = { id, at: now, wall };
}

/** Stores one sample for each period. */
async function sampleFleet(
  db: Database,
  state: WatchState,
  now: number,
  numbers: ReadonlyMap<string, OrganizationNumbers>,
): Promise<void> {
  const period = Math.floor(now / sampleEveryMs);
  if (period === state.sampled) return;
  const counts = [...numbers].map(([orgId, { machines, online }]) => ({ orgId, machines, online }));
  await saveFleetSamples(db, period * sampleEveryMs, counts);
  state.sampled = period;
}

const awayCodes: readonly string[] = ['MACHINE_OFFLINE', 'RUNNER_AWAY'];
const awayBefore = (open: ReadonlyMap<string, OpenCondition>): Set<string> =>
  new Set([...open.values()].flatMap(({ code, subjectId }) => (awayCodes.includes(code) ? subjectId : [])));

/** Checks of the readiness that failed when an earlier server ended, with the time since when. */
const failedBefore = (open: ReadonlyMap<string, OpenCondition>): Map<string, number> =>
  new Map(
    [...open.values()].flatMap(({ code, subject, place, began }): [string, number][] =>
      subject === 'server' && code === 'SERVER_CHECK_FAILED' ? [[place, began]] : [],
    ),
  );

const versionsOf = (of: MachineState | undefined) => ({
  agentVersion: of?.agentVersion ?? '',
  serverVersion: of?.serverVersion ?? '',
});

function machineOf(
  { id, lastSeen: stored, uninstalledOn, diskFree, diskSize, ...of }: MachineState,
  presence: Presence,
  reported: MeasuredMachine['reported'],
): MeasuredMachine {
  const lastSeen = presence.lastSeen(id, stored);
  const isGone = isUninstalled(uninstalledOn, lastSeen);
  return {
    orgId: of.orgId,
    machineId: of.machineId,
    name: of.name,
    createdOn: of.createdOn,
    state: isGone ? 'uninstalled' : presence.online(id, stored),
    lastSeen,
    diskFree: diskFree ?? undefined,
    diskSize: diskSize ?? undefined,
    reported,
  };
}

async function measureTraining({ db }: WatchDeps, now: number) {
  const known = new Map<string, ReturnType<typeof runnersSince>>();
  const runnersOf = async (orgId: string) => {
    const read = known.get(orgId) ?? runnersSince(db, [orgId], now - capabilitiesLifetimeMs);
    known.set(orgId, read);
    return (await read).rows;
  };
  return {
    failedJobs: await readFailedJobs(db, now - failedDays * dayMs),
    runners: await readRunnersSince(db, now - runnerMissedDays * dayMs),
    stuckJobs: await readStuckJobs(db, { since: now - stuckAfterMs, runnersOf }),
  };
}

async function measureServer(of: WatchDeps, failing: Map<string, number>): Promise<Measured['server']> {
  const { checks } = await of.readiness();
  for (const { name, problem } of checks) {
    if (problem === undefined) failing.delete(name);
    else failing.set(name, failing.get(name) ?? of.clock.wall());
  }
  const disk = await statfs(of.dataFolder).catch(() => undefined);
  return {
    failed: checks.flatMap(({ name, problem }) =>
      problem === undefined ? [] : [{ name, problem, since: failing.get(name) ?? of.clock.wall() }],
    ),
    disk: disk && {
      size: disk.blocks * disk.bsize,
      free: disk.bavail * disk.bsize,
      leastFree: of.lowDiskGb === undefined ? undefined : of.lowDiskGb * 1e9,
    },
    certificate: { ends: of.certificateEnds(), problems: of.certificate().problems },
    backup: {
      isScheduled: of.backups.schedule !== undefined,
      problem: of.backups.problem(),
      last: await of.backups.last(),
    },
  };
}

function nextOpen(
  open: ReadonlyMap<string, OpenCondition>,
  { begun, changed, ended }: ReturnType<typeof conditionChanges>,
  ids: ReadonlyMap<string, string>,
): Map<string, OpenCondition> {
  const gone = new Set(ended);
  const next = new Map([...open].filter(([, { id }]) => !gone.has(id)));
  for (const one of changed) next.set(keyOf(one), one);
  for (const { since: _, ...one } of begun) next.set(keyOf(one), { ...one, id: ids.get(keyOf(one)) ?? '' });
  return next;
}
