import { sql } from 'kysely';
import { at, type Database } from '../../database/database.ts';
import type { FailedJob, MeasuredRunner, StuckJobs } from '../rules/training-conditions.ts';
import { canRunJob, waitingFor, type Capabilities } from '../../training/rules/runner-capabilities.ts';

/** Limits of each organization, so that one does not hide those of others. Beyond them, the newest ones. */
const mostJobs = 1_000;
const mostRunners = 1_000;

/** The newest job of each model, if it failed since. @param since - ms since 1970. */
export async function readFailedJobs(db: Database, since: number): Promise<FailedJob[]> {
  const { rows } = await sql<FailedJob>`
    select org_id, id, model, code, problem, ended_on from (
    select failed.org_id, failed.id, failed.model_name as model, coalesce(failed.error_code, '') as code,
           coalesce(nullif(failed.error_message, ''), failed.cause, '') as problem, failed.ended_on,
           row_number() over (partition by failed.org_id order by failed.ordinal desc) as place
      from training_job failed
     where failed.ended_on >= ${at(since)} and failed.status = 'failed' and not exists (
       select from training_job newer where newer.org_id = failed.org_id and newer.ordinal > failed.ordinal
          and newer.kind = failed.kind and newer.model_name = failed.model_name and newer.dataset_id = failed.dataset_id)
    ) placed where place <= ${mostJobs}`.execute(db);
  return rows;
}

export async function readRunnersSince(db: Database, since: number): Promise<MeasuredRunner[]> {
  const { rows } = await sql<MeasuredRunner>`
    select org_id, id, host, last_seen from (
      select org_id, id, host, last_seen, row_number() over (partition by org_id order by last_seen desc) as place
        from runner where last_seen >= ${at(since)}) placed where place <= ${mostRunners}`.execute(db);
  return rows;
}

type Waiting = {
  orgId: string;
  kind: string;
  gpus: number;
  container: string;
  count: number;
  oldest: number;
  id: string;
  model: string;
};

/** Jobs that wait although none of the runners seen since then could take them. */
export async function readStuckJobs(
  db: Database,
  { since, runnersOf }: { since: number; runnersOf: (orgId: string) => Promise<readonly Capabilities[]> },
): Promise<StuckJobs[]> {
  const { rows } = await sql<Waiting>`
    select org_id, kind, gpus, container, count, oldest, id, model from (
    select org_id, kind, gpus, container_version as container, count(*)::int as count, min(created_on) as oldest,
           (array_agg(id order by ordinal))[1] as id, (array_agg(model_name order by ordinal))[1] as model,
           row_number() over (partition by org_id order by min(ordinal)) as place
      from training_job where state = 'pending' and created_on < ${at(since)}
     group by org_id, kind, gpus, container_version) placed where place <= ${mostJobs}`.execute(db);
  const found: StuckJobs[] = [];
  for (const { kind, gpus, container, ...row } of rows) {
    const job = { kind, gpus, container };
    const runners = await runnersOf(row.orgId);
    if (!runners.some((runner) => canRunJob(runner, job))) found.push({ ...row, reason: waitingFor(job, runners) });
  }
  return found;
}

/** Jobs of an organization. */
export interface JobCounts {
  readonly pending: number;
  readonly inProgress: number;
  /** Ended since a time. */
  readonly completed: number;
  readonly failed: number;
}

/** By organization. @param since - ms since 1970: those that ended before are not counted. */
export async function readJobCounts(db: Database, since: number): Promise<Map<string, JobCounts>> {
  const { rows } = await sql<JobCounts & { orgId: string }>`
    select org_id, (count(*) filter (where status = 'pending'))::int as pending,
           (count(*) filter (where status in ('in_progress', 'canceling')))::int as in_progress,
           (count(*) filter (where status = 'completed'))::int as completed,
           (count(*) filter (where status = 'failed'))::int as failed
      from training_job where ended_on is null or ended_on >= ${at(since)} group by org_id`.execute(db);
  return new Map(rows.map(({ orgId, ...counts }) => [orgId, counts]));
}
