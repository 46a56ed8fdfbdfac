import { sql } from 'kysely';
import { at, type Database } from '../../database/database.ts';

/** How many machines an organization has, and how many of them are online. */
export interface FleetCount {
  readonly orgId: string;
  readonly machines: number;
  readonly online: number;
}

/** @param time - ms since 1970. One sample for each time stays. */
export async function saveFleetSamples(db: Database, time: number, counts: readonly FleetCount[]): Promise<void> {
  if (counts.length === 0) return;
  await sql`insert into fleet_sample (org_id, time, machines, online)
    select organization.id, ${at(time)}, machines, online
      from unnest(${counts.map(({ orgId }) => orgId)}::uuid[], ${counts.map(({ machines }) => machines)}::int[],
        ${counts.map(({ online }) => online)}::int[]) new(org_id, machines, online)
      join organization on organization.id = new.org_id
    on conflict do nothing`.execute(db);
}

/** Oldest first. @param since - ms since 1970. */
export const readFleetSamples = (db: Database, orgId: string, since: number) =>
  db
    .selectFrom('fleetSample')
    .select(['time', 'machines', 'online'])
    .where('orgId', '=', orgId)
    .where('time', '>=', at(since))
    .orderBy('time')
    .execute();

/** Deletes samples from before `before`. @returns their number. */
export async function removeFleetSamples(db: Database, before: number, limit: number): Promise<number> {
  const { numAffectedRows } = await sql`delete from fleet_sample where ctid = any(array(
    select ctid from fleet_sample where time < ${at(before)} limit ${limit}))`.execute(db);
  return Number(numAffectedRows ?? 0n);
}
