// What is measured when the metrics are read.
import { sql } from 'kysely';
import { Gauge, Histogram, type OpenMetricsContentType, type Registry } from 'prom-client';
import type { Clock } from '@platform/kit';
import { at, type Database, type PoolState } from '../database/database.ts';
import { refreshed } from '../database/refreshed.ts';
import { isUninstalled, type Online } from '../machines/rules/online.ts';
import type { Presence } from '../machines/presence.ts';
import { statfs } from 'node:fs/promises';
import type { Readiness } from '../health/readiness.ts';
import { documentEnds } from '../releases/document-ends.ts';

export type Observed = HostObserved & {
  pool: () => PoolState;
  presence: Presence;
  /** Checks that are held now. */
  held: () => number;
  clock: Clock;
  stop: AbortSignal;
};

/** Adds gauges to the registry. One that cannot be measured is left out, and the others stay. */
export function addGauges(registry: Registry<OpenMetricsContentType>, of: Observed): void {
  const gauge = (
    name: string,
    help: string,
    labelNames: string[],
    read: () => readonly Sample[] | Promise<readonly Sample[]>,
  ) =>
    new Gauge({
      name,
      help,
      labelNames,
      registers: [registry],
      async collect() {
        this.reset();
        const samples = await Promise.resolve(read()).catch(() => []);
        for (const { labels = {}, value } of samples) this.set(labels, value);
        // A reset gives 0 to a gauge without labels.
        if (samples.length === 0 && labelNames.length === 0) this.remove();
      },
    });
  const machines = refreshed(() => countMachines(of), of.clock, of.stop);
  const jobs = refreshed(() => readJobs(of), of.clock, of.stop);
  gauge('platform_machines', 'Machines by their state.', ['state'], machines);
  gauge('platform_jobs', 'Training jobs by their status.', ['status'], async () => (await jobs()).counts);
  gauge('platform_oldest_pending_job_seconds', 'Age of the oldest job that waits; 0: none waits.', [], async () => [
    { value: (await jobs()).oldestMs / 1_000 },
  ]);
  addJobDurations(registry, of);
  const blobs = keptFor(blobRestMs, of.clock, () => readBlobs(of));
  gauge('platform_blob_bytes', 'Bytes of the files that rows name; each file counts once.', [], async () => [
    { value: (await blobs()).bytes },
  ]);
  gauge('platform_blobs', 'Files that rows name.', [], async () => [{ value: (await blobs()).files }]);
  gauge('platform_long_polls_held', 'Checks of machines that wait for a change.', [], () => [{ value: of.held() }]);
  gauge('platform_database_connections', 'Connections to the database, and calls that wait for one.', ['state'], () => {
    const { open, idle, waiting } = of.pool();
    return Object.entries({ used: open - idle, idle, waiting }).map(([state, value]) => ({ labels: { state }, value }));
  });
  addHostGauges(gauge, of);
}

/** The sum reads a row of each file. */
const blobRestMs = 60_000;

/** Reuses a value for `ms`; a failed read is repeated by the next caller. */
function keptFor<T>(ms: number, clock: Clock, read: () => Promise<T>): () => Promise<T> {
  const kept: { value: Promise<T> | undefined; until: number } = { value: undefined, until: 0 };
  return () => {
    if (kept.value && clock.now() < kept.until) return kept.value;
    const value = read().catch((error: unknown) => {
      kept.value = undefined;
      throw error;
    });
    Object.assign(kept, { value, until: clock.now() + ms });
    return value;
  };
}

async function readBlobs({ db }: Observed): Promise<{ bytes: number; files: number }> {
  const each = db
    .selectFrom('blob')
    .select(['sha256', sql<number>`max(size_bytes)`.as('size')])
    .groupBy('sha256');
  const { files, bytes } = await db
    .selectFrom(each.as('each'))
    .select([sql<number>`count(*)`.as('files'), sql<string>`coalesce(sum(size), 0)`.as('bytes')])
    .executeTakeFirstOrThrow();
  return { files, bytes: Number(bytes) };
}

async function countMachines({ db, presence }: Observed): Promise<Sample[]> {
  const parts = await db
    .selectFrom('part')
    .select(['id', 'lastSeen', 'uninstalledOn'])
    .where('isMain', '=', true)
    .execute();
  const counts = new Map<Online | 'uninstalled', number>([
    ['online', 0],
    ['offline', 0],
    ['awaiting setup', 0],
    ['uninstalled', 0],
  ]);
  for (const { id, lastSeen, uninstalledOn } of parts) {
    const isGone = isUninstalled(uninstalledOn, presence.lastSeen(id, lastSeen));
    const state = isGone ? 'uninstalled' : presence.online(id, lastSeen);
    counts.set(state, (counts.get(state) ?? 0) + 1);
  }
  return [...counts].map(([state, value]) => ({ labels: { state: state.replace(' ', '_') }, value }));
}

/** All of them, so that a dashboard has a line before the first job. */
const statuses = ['pending', 'in_progress', 'completed', 'failed', 'canceling', 'canceled'] as const;

async function readJobs({ db, clock }: Observed): Promise<{ counts: Sample[]; oldestMs: number }> {
  const rows = await db
    .selectFrom('trainingJob')
    .select(['status', sql<number>`count(*)`.as('count'), sql<number | null>`min(created_on)`.as('oldest')])
    .groupBy('status')
    .execute();
  const oldest = rows.find(({ status }) => status === 'pending')?.oldest ?? null;
  const counts = new Map<string, number>(statuses.map((status) => [status, 0]));
  for (const { status, count } of rows) counts.set(status, Number(count));
  return {
    counts: [...counts].map(([status, value]) => ({ labels: { status }, value })),
    oldestMs: oldest === null ? 0 : Math.max(0, clock.wall() - oldest),
  };
}

/** From a minute of a small model to days of a large one. */
const buckets = [10, 60, 300, 900, 3_600, 14_400, 43_200, 86_400, 259_200];
const endings = ['completed', 'failed', 'canceled'] as const;
/** A transaction may commit this long after the time that it wrote. */
const overlapMs = 120_000;

/** Reads the jobs that ended since the last scrape, so that no step of a job needs to know of metrics. */
function addJobDurations(
  registry: Registry<OpenMetricsContentType>,
  { db, clock }: { db: Database; clock: Clock },
): void {
  const start = clock.wall();
  const counted = new Map<string, number>();
  let newest = start;
  const durations = new Histogram({
    name: 'platform_job_duration_seconds',
    help: 'Time from the start of the last attempt of a training job to its end, since the start of the server.',
    labelNames: ['status'],
    buckets,
    registers: [],
    async collect() {
      const after = Math.max(start, newest - overlapMs);
      for (const { id, state, startedOn, endedOn } of await endedJobs(db, after).catch(() => [])) {
        if (counted.has(id)) continue;
        counted.set(id, endedOn);
        newest = Math.max(newest, endedOn);
        this.observe({ status: state }, Math.max(0, endedOn - startedOn) / 1_000);
      }
      for (const [id, endedOn] of counted) if (endedOn < newest - overlapMs) counted.delete(id);
    },
  });
  for (const status of endings) durations.zero({ status });
  registry.registerMetric(durations);
}

async function endedJobs(db: Database, after: number) {
  const rows = await db
    .selectFrom('trainingJob')
    .select(['id', 'state', 'startedOn', 'endedOn'])
    .where('endedOn', '>=', at(after))
    .where('startedOn', 'is not', null)
    .execute();
  return rows.flatMap(({ startedOn, endedOn, ...row }) =>
    startedOn === null || endedOn === null ? [] : [{ ...row, startedOn, endedOn }],
  );
}

// What can fill up or expire unnoticed: disks, backups, certificates, signed documents.

type HostObserved = {
  db: Database;
  dataFolder: string;
  /** ms since 1970; undefined: no TLS. */
  certificateEnds: () => number | undefined;
  /** `last`: the newest backup, ms since 1970; undefined: there is none. `folder`: of scheduled backups. */
  backups: { last: () => Promise<number | undefined>; folder: string | undefined };
  readiness: () => Promise<Readiness>;
};

type Sample = { labels?: Record<string, string>; value: number };
type AddGauge = (
  name: string,
  help: string,
  labelNames: string[],
  read: () => readonly Sample[] | Promise<readonly Sample[]>,
) => unknown;

function addHostGauges(gauge: AddGauge, of: HostObserved): void {
  gauge('platform_data_disk_bytes', 'File system of the data folder; free: for this user.', ['kind'], () =>
    diskBytes(of.dataFolder),
  );
  gauge('platform_data_disk_inodes', 'Files that fit on the file system of the data folder.', ['kind'], async () => {
    const { files, ffree } = await statfs(of.dataFolder);
    // Btrfs and others have no fixed number of files, and report 0.
    return files === 0 ? [] : kinds({ free: ffree, size: files });
  });
  gauge('platform_backup_last_success_timestamp_seconds', 'Time of the newest backup.', [], async () =>
    seconds(await of.backups.last()),
  );
  gauge('platform_backup_disk_bytes', 'File system of the scheduled backups; free: for this user.', ['kind'], () =>
    of.backups.folder === undefined ? [] : diskBytes(of.backups.folder),
  );
  gauge('platform_certificate_end_timestamp_seconds', 'End of the TLS certificate in use.', [], () =>
    seconds(of.certificateEnds()),
  );
  gauge(
    'platform_release_document_end_timestamp_seconds',
    'End of the newest signed document of the releases, by its role.',
    ['role'],
    async () => {
      const ends = await documentEnds(of.db);
      return ends.map(({ role, endsAt }) => ({ labels: { role }, value: endsAt / 1_000 }));
    },
  );
  gauge('platform_notices', 'Lines of /readyz that say what is wrong, by their kind.', ['kind'], async () => {
    const { problems, checks } = await of.readiness();
    const failed = checks.filter(({ problem }) => problem !== undefined).length;
    const fatal = problems.filter(({ isFatal }) => isFatal).length;
    return kinds({ check: failed, problem: fatal, notice: problems.length - fatal });
  });
}

const kinds = (values: Readonly<Record<string, number>>): Sample[] =>
  Object.entries(values).map(([kind, value]) => ({ labels: { kind }, value }));

const seconds = (ms: number | undefined): Sample[] => (ms === undefined ? [] : [{ value: ms / 1_000 }]);

async function diskBytes(folder: string): Promise<Sample[]> {
  const { bsize, bavail, blocks } = await statfs(folder);
  return kinds({ free: bsize * bavail, size: bsize * blocks });
}
