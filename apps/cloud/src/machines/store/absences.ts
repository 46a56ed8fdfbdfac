// When the server listened, and when it missed machines. Each absence is a condition of its own, which is stored anyway.
import { randomUUID } from 'node:crypto';
import type { Interval } from '@platform/kit';
import { sql } from 'kysely';
import { at, type Database } from '../../database/database.ts';
import { absentAfterMs } from '../rules/online.ts';

/**
 * Records that the server listens.
 *
 * @param id - of the time that this server has extended all along; undefined: it begins, or could not listen. The last
 * time goes on then, unless it ended too long ago.
 * @param now - ms since 1970.
 * @returns the ID of the time that goes on.
 */
export async function saveWatched(db: Database, id: string | undefined, now: number): Promise<string> {
  // A clock that was ahead has written a time that ends in the future: that one goes on, too, and ends now. One that also
  // begins there stays: it is this clock that may be behind.
  const goesOn =
    id === undefined
      ? sql`ended_on >= ${at(now - absentAfterMs)} and began_on <= ${at(now + absentAfterMs)}`
      : sql`id = ${id}::uuid`;
  const { rows } = await sql<{ id: string }>`
    update watched_time set began_on = least(began_on, ${at(now)}), ended_on = ${at(now)}
     where id = (select id from watched_time where ${goesOn} order by ended_on desc limit 1) returning id`.execute(db);
  if (rows[0]) return rows[0].id;
  const next = randomUUID();
  await sql`insert into watched_time (id, began_on, ended_on) values (${next}::uuid, ${at(now)}, ${at(now)})`.execute(
    db,
  );
  return next;
}

/** The newest times in which the server listened. */
export const readWatched = async (db: Database): Promise<Interval[]> => {
  const { rows } = await sql<Interval>`
    select began_on as from, ended_on as until from watched_time order by ended_on desc limit ${mostWatched}`.execute(
    db,
  );
  return rows;
};
/** Enough for a server that stops each hour. */
const mostWatched = 2_500;

/** Absences of a machine that began before `until` and are over, newest first. The code is the server's own: no machine reports it. */
export const readAbsences = async (
  db: Database,
  machineId: string,
  { until, limit }: { until: number; limit: number },
): Promise<Interval[]> => {
  const { rows } = await sql<Interval>`
    select began_on as from, ended_on as until from condition_record
     where machine_id = ${machineId}::uuid and code = 'MACHINE_OFFLINE' and place = '' and ended_on is not null
       and began_on <= ${at(until)} order by began_on desc limit ${limit}`.execute(db);
  return rows;
};

/** Deletes times that ended before `before`, but the last one of them: what is missing until the next one is a fact of its own. */
export async function removeWatched(db: Database, before: number, limit: number): Promise<number> {
  const { numAffectedRows } = await sql`delete from watched_time where id in (
    select id from watched_time old where ended_on < ${at(before)}
       and exists (select from watched_time next where next.ended_on < ${at(before)} and next.ended_on > old.ended_on)
     limit ${limit})`.execute(db);
  return Number(numAffectedRows ?? 0n);
}
