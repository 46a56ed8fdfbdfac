import { LRUCache } from 'lru-cache';
import { errorText, type Clock, type Log } from '@platform/kit';
import type { Changes } from '../database/changes.ts';
import type { Database } from '../database/database.ts';
import {
  type Entry,
  isNews,
  isSecondRun,
  merged,
  missingOf,
  noteRunCheck,
  type RunCheck,
  storedRun,
} from './rules/run-memory.ts';
import { isOtherRun, otherRunId } from './rules/other-agent-run.ts';
import type { StoredRun } from './rules/shared-identity.ts';
import { readReportRuns, readRuns, saveRuns } from './store/part-runs.ts';

/**
 * The runs of the agents of all parts. Checks change the memory only. A new run is stored with the next batch, and runs
 * that alternate about once a minute, so that every server knows the runs that others see.
 */
export type PartRuns = {
  noteCheck(check: RunCheck): void;
  /** Where the computer of a run is, by its report, which is stored. */
  noteReport(of: {
    partId: string;
    runId: string | undefined;
    hostname: string;
    linkAddresses: readonly string[];
  }): void;
  /** Whether the part is shared and the status of another run is shown, not that of this one. */
  isSecond(partId: string, runId: string | undefined): boolean;
  /** Whether an agent of ours checks in beside that of another product: its status is shown. */
  isOtherSecond(partId: string): boolean;
  /** Whether this run has to send its report again, because the stored one is of another run. */
  wantsReport(partId: string, runId: string | undefined): boolean;
  flush(): Promise<void>;
};

const flushMs = 5_000;
/** A new agent sends its report by itself. */
const reportMs = 30_000;
/** Another server may have stored the report since. Agents check in about once a minute. */
const currentMs = 90_000;

type Deps = { db: Database; changes: Pick<Changes, 'subscribe'>; clock: Clock; log: Log; stop: AbortSignal };
type EntryOf = (partId: string) => Entry;

export function partRuns(of: Deps): PartRuns & { done: Promise<void> } {
  const { clock } = of;
  const entries = new LRUCache<string, Entry>({ max: 200_000 });
  const entryOf: EntryOf = (partId) => {
    const found = entries.get(partId) ?? { runs: [], reportRun: undefined, readAt: undefined };
    entries.set(partId, found);
    return found;
  };
  const { pending, flush, done } = pendingParts(of, entryOf);
  of.changes.subscribe((kind, key) => {
    if (kind === 'run' && key !== undefined && entries.has(key)) pending.add(key);
  });
  const isSecond = (partId: string, runId: string | undefined): boolean =>
    runId !== undefined && isSecondRun(entries.get(partId)?.runs ?? [], runId, clock.now());
  const otherRunOf = ({ partId, isOther, uptimeMs }: RunCheck): string | undefined =>
    isOther && uptimeMs !== undefined
      ? otherRunId(
          clock.wall() - uptimeMs,
          (entries.get(partId)?.runs ?? []).map(({ id }) => id),
        )
      : undefined;
  return {
    noteCheck(check) {
      const { partId } = check;
      const runId = check.runId ?? otherRunOf(check);
      if (runId !== undefined && noteRunCheck(entryOf(partId), runId, clock.now(), check)) pending.add(partId);
    },
    noteReport({ partId, runId, hostname, linkAddresses }) {
      const entry = entries.get(partId);
      const noted = entry?.runs.find(({ id }) => id === runId);
      if (!entry || !noted) return;
      entry.reportRun = isSecond(partId, runId) ? entry.reportRun : runId;
      Object.assign(noted, { hostname, linkAddresses });
    },
    isSecond,
    isOtherSecond: (partId) =>
      (entries.get(partId)?.runs ?? []).some(({ id }) => isOtherRun(id) && isSecond(partId, id)),
    wantsReport(partId, runId) {
      const entry = entries.get(partId);
      const found = entry?.runs.find(({ id }) => id === runId);
      if (!entry || !found || entry.reportRun === undefined || entry.reportRun === runId) return false;
      const now = clock.now();
      if (now - found.firstSeen <= reportMs || isSecond(partId, runId)) return false;
      if (entry.readAt !== undefined && now - entry.readAt <= currentMs) return true;
      pending.add(partId);
      return false;
    },
    flush,
    done,
  };
}

/** Parts with something to read or to store: regularly, and with `flush`. `done`: it has stopped. */
function pendingParts({ db, clock, log, stop }: Deps, entryOf: EntryOf) {
  const pending = new Set<string>();
  const storePending = async (): Promise<void> => {
    const partIds = [...pending];
    pending.clear();
    if (partIds.length === 0) return;
    try {
      await store(db, partIds, { entryOf, now: clock.now() });
    } catch (error) {
      log.warn('runs of agents could not be stored', { error: errorText(error) });
      for (const partId of partIds) pending.add(partId);
    }
  };
  let storing: Promise<void> = Promise.resolve();
  /** One at a time: a later batch must not overtake an earlier one. */
  const flush = (): Promise<void> => (storing = storing.then(storePending));
  const run = async (): Promise<void> => {
    while (!stop.aborted) {
      await clock.sleep(flushMs, stop);
      await flush();
    }
  };
  return { pending, flush, done: run() };
}

/** Reads what is stored about the parts, adds it to the memory, and stores what is missing. */
async function store(
  db: Database,
  partIds: readonly string[],
  { entryOf, now }: { entryOf: EntryOf; now: number },
): Promise<void> {
  const stored = Map.groupBy(await readRuns(db, partIds), ({ partId }) => partId);
  const reportRuns = await readReportRuns(db, partIds);
  const writes: StoredRun[] = [];
  const changed: string[] = [];
  for (const partId of partIds) {
    const entry = entryOf(partId);
    const known = stored.get(partId) ?? [];
    entry.runs = merged(entry.runs, known, now);
    entry.reportRun = reportRuns.get(partId) ?? entry.reportRun;
    entry.readAt = now;
    const missing = missingOf(entry.runs, known, now);
    writes.push(...missing.map((run) => storedRun(partId, run, now)));
    // Other servers need not know the first run of a part.
    if (known.length > 0 && missing.some((run) => isNews(run, known))) changed.push(partId);
  }
  if (writes.length > 0) await saveRuns(db, writes, changed);
  const written = new Set(writes.map(({ partId, id }) => `${partId} ${id}`));
  for (const partId of partIds)
    for (const run of entryOf(partId).runs) if (written.has(`${partId} ${run.id}`)) run.savedAt = now;
}
