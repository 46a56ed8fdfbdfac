import { sql } from 'kysely';
import { fromBinary } from '@bufbuild/protobuf';
import { AgentReportSchema } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { at, type Database } from '../../database/database.ts';

const changed = (result: { numAffectedRows?: bigint }): number => Number(result.numAffectedRows ?? 0n);

/** Deletes audit rows from before `before` (ms since 1970), at most `limit`. @returns their number. */
export const removeOldAudit = async (db: Database, before: number, limit: number): Promise<number> =>
  changed(
    await sql`delete from audit where id in (
      select id from audit where at < ${at(before)} order by at limit ${limit})`.execute(db),
  );

/**
 * Deletes changes of many machines that started before `before`, with the results of their machines. The newest one of an
 * organization stays: the next one has the number after it.
 */
export async function removeOldBulkOperations(db: Database, before: number, limit: number): Promise<number> {
  const old = sql`bulk_operation old where started_on < ${at(before)} and exists (
    select from bulk_operation next where next.org_id = old.org_id and next.number > old.number)`;
  const machines = changed(
    await sql`delete from bulk_machine where ctid = any(array(
      select machine.ctid from (select id from ${old}) old
        join bulk_machine machine on machine.operation_id = old.id limit ${limit}))`.execute(db),
  );
  if (machines > 0) return machines;
  return changed(await sql`delete from bulk_operation where id in (select id from ${old} limit ${limit})`.execute(db));
}

/** Deletes log lines of jobs that ended before `endedBefore`. */
export const removeOldJobLogs = async (db: Database, endedBefore: number, limit: number): Promise<number> =>
  changed(
    await sql`delete from training_log where ctid = any(array(
      select log.ctid from training_job job
        join training_log log on log.org_id = job.org_id and log.job_id = job.id
       where job.ended_on < ${at(endedBefore)} limit ${limit}))`.execute(db),
  );

/** Deletes metrics, keys and transitions of jobs that ended before `endedBefore`. The job itself stays. */
export async function removeOldAttempts(db: Database, endedBefore: number, limit: number): Promise<number> {
  const before = at(endedBefore);
  const metrics = await sql`delete from training_metric where ctid = any(array(
      select metric.ctid from training_job job
        join training_metric metric on metric.org_id = job.org_id and metric.job_id = job.id
       where job.ended_on < ${before} limit ${limit}))`.execute(db);
  const keys = await sql`delete from attempt_key where ctid = any(array(
      select key.ctid from training_job job join attempt_key key on key.org_id = job.org_id and key.job_id = job.id
       where job.ended_on < ${before} limit ${limit}))`.execute(db);
  const events = await sql`delete from training_event where id in (
      select event.id from training_event event
       where event.at < ${before} and not exists (select from training_job job
         where job.org_id = event.org_id and job.id = event.job_id
           and (job.ended_on is null or job.ended_on >= ${before}))
       order by event.at limit ${limit})`.execute(db);
  return changed(metrics) + changed(keys) + changed(events);
}

/** Deletes sessions and sign-in links that expired before `before`, and runners last seen before it. */
export async function removeExpired(db: Database, before: number, limit: number): Promise<number> {
  const time = at(before);
  const sessions = await sql`delete from browser_session where token_hash in (
    select token_hash from browser_session where expires_on < ${time} limit ${limit})`.execute(db);
  const links = await sql`delete from sign_in_link where token_hash in (
    select token_hash from sign_in_link where expires_on < ${time} limit ${limit})`.execute(db);
  const runners = await sql`delete from runner where ctid = any(array(
    select ctid from runner where last_seen < ${time} limit ${limit}))`.execute(db);
  return changed(sessions) + changed(links) + changed(runners);
}

/**
 * Deletes revisions older than the newest `kept` of a fragment. The last one of each day stays, and those that a
 * configuration pins.
 */
export const pruneFragmentRevisions = (db: Database, kept: number, limit: number): Promise<number> =>
  db.transaction().execute(async (trx) => {
    // A configuration that is being saved may pin one; the next statement sees it.
    await sql`select from fragment where revision > ${kept} order by id for update`.execute(trx);
    return changed(
      await sql`
    with placed as (
      select fragment_id, revision, row_number() over (partition by fragment_id order by revision desc) as age,
             row_number() over (partition by fragment_id, (saved_on at time zone 'utc')::date order by revision desc) as place
        from fragment_revision
       where fragment_id in (select id from fragment where revision > ${kept})
    )
    delete from fragment_revision where (fragment_id, revision) in (
      select fragment_id, revision from placed
       where age > ${kept} and place > 1 and not exists (
         select from fragment_use used where used.fragment_id = placed.fragment_id and used.pinned = placed.revision)
       order by fragment_id, revision limit ${limit})`.execute(trx),
    );
  });

/** Parts that have had more than `kept` revisions. */
export const partsWithRevisions = (
  db: Database,
  kept: number,
): Promise<{ id: string; revision: number; report: Buffer | null }[]> =>
  db.selectFrom('part').select(['id', 'revision', 'report']).where('revision', '>', kept).orderBy('id').execute();

/**
 * Deletes revisions older than the newest `kept` of a part. The last one of each day stays, and those whose number or
 * content the machine reported as applied.
 */
export async function pruneRevisions(
  db: Database,
  part: { id: string; report: Buffer | null },
  kept: number,
  limit: number,
): Promise<number> {
  const report = part.report ? fromBinary(AgentReportSchema, part.report) : undefined;
  const inUse = [report, ...(report?.slices ?? [])].map((one) => Number(one?.appliedRevision ?? 0n));
  const contents = (report?.slices ?? []).map(({ configSha256 }) => Buffer.from(configSha256));
  return changed(
    await sql`
    with old as (
      select revision, sha256, row_number() over (partition by (saved_on at time zone 'utc')::date order by revision desc) as place
        from config_revision
       where part_id = ${part.id} and revision <= (
         select revision from config_revision where part_id = ${part.id} order by revision desc offset ${kept} limit 1)
    )
    delete from config_revision where part_id = ${part.id} and revision in (
      select revision from old where place > 1 and revision <> all(${inUse}::bigint[])
        and sha256 <> all(${contents}::bytea[]) order by revision limit ${limit})`.execute(db),
  );
}
