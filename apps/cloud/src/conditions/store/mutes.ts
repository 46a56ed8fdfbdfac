import { randomUUID } from 'node:crypto';
import { at, type Database, type Trx } from '../../database/database.ts';
import type { ConditionRow } from './condition-records.ts';

export interface NewMute {
  readonly condition: ConditionRow;
  readonly isOfAll: boolean;
  readonly reason: string;
  readonly mutedBy: string;
  /** ms since 1970. */
  readonly now: number;
  readonly until: number;
}

/** Stores a mute in place of an earlier one of the same. @returns its ID. */
export async function saveMute(trx: Trx, { condition, isOfAll, ...of }: NewMute): Promise<string> {
  const { orgId, subject, subjectId, machineId, code, place } = condition;
  const same = { orgId, code, subject, subjectId: isOfAll ? null : subjectId, place: isOfAll ? '' : place };
  const change = { reason: of.reason, mutedBy: of.mutedBy, mutedOn: at(of.now), until: at(of.until) };
  const { id } = await trx
    .insertInto('conditionMute')
    .values({ id: randomUUID(), ...same, machineId: isOfAll ? null : machineId, ...change })
    .onConflict((on) => on.columns(['orgId', 'code', 'subject', 'subjectId', 'place']).doUpdateSet(change))
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}

export const findMute = (db: Database, id: string) =>
  db
    .selectFrom('conditionMute')
    .leftJoin('machine', 'machine.id', 'conditionMute.machineId')
    .selectAll('conditionMute')
    .select('machine.locationId')
    .where('conditionMute.id', '=', id)
    .executeTakeFirst();

export async function deleteMute(trx: Trx, id: string): Promise<boolean> {
  const { numDeletedRows } = await trx.deleteFrom('conditionMute').where('id', '=', id).executeTakeFirstOrThrow();
  return numDeletedRows > 0n;
}
