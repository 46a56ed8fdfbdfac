import { type InsertObject, type Selectable, sql, type UpdateObject } from 'kysely';
import { PlatformError } from '@platform/contract/errors/errors';
import type { Caller } from '../../access/rules/permissions.ts';
import { audit } from '../../access/store/audit.ts';
import { at, type Database, type Trx } from '../../database/database.ts';
import type { Tables } from '../../database/schema.ts';
import type { TrainingJobRow } from '../../database/training-schema.ts';
import { isUuid } from '@platform/contract/text/names';
import { type Cause, isEnded, type Job, type JobEvent, step } from '../rules/job-life.ts';

export type JobRow = Selectable<TrainingJobRow>;
export type JobKey = { orgId: string; id: string };
/** The actor and time (ms since 1970) of an event row. */
export type By = { actor: string; now: number };

/** Notified at each transition, when its transaction commits: `<job id> <organization id> <state>`. */
export const jobChannel = 'training_job';

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

/** Reads the job and locks it until the transaction ends. @throws PlatformError TRAINING_JOB_NOT_FOUND */
async function lockedJob(trx: Trx, { orgId, id }: JobKey): Promise<JobRow> {
  const row = await trx
    .selectFrom('trainingJob')
    .selectAll()
    .where((eb) => eb.and({ orgId, id }))
    .forUpdate()
    .executeTakeFirst();
  if (!row) throw new PlatformError('TRAINING_JOB_NOT_FOUND', { jobId: id });
  return row;
}

/** The columns that depend on the state. `now`: ms since 1970. */
function columnsOf(job: Job, before: JobRow, event: JobEvent, now: number): UpdateObject<Tables, 'trainingJob'> {
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
    ...(event.is === 'leased' ? beginning(event.isQueued, before, now) : {}),
    ...(isEnded(job) ? { endedOn: at(now), etaMs: null } : {}),
    ...(job.at === 'completed' ? { progress: 1 } : {}),
  };
}

/** An attempt starts with its lease or, in the queue of an engine, when it leaves that queue (`writeReport`). */
const beginning = (isQueued: boolean, { limits }: JobRow, now: number): UpdateObject<Tables, 'trainingJob'> => ({
  phase: isQueued ? 'queued' : '',
  startedOn: isQueued ? null : at(now),
  deadline: at(now + limits.wall_seconds * 1000),
});

/** Writes the state after `event`, and its event row. The row must be locked. */
export async function writeStep(trx: Trx, row: JobRow, job: Job, event: JobEvent, by: By): Promise<JobRow> {
  const next = await trx
    .updateTable('trainingJob')
    .set(columnsOf(job, row, event, by.now))
    .where((eb) => eb.and({ orgId: row.orgId, id: row.id }))
    // The row is locked; this guard also makes the statement fail if the caller passes a stale row.
    .where((eb) => eb.and({ state: row.state, attempt: row.attempt }))
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
  await notifyOf(trx, row);
}

/** Wakes long polls that wait for this job, or for a job to run. */
export const notifyOf = async (trx: Trx, { id, orgId, state }: JobRow): Promise<void> => {
  await sql`select pg_notify(${jobChannel}, ${`${id} ${orgId} ${state}`})`.execute(trx);
};

export async function insertJob(trx: Trx, values: InsertObject<Tables, 'trainingJob'>, by: By): Promise<JobRow> {
  const row = await trx.insertInto('trainingJob').values(values).returningAll().executeTakeFirstOrThrow();
  await writeEvent(trx, row, 'submitted', null, by);
  return row;
}

export type Moved = { before: JobRow; row: JobRow; changed: boolean };

/**
 * Applies one event to a job in one transaction: locks the row, applies the rules, writes row and event row.
 *
 * @param also - further writes of the transaction; called when the event changes the job.
 * @throws PlatformError TRAINING_JOB_NOT_FOUND, or the code of the rules.
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

/** Stores the model that a job produced (null: none) and its evaluation. `now`: ms since 1970. */
export async function setModel(
  trx: Trx,
  { orgId, id }: JobKey,
  { modelId, evaluation, now }: { modelId: string | null; evaluation: object | null; now: number },
): Promise<void> {
  await trx
    .updateTable('trainingJob')
    .set({ modelId, evaluation: evaluation ? JSON.stringify(evaluation) : null, changedOn: at(now) })
    .where((eb) => eb.and({ orgId, id }))
    .execute();
}

/** Finds a job of any organization; the caller of this function must check rights. */
export const findJob = async (db: Database, id: string): Promise<JobRow | undefined> =>
  isUuid(id) ? db.selectFrom('trainingJob').selectAll().where('id', '=', id).executeTakeFirst() : undefined;

/**
 * Deletes an ended job. The model version stays claimed, and the events stay. @throws PlatformError JOB_NOT_FINISHED,
 * TRAINING_JOB_NOT_FOUND
 */
export const deleteEnded = (db: Database, key: JobKey, by: By, caller: Caller): Promise<void> =>
  db.transaction().execute(async (trx) => {
    const row = await lockedJob(trx, key);
    if (!isEnded(jobOf(row))) throw new PlatformError('JOB_NOT_FINISHED', { jobId: key.id, status: row.state });
    await trx.deleteFrom('trainingJob').where('orgId', '=', key.orgId).where('id', '=', key.id).execute();
    await writeEvent(trx, row, 'deleted', row.state, by);
    const details = { model_name: row.modelName, model_version: row.modelVersion, attempts: row.attempt };
    await audit(trx, { orgId: key.orgId, caller, action: 'delete training', subject: key.id, details });
  });
