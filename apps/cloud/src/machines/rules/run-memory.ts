// What a server remembers of the runs of a part's agent, and what of it the database has to know.
import type { StoredRun } from './shared-identity.ts';
import {
  type AgentRun,
  newTimes,
  noteSent,
  runLifeMs,
  type RunTimes,
  sentAt,
  sharingRuns,
  shownRun,
} from './sharing-runs.ts';

/** A check as far as it concerns the run of its agent. */
export type RunCheck = {
  partId: string;
  /** Undefined: the agent is older. Nothing is claimed about it. */
  runId: string | undefined;
  uptimeMs: number | undefined;
  /** The check is one of another product's agent, which names no run. */
  isOther?: boolean;
  /** IP address of the client. */
  address: string;
};

export type Run = AgentRun & { times: RunTimes; savedAt: number | undefined };
/** The runs of one part. `readAt`: when it was read from the database last. */
export type Entry = { runs: readonly Run[]; reportRun: string | undefined; readAt: number | undefined };

/** Less than the interval of two checks of most agents, 55 s: each of them is stored, and none waits for the next one. */
const saveEveryMs = 50_000;
const mostInMemory = 8;

/**
 * Notes a check in its run.
 *
 * @returns whether the database has to know it.
 */
export function noteRunCheck(entry: Entry, runId: string, now: number, { uptimeMs, address }: RunCheck): boolean {
  const found = entry.runs.find(({ id }) => id === runId);
  const noted = found ?? newRun(runId, now);
  if (!found) entry.runs = [...entry.runs, noted].slice(-mostInMemory);
  noted.address = address;
  // Without an uptime, a delayed check looks like a new one.
  if (uptimeMs === undefined) return !found;
  const isProven = noteSent(noted, entry.runs, now, sentAt(noted.times, now, uptimeMs));
  return !found || isProven || (isContested(entry.runs, now) && isDue(noted, entry.runs, now));
}

/** Whether the part is shared and the status of another run is shown. */
export function isSecondRun(runs: readonly Run[], runId: string, now: number): boolean {
  const shared = isDisputed(runs) ? sharingRuns(runs, now) : undefined;
  return shared !== undefined && shownRun(shared, now).id !== runId && shared.some(({ id }) => id === runId);
}

const isDisputed = (runs: readonly Run[]): boolean => runs.some(({ returnedOn }) => returnedOn !== undefined);
/** Only then the times of its runs are stored regularly. */
const isContested = (runs: readonly Run[], now: number): boolean =>
  isDisputed(runs) && runs.filter(({ lastSent }) => now - lastSent <= runLifeMs).length > 1;
/** Also once after another run has returned: only then both are known to go on. */
const isDue = ({ savedAt = -Infinity, lastSent }: Run, runs: readonly Run[], now: number): boolean =>
  now - savedAt >= saveEveryMs ||
  runs.some(({ returnedOn = Infinity }) => savedAt <= returnedOn && lastSent > returnedOn);

const newRun = (id: string, now: number): Run => ({
  id,
  firstSeen: now,
  lastSent: now,
  returnedOn: undefined,
  hostname: '',
  address: '',
  linkAddresses: [],
  times: newTimes(),
  savedAt: undefined,
});

/** The runs to store: news, and from time to time those that alternate. */
export function missingOf(runs: readonly Run[], known: readonly StoredRun[], now: number): Run[] {
  const isRegular = isContested(runs, now);
  return runs.filter(
    (run) => isNews(run, known) || (isRegular && run.lastSent > (run.savedAt ?? 0) && isDue(run, runs, now)),
  );
}

/** The runs of memory and database. What was stored and is not any more is forgotten: a run that goes on is new again. */
export function merged(runs: readonly Run[], stored: readonly StoredRun[], now: number): Run[] {
  const kept = runs.filter(({ id, savedAt }) => savedAt === undefined || stored.some((one) => one.id === id));
  for (const row of stored) {
    const found = kept.find(({ id }) => id === row.id);
    const run = found ?? { ...newRun(row.id, now), lastSent: now - row.sentAgo };
    if (!found) kept.push(run);
    run.firstSeen = Math.min(run.firstSeen, now - row.firstAgo);
    run.lastSent = Math.max(run.lastSent, now - row.sentAgo);
    const returnedOn = row.returnedAgo === null ? undefined : now - row.returnedAgo;
    // The sharing ended by a split: what was proven before counts no more.
    if (returnedOn === undefined && run.savedAt !== undefined && run.returnedOn !== undefined && !isNewlyReturned(run))
      Object.assign(run, { returnedOn: undefined, times: { ...run.times, proof: undefined } });
    run.returnedOn = returnedOn ?? run.returnedOn;
    run.savedAt ??= now - row.sentAgo;
    run.hostname ||= row.hostname;
    run.address ||= row.address;
    if (run.linkAddresses.length === 0) run.linkAddresses = row.linkAddresses;
  }
  return kept.toSorted((a, b) => a.firstSeen - b.firstSeen);
}

/** Proven since it was stored last. */
const isNewlyReturned = ({ returnedOn = 0, savedAt = 0 }: Run): boolean => returnedOn > savedAt;

/** Whether it is not stored yet that the run began or returned. */
export function isNews({ id, returnedOn }: Run, known: readonly StoredRun[]): boolean {
  const before = known.find((one) => one.id === id);
  return before === undefined || (returnedOn !== undefined && before.returnedAgo === null);
}

export const storedRun = (partId: string, run: Run, now: number): StoredRun => ({
  partId,
  id: run.id,
  firstAgo: now - run.firstSeen,
  sentAgo: Math.max(0, now - run.lastSent),
  returnedAgo: run.returnedOn === undefined ? null : now - run.returnedOn,
  hostname: run.hostname,
  address: run.address,
  linkAddresses: run.linkAddresses,
});
