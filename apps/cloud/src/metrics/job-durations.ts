import { Histogram, type OpenMetricsContentType, type Registry } from 'prom-client';
import type { Clock } from '@platform/kit';
import { at, type Database } from '../database/database.ts';

/** From a minute of a small model to days of a large one. */
const buckets = [10, 60, 300, 900, 3_600, 14_400, 43_200, 86_400, 259_200];
const endings = ['completed', 'failed', 'canceled'] as const;
/** A transaction may commit this long after the time that it wrote. */
const overlapMs = 120_000;

/** Reads the jobs that ended since the last scrape, so that no step of a job needs to know of metrics. */
export function addJobDurations(
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
