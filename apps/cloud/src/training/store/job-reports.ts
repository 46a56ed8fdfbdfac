import { sql } from 'kysely';
import { at, type Database, type Trx } from '../../database/database.ts';
import type { LogPlace } from '../../rpc/rules/page-tokens.ts';
import { type JobKey, type JobRow, notifyOf } from './jobs.ts';

/** A runner's report on its attempt. Sequences start at 1; duplicates are stored once. Times in ms since 1970. */
export type Report = {
  phase: string;
  progress: number;
  etaMs: number | null;
  logs: readonly LogLine[];
  metrics: readonly Metric[];
};
export type LogLine = { sequence: number; time: number; level: string; message: string };
export type Metric = { sequence: number; time: number; values: { [key: string]: unknown } };

/** Longer messages are truncated. */
const maxMessage = 8192;

/** @param now - ms since 1970. */
export async function writeReport(trx: Trx, row: JobRow, report: Report, now: number): Promise<void> {
  const hasBegun = row.phase === 'queued' && report.phase !== '' && report.phase !== 'queued';
  // Two processes may report one attempt: the dispatcher and the runner in the engine. A running attempt never becomes
  // queued.
  const isLate = report.phase === 'queued' && row.phase !== '' && row.phase !== 'queued';
  const isQueuedFirst = report.phase === 'queued' && row.phase === '';
  await trx
    .updateTable('trainingJob')
    .set({
      ...(report.phase === '' || isLate ? {} : { phase: report.phase }),
      ...(hasBegun
        ? { startedOn: at(now), deadline: at(now + row.limits.wall_seconds * 1000), changedOn: at(now) }
        : {}),
      ...(isQueuedFirst ? { startedOn: null } : {}),
      // A late report must not reduce the progress.
      progress: sql<number>`greatest(progress, ${report.progress}::double precision)`,
      ...(report.phase === '' || isLate ? {} : { etaMs: report.etaMs }),
    })
    .where((eb) => eb.and({ orgId: row.orgId, id: row.id }))
    .execute();
  if (hasBegun || isQueuedFirst) await notifyOf(trx, row);
  await writeLogs(trx, row, row.attempt, report.logs);
  await writeMetrics(trx, row, report.metrics);
}

/** Attempt 0 is the server itself. */
export async function writeLogs(trx: Database, key: JobKey, attempt: number, logs: readonly LogLine[]): Promise<void> {
  if (logs.length === 0) return;
  await sql`
    insert into training_log (org_id, job_id, attempt, sequence, time, level, message)
    select ${key.orgId}::uuid, ${key.id}::uuid, ${attempt}::integer, line.*
      from unnest(
        ${logs.map((line) => line.sequence)}::bigint[],
        ${logs.map((line) => new Date(line.time).toISOString())}::timestamptz[],
        ${logs.map((line) => line.level)}::text[],
        ${logs.map((line) => storable(line.message).slice(0, maxMessage))}::text[]
      ) line
    on conflict do nothing`.execute(trx);
}

async function writeMetrics(trx: Trx, row: JobRow, metrics: readonly Metric[]): Promise<void> {
  if (metrics.length === 0) return;
  await sql`
    insert into training_metric (org_id, job_id, attempt, sequence, time, values)
    select ${row.orgId}::uuid, ${row.id}::uuid, ${row.attempt}::integer, line.*
      from unnest(
        ${metrics.map((line) => line.sequence)}::bigint[],
        ${metrics.map((line) => new Date(line.time).toISOString())}::timestamptz[],
        ${metrics.map((line) => storable(JSON.stringify(line.values)))}::jsonb[]
      ) line
    on conflict do nothing`.execute(trx);
}

/** PostgreSQL stores no NUL, neither in text nor escaped in JSON. */
const storable = (text: string): string => text.replaceAll('\0', '\uFFFD').replaceAll('\\u0000', '\\ufffd');

export const readLogs = (
  db: Database,
  key: JobKey,
  after: LogPlace,
  limit: number,
): Promise<{ attempt: number; sequence: number; time: number; level: string; message: string }[]> =>
  db
    .selectFrom('trainingLog')
    .select(['attempt', 'sequence', 'time', 'level', 'message'])
    .where((eb) => eb.and({ orgId: key.orgId, jobId: key.id }))
    .where(sql<boolean>`(attempt, sequence) > (${after.attempt}, ${after.sequence})`)
    .orderBy('attempt')
    .orderBy('sequence')
    .limit(limit)
    .execute();

/** Metrics of the current attempt only: those of earlier attempts do not describe this model. */
export const readMetrics = (
  db: Database,
  row: JobRow,
): Promise<{ sequence: number; time: number; values: { [key: string]: unknown } }[]> =>
  db
    .selectFrom('trainingMetric')
    .select(['sequence', 'time', 'values'])
    .where((eb) => eb.and({ orgId: row.orgId, jobId: row.id, attempt: row.attempt }))
    .orderBy('sequence')
    .execute();
