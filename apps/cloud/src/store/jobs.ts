import { type InsertObject, type Selectable, sql, type Transaction, type UpdateObject } from 'kysely';
import { PlatformError } from '@platform/contract/errors';
import { type Cause, isEnded, type Job, type JobEvent, step } from '../rules/job-life.ts';
import { isUuid } from '../rules/manifest.ts';
import { at, type Database } from './database.ts';
import type { Tables } from './schema.ts';
import type { TrainingJobRow } from './training-schema.ts';

export type JobRow = Selectable<TrainingJobRow>;
export type JobKey = { orgId: string; id: string };
/** Who made it happen, for the event row, and when (ms since 1970). */
export type By = { actor: string; now: number };
export type Trx = Transaction<Tables>;

/** Notified with the job's id at each transition, when its transaction commits. */
export const jobChannel = 'training_job';

/** How long a runner may be silent. */
export const leaseMs = 15_000;

export function jobOf(row: JobRow): Job {
  const { attempt, losses, reported } = row;
  const head = { attempt, losses, runner: row.runnerId ?? undefined };
  switch (row.state) {
    case 'pending':
      return { ...head, at: row.state, notBefore: row.notBefore ?? undefined };
    case 'completed':
    case 'canceled':
      return { ...head, at: row.state };
    case 'failed':
      return {
        ...head,
        at: row.state,
        failure: {
          cause: (row.cause ?? 'infrastructure') as Cause,
          code: row.errorCode ?? 'INTERNAL',
          message: row.errorMessage ?? '',
        },
      };
    case 'in_progress':
    case 'canceling':
      return { ...head, at: row.state, runner: row.runnerId ?? '', leaseUntil: row.leaseUntil ?? 0, reported };
  }
}

/** The job, held until the transaction ends. @throws PlatformError TRAINING_JOB_NOT_FOUND */
async function lockedJob(trx: Trx, { orgId, id }: JobKey): Promise<JobRow> {
  const row = await trx
    .selectFrom('trainingJob')
    .selectAll()
    .where('orgId', '=', orgId)
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();
  if (!row) throw new PlatformError('TRAINING_JOB_NOT_FOUND', { jobId: id });
  return row;
}

/** The columns that a state decides. `now`: ms since 1970. */
function columnsOf(job: Job, before: JobRow, now: number): UpdateObject<Tables, 'trainingJob'> {
  const failure = job.at === 'failed' ? job.failure : undefined;
  const isLeased = job.at === 'in_progress' || job.at === 'canceling';
  const isNewRun = job.attempt !== before.attempt;
  return {
    state: job.at,
    attempt: job.attempt,
    losses: job.losses,
    runnerId: job.runner ?? null,
    reported: isLeased && job.reported,
    leaseUntil: isLeased ? at(job.leaseUntil) : null,
    notBefore: job.at === 'pending' && job.notBefore !== undefined ? at(job.notBefore) : null,
    cause: failure?.cause ?? null,
    errorCode: failure?.code ?? null,
    errorMessage: failure?.message ?? null,
    ...(job.at === before.state && !isNewRun ? {} : { changedOn: at(now) }),
    ...(job.at === 'pending' ? { phase: '', progress: 0, etaMs: null, deadline: null } : {}),
    ...(isNewRun ? { startedOn: at(now), deadline: at(now + before.limits.wall_seconds * 1000) } : {}),
    ...(isEnded(job) ? { endedOn: at(now), etaMs: null } : {}),
    ...(job.at === 'completed' ? { progress: 1 } : {}),
  };
}

async function writeStep(trx: Trx, row: JobRow, job: Job, event: JobEvent, by: By): Promise<JobRow> {
  const next = await trx
    .updateTable('trainingJob')
    .set(columnsOf(job, row, by.now))
    .where('orgId', '=', row.orgId)
    .where('id', '=', row.id)
    // The row is locked; the guard says in SQL, too, what this step starts from.
    .where('state', '=', row.state)
    .where('attempt', '=', row.attempt)
    .returningAll()
    .executeTakeFirstOrThrow();
  if (next.state !== row.state || next.attempt !== row.attempt) {
    const details = job.at === 'failed' ? job.failure : 'failure' in event ? event.failure : undefined;
    await writeEvent(trx, next, event.is, row.state, by, details);
  }
  return next;
}

async function writeEvent(
  trx: Trx,
  row: JobRow,
  event: string,
  fromState: string | null,
  by: By,
  details?: object,
): Promise<void> {
  await trx
    .insertInto('trainingEvent')
    .values({
      orgId: row.orgId,
      jobId: row.id,
      at: at(by.now),
      event,
      fromState,
      toState: row.state,
      attempt: row.attempt,
      actor: by.actor,
      details: details ? JSON.stringify(details) : null,
    })
    .execute();
  await sql`select pg_notify(${jobChannel}, ${row.id})`.execute(trx);
}

export async function insertJob(trx: Trx, values: InsertObject<Tables, 'trainingJob'>, by: By): Promise<JobRow> {
  const row = await trx.insertInto('trainingJob').values(values).returningAll().executeTakeFirstOrThrow();
  await writeEvent(trx, row, 'submitted', null, by);
  return row;
}

export type Moved = { before: JobRow; row: JobRow; changed: boolean };

/**
 * Moves a job on by one event: look, decide by the rules, write row and event row, in one transaction.
 *
 * @param also - more that belongs into the transaction; called when the event changes the job.
 * @throws PlatformError TRAINING_JOB_NOT_FOUND, or what the rules refuse with.
 */
export const moveOn = (
  db: Database,
  key: JobKey,
  event: JobEvent,
  by: By,
  also?: (trx: Trx, row: JobRow) => Promise<void>,
): Promise<Moved> =>
  db.transaction().execute(async (trx) => {
    const before = await lockedJob(trx, key);
    const next = step(jobOf(before), event);
    if (!next.ok) {
      const attempt = 'attempt' in event ? { attempt: event.attempt } : {};
      throw new PlatformError(next.code, { jobId: key.id, status: before.state, ...attempt });
    }
    if (!next.changed) return { before, row: before, changed: false };
    const row = await writeStep(trx, before, next.job, event, by);
    await also?.(trx, row);
    return { before, row, changed: true };
  });

/**
 * Gives the runner one job: the attempt whose lease never reached it, else the oldest that waits.
 * What the runner held before is over: it would not ask for work otherwise.
 */
export const leaseNext = (
  db: Database,
  want: { orgIds: readonly string[]; runner: string; kinds: readonly string[]; now: number },
): Promise<JobRow | undefined> =>
  db.transaction().execute(async (trx) => {
    const by: By = { actor: `runner:${want.runner}`, now: want.now };
    const leaseUntil = want.now + leaseMs;
    const held = await trx
      .selectFrom('trainingJob')
      .selectAll()
      .where('orgId', 'in', want.orgIds)
      .where('runnerId', '=', want.runner)
      .where('leaseUntil', 'is not', null)
      .orderBy('createdOn')
      .forUpdate()
      .execute();
    for (const row of held) {
      const event: JobEvent = { is: 'returned', runner: want.runner };
      const next = step(jobOf(row), event);
      if (!next.ok) continue;
      if (next.changed) await writeStep(trx, row, next.job, event, by);
      else return extend(trx, row, leaseUntil);
    }
    const row = await trx
      .selectFrom('trainingJob')
      .selectAll()
      .where('orgId', 'in', want.orgIds)
      .where('state', '=', 'pending')
      .where('kind', 'in', want.kinds)
      .where((eb) => eb.or([eb('notBefore', 'is', null), eb('notBefore', '<=', at(want.now))]))
      .orderBy('createdOn')
      .orderBy('id')
      .limit(1)
      .forUpdate()
      .skipLocked()
      .executeTakeFirst();
    if (!row) return undefined;
    const event: JobEvent = { is: 'leased', runner: want.runner, leaseUntil };
    const next = step(jobOf(row), event);
    return next.ok ? writeStep(trx, row, next.job, event, by) : undefined;
  });

const extend = (trx: Trx, row: JobRow, leaseUntil: number): Promise<JobRow> =>
  trx
    .updateTable('trainingJob')
    .set({ leaseUntil: at(leaseUntil) })
    .where('orgId', '=', row.orgId)
    .where('id', '=', row.id)
    .returningAll()
    .executeTakeFirstOrThrow();

/** Takes back every lease that has run out. @returns how many. */
export async function expireLeases(db: Database, now: number): Promise<number> {
  const due = await db.selectFrom('trainingJob').select(['orgId', 'id']).where('leaseUntil', '<=', at(now)).execute();
  let expired = 0;
  for (const key of due) {
    const { changed } = await moveOn(db, key, { is: 'due', now }, { actor: 'server', now });
    if (changed) expired++;
  }
  return expired;
}

/** While the server was away nobody could report: every lease gets a fresh start. */
export async function renewLeases(db: Database, now: number): Promise<void> {
  await db
    .updateTable('trainingJob')
    .set({ leaseUntil: at(now + leaseMs) })
    .where('leaseUntil', 'is not', null)
    .execute();
}

/** The job with this id in whatever organization; the caller's rights are looked at by who calls this. */
export const findJob = async (db: Database, id: string): Promise<JobRow | undefined> =>
  isUuid(id) ? db.selectFrom('trainingJob').selectAll().where('id', '=', id).executeTakeFirst() : undefined;

export const listJobs = (db: Database, orgId: string, state: JobRow['state'] | undefined): Promise<JobRow[]> => {
  const all = db.selectFrom('trainingJob').selectAll().where('orgId', '=', orgId);
  return (state ? all.where('state', '=', state) : all).orderBy('createdOn', 'desc').orderBy('id').execute();
};

/** 1: next in line. Over all organizations, because they share nothing but their own runners: within the own one. */
export async function queuePositions(db: Database, orgId: string): Promise<Map<string, number>> {
  const rows = await db
    .selectFrom('trainingJob')
    .select('id')
    .where('orgId', '=', orgId)
    .where('state', '=', 'pending')
    .orderBy('createdOn')
    .orderBy('id')
    .execute();
  return new Map(rows.map((row, index) => [row.id, index + 1]));
}

/** @throws PlatformError JOB_NOT_FINISHED. The model version stays claimed, the events stay. */
export const deleteEnded = (db: Database, key: JobKey, by: By): Promise<void> =>
  db.transaction().execute(async (trx) => {
    const row = await lockedJob(trx, key);
    if (!isEnded(jobOf(row))) throw new PlatformError('JOB_NOT_FINISHED', { jobId: key.id, status: row.state });
    await trx.deleteFrom('trainingJob').where('orgId', '=', key.orgId).where('id', '=', key.id).execute();
    await writeEvent(trx, row, 'deleted', row.state, by);
  });

/** The claim on a version of a model: kept for ever, whatever becomes of the job. @throws PlatformError MODEL_VERSION_TAKEN */
export async function claimVersion(
  trx: Trx,
  claim: { orgId: string; modelName: string; modelVersion: string; claimedBy: string | null; now: number },
): Promise<void> {
  const { now, ...values } = claim;
  const done = await trx
    .insertInto('modelVersionClaim')
    .values({ ...values, claimedOn: at(now) })
    .onConflict((conflict) => conflict.columns(['orgId', 'modelName', 'modelVersion']).doNothing())
    .executeTakeFirst();
  if (done.numInsertedOrUpdatedRows !== 1n) throw versionTaken(claim);
}

const versionTaken = ({ modelName, modelVersion }: { modelName: string; modelVersion: string }): PlatformError =>
  new PlatformError('MODEL_VERSION_TAKEN', { modelName, modelVersion });

/** A look before the work of freezing; the claim itself decides. @throws PlatformError MODEL_VERSION_TAKEN */
export async function refuseTakenVersion(
  db: Database,
  claim: { orgId: string; modelName: string; modelVersion: string },
): Promise<void> {
  const taken = await db
    .selectFrom('modelVersionClaim')
    .select('orgId')
    .where('orgId', '=', claim.orgId)
    .where('modelName', '=', claim.modelName)
    .where('modelVersion', '=', claim.modelVersion)
    .executeTakeFirst();
  if (taken) throw versionTaken(claim);
}
