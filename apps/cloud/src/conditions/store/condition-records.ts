import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { at, type Database } from '../../database/database.ts';
import { type ConditionKey, keyOf, type SeverityNumber, type SubjectKind } from '../rules/condition.ts';
import type { ConditionChanges, OpenCondition } from '../rules/all-conditions.ts';

/** All open conditions by their keys. */
export async function readOpenConditions(db: Database): Promise<Map<string, OpenCondition>> {
  const rows = await db
    .selectFrom('conditionRecord')
    .select(['id', 'orgId', 'subject', 'subjectId', 'subjectName', 'machineId', 'code', 'place', 'severity'])
    .select(['message', 'remedy', 'beganOn as began'])
    .where('endedOn', 'is', null)
    .execute();
  return new Map(
    rows.map(({ severity, ...row }) => {
      const open = { ...row, severity: severity as SeverityNumber };
      return [keyOf(open), open];
    }),
  );
}

const rowsPerStatement = 500;

/** Rows of conditions that changed or began, as JSON; the database knows their types. */
const recordset = (rows: readonly object[]) => sql`jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as new(
  id uuid, org_id uuid, subject text, subject_id text, subject_name text, machine_id uuid, code text, place text,
  severity smallint, message text, remedy text, began double precision)`;
const rowOf = ({ orgId, subjectId, subjectName, machineId, ...one }: Omit<OpenCondition, 'id'> & { id?: string }) => ({
  ...one,
  org_id: orgId,
  subject_id: subjectId,
  subject_name: subjectName,
  machine_id: machineId,
});

/**
 * Stores what began, changed and ended. Machines and organizations that are deleted meanwhile are left out, and so is what
 * another server stored. @returns the IDs of those that began, by their keys.
 */
export async function saveConditionChanges(
  db: Database,
  { begun, changed, ended }: ConditionChanges,
  now: number,
): Promise<Map<string, string>> {
  const ids = new Map<string, string>();
  for (const some of chunks(ended))
    await sql`update condition_record set ended_on = greatest(began_on, ${at(now)})
      where id = any(${some}::uuid[]) and ended_on is null`.execute(db);
  for (const some of chunks(changed))
    await sql`update condition_record old set severity = new.severity, message = new.message, remedy = new.remedy,
        subject_name = new.subject_name, began_on = to_timestamp(new.began / 1000)
      from ${recordset(some.map(rowOf))} where old.id = new.id`.execute(db);
  for (const some of chunks(begun)) {
    const rows = some.map((one) => ({ ...one, id: randomUUID() }));
    const { rows: inserted } = await sql<{
      id: string;
    }>`insert into condition_record (id, org_id, subject, subject_id, subject_name, machine_id, code, place, severity,
        message, remedy, began_on)
      select new.id, new.org_id, subject, subject_id, subject_name, new.machine_id, code, place, severity, message, remedy,
        to_timestamp(began / 1000) from ${recordset(rows.map(rowOf))}
       where (new.org_id is null or exists (select from organization where organization.id = new.org_id))
         and (new.machine_id is null or exists (select from machine where machine.id = new.machine_id))
      on conflict do nothing returning id`.execute(db);
    const stored = new Set(inserted.map(({ id }) => id));
    for (const row of rows) if (stored.has(row.id)) ids.set(keyOf(row), row.id);
  }
  return ids;
}

function* chunks<T>(rows: readonly T[]): Generator<readonly T[]> {
  for (let from = 0; from < rows.length; from += rowsPerStatement) yield rows.slice(from, from + rowsPerStatement);
}

/** Deletes conditions that ended before `before` (ms since 1970). @returns their number. */
export async function removeEndedConditions(db: Database, before: number, limit: number): Promise<number> {
  const { numAffectedRows } = await sql`delete from condition_record where id in (
    select id from condition_record where ended_on < ${at(before)} limit ${limit})`.execute(db);
  return Number(numAffectedRows ?? 0n);
}

/** Deletes the oldest ended conditions of organizations, and of the server, that have more than `kept`. @returns their number. */
export async function trimEndedConditions(db: Database, kept: number, limit: number): Promise<number> {
  const oldest = sql`order by ended_on desc offset ${kept} limit ${limit}`;
  const { numAffectedRows } = await sql`delete from condition_record where id in (
    select old.id from organization, lateral (
      select id from condition_record where org_id = organization.id and ended_on is not null ${oldest}) old limit ${limit})
    or id in (select id from condition_record where org_id is null and ended_on is not null ${oldest})`.execute(db);
  return Number(numAffectedRows ?? 0n);
}

/**
 * Deletes the oldest ended conditions of machines that have more than `kept`. Absences count apart: they are the history of
 * the machine, and a condition that comes and goes must not push them out. @returns their number.
 */
export async function trimMachineConditions(db: Database, kept: number, limit: number): Promise<number> {
  const { numAffectedRows } = await sql`delete from condition_record where id in (
    select old.id from (
      select machine_id, code = 'MACHINE_OFFLINE' as is_absence from condition_record
       where machine_id is not null and ended_on is not null
       group by machine_id, is_absence having count(*) > ${kept}) machine, lateral (
      select id from condition_record
       where machine_id = machine.machine_id and (code = 'MACHINE_OFFLINE') = machine.is_absence and ended_on is not null
       order by ended_on desc offset ${kept} limit ${limit}) old limit ${limit})`.execute(db);
  return Number(numAffectedRows ?? 0n);
}

/** Deletes mutes that ended before `before`. */
export async function removeEndedMutes(db: Database, before: number, limit: number): Promise<number> {
  const { numAffectedRows } = await sql`delete from condition_mute where id in (
    select id from condition_mute where until < ${at(before)} limit ${limit})`.execute(db);
  return Number(numAffectedRows ?? 0n);
}

export type ConditionRow = ConditionKey & {
  id: string;
  subject: SubjectKind;
  subjectName: string;
  machineId: string | null;
  severity: SeverityNumber;
  message: string;
  remedy: string;
  beganOn: number;
  endedOn: number | null;
  locationId: string | null;
};

export const findCondition = (db: Database, id: string): Promise<ConditionRow | undefined> =>
  db
    .selectFrom('conditionRecord')
    .leftJoin('machine', 'machine.id', 'conditionRecord.machineId')
    .selectAll('conditionRecord')
    .select('machine.locationId')
    .where('conditionRecord.id', '=', id)
    .executeTakeFirst() as Promise<ConditionRow | undefined>;
