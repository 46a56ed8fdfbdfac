import { sql } from 'kysely';
import { at, type Database, type Trx } from '../../database/database.ts';
import { type JobEvent, pausesMs, step } from '../rules/job-life.ts';
import { type By, jobOf, type JobRow, moveOn, writeStep } from './jobs.ts';

/** A lease expires if its runner is silent for this long. */
export const leaseMs = 15_000;

/** Capabilities of a runner. */
export type LeaseCapabilities = {
  kinds: readonly string[];
  gpus: number;
  /** Containers for scripts. */
  containers: readonly string[];
  /** The runner submits its jobs to an engine with a queue of its own. */
  hasQueue: boolean;
};
export type LeaseRequest = {
  orgIds: readonly string[];
  runner: string;
  capabilities: LeaseCapabilities;
  /** For the rows: ms since 1970. */
  now: number;
  /** Steady time, from which leases and backoffs count. */
  steadyNow: number;
};

/** Rows in these states have a lease; others have none. */
export const leasedStates = ['in_progress', 'canceling'] as const;

/** Upper bound of the GPUs of a job. */
const mostGpus = 16;

/**
 * Requeues or ends jobs that the runner holds and no longer runs. Leases again a job whose lease never reached the
 * runner.
 *
 * @param running - jobs that the runner reports as running.
 * @returns the job that is leased again.
 */
export const recoverLeases = (
  db: Database,
  { orgIds, runner, now, steadyNow }: LeaseRequest,
  running: readonly string[],
): Promise<JobRow | undefined> =>
  db.transaction().execute(async (trx) => {
    const by: By = { actor: `runner:${runner}`, now };
    const held = await trx
      .selectFrom('trainingJob')
      .selectAll()
      .where('orgId', 'in', orgIds)
      .where('runnerId', '=', runner)
      .where('state', 'in', leasedStates)
      .orderBy('ordinal')
      .forUpdate()
      .execute();
    for (const row of held) {
      if (running.includes(row.id)) continue;
      const event: JobEvent = { is: 'returned', runner };
      const next = step(jobOf(row), event);
      if (!next.ok) continue;
      if (next.changed) await writeStep(trx, row, next.job, event, by);
      else return extend(trx, row, steadyNow + leaseMs);
    }
    return undefined;
  });

/** Leases the oldest waiting job that the runner can run. Other jobs cost nothing, because the index skips them. */
export async function leaseNext(db: Database, request: LeaseRequest): Promise<JobRow | undefined> {
  for (let most = 8; ; most *= 4) {
    const found = await candidates(db, request, most);
    if (found.length === 0) return undefined;
    const row = await db.transaction().execute((trx) => leaseOne(trx, request, found));
    if (row) return row;
    // Other runners leased all of these first.
  }
}

async function leaseOne(trx: Trx, request: LeaseRequest, ids: readonly string[]): Promise<JobRow | undefined> {
  const row = await trx
    .selectFrom('trainingJob')
    .selectAll()
    .where('id', 'in', ids)
    .where('state', '=', 'pending')
    .orderBy('ordinal')
    .limit(1)
    .forUpdate()
    .skipLocked()
    .executeTakeFirst();
  if (!row) return undefined;
  const { runner, now, steadyNow, capabilities } = request;
  const event: JobEvent = { is: 'leased', runner, leaseUntil: steadyNow + leaseMs, isQueued: capabilities.hasQueue };
  const next = step(jobOf(row), event);
  return next.ok ? writeStep(trx, row, next.job, event, { actor: `runner:${runner}`, now }) : undefined;
}

/** IDs of the oldest matching jobs, oldest first: one index look-up for each combination of requirements. */
async function candidates(
  db: Database,
  { orgIds, capabilities, steadyNow }: LeaseRequest,
  most: number,
): Promise<string[]> {
  const fits = capabilities.kinds.flatMap((kind) =>
    (kind === 'custom' ? ['', ...capabilities.containers] : ['']).map((container) => ({ kind, container })),
  );
  const { rows } = await sql<{ id: string }>`
    select job.id
      from unnest(${[...orgIds]}::uuid[]) org,
           unnest(${fits.map((fit) => fit.kind)}::text[], ${fits.map((fit) => fit.container)}::text[]) fit (kind, container),
           generate_series(0, ${Math.min(capabilities.gpus, mostGpus)}::integer) gpu,
           lateral (
             select id, ordinal from training_job
              where org_id = org and state = 'pending' and kind = fit.kind and container_version = fit.container
                and gpus = gpu and (not_before is null or not_before <= ${at(steadyNow)})
              -- As the index training_job_wanted has it.
              order by ordinal + 0
              limit ${most}
           ) job
     order by job.ordinal
     limit ${most}`.execute(db);
  return rows.map((row) => row.id);
}

const extend = (trx: Trx, row: JobRow, leaseUntil: number): Promise<JobRow> =>
  trx
    .updateTable('trainingJob')
    .set({ leaseUntil: at(leaseUntil) })
    .where((eb) => eb.and({ orgId: row.orgId, id: row.id }))
    .returningAll()
    .executeTakeFirstOrThrow();

/** Ends every expired lease. @param now - of the wall clock, for the rows. @returns the number of ended leases. */
export async function expireLeases(db: Database, steadyNow: number, now = steadyNow): Promise<number> {
  const due = await db
    .selectFrom('trainingJob')
    .select(['orgId', 'id'])
    .where('state', 'in', leasedStates)
    .where('leaseUntil', '<=', at(steadyNow))
    .execute();
  let expired = 0;
  for (const key of due) {
    const { changed } = await moveOn(db, key, { is: 'due', now: steadyNow }, { actor: 'server', now });
    if (changed) expired++;
  }
  return expired;
}

/**
 * Renews every lease after a time in which runners could not report to the server. The clock of the previous server run
 * may have been ahead, so it also limits backoffs to the longest one.
 */
export async function renewLeases(db: Database, steadyNow: number): Promise<void> {
  await db
    .updateTable('trainingJob')
    .set({ leaseUntil: at(steadyNow + leaseMs) })
    .where('state', 'in', leasedStates)
    .execute();
  const longest = at(steadyNow + Math.max(...pausesMs));
  await db
    .updateTable('trainingJob')
    .set({ notBefore: longest })
    .where('state', '=', 'pending')
    .where('notBefore', '>', longest)
    .execute();
}
