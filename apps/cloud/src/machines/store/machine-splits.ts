import { createHmac } from 'node:crypto';
import { sql } from 'kysely';
import { newSetUpCode } from '@platform/contract/provisioning/set-up-code';
import { recordChange } from '../../database/changes.ts';
import { at, type Database } from '../../database/database.ts';
import type { OpenSplit } from '../rules/shared-identity.ts';
import { forgetSharing } from './part-runs.ts';
import { setUpCodeHash } from './set-up-codes.ts';

/** A run of the agent of a part that is to become a machine of its own. */
export type PendingSplit = {
  /** 16 bytes, base64url. */
  runId: string;
  newPartId: string;
  seed: string;
};

/** Columns of a part that is left-joined with its split. */
export type SplitColumns = { splitRun: Buffer | null; splitPart: string | null; splitSeed: string | null };

export const splitOf = ({ splitRun, splitPart, splitSeed }: SplitColumns): PendingSplit | null =>
  splitRun && splitPart && splitSeed
    ? { runId: splitRun.toString('base64url'), newPartId: splitPart, seed: splitSeed }
    : null;

/** Stores that a run becomes the new part; another run of the part no longer does. */
export async function saveSplit(
  db: Database,
  { partId, runId, newPartId, seed }: PendingSplit & { partId: string },
): Promise<void> {
  const row = { runId: Buffer.from(runId, 'base64url'), newPartId, codeSeed: seed };
  await db
    .insertInto('machineSplit')
    .values({ partId, ...row })
    .onConflict((conflict) => conflict.column('partId').doUpdateSet({ ...row, createdOn: sql<number>`now()` }))
    .execute();
}

/** The splits whose new machine no device has become yet, by part. */
export async function readOpenSplits(db: Database, partIds: readonly string[]): Promise<Map<string, OpenSplit>> {
  const { rows } = await sql<OpenSplit>`
    select split.part_id, split.run_id, split.new_part_id, machine.id as machine_id, machine.name
      from machine_split split join part on part.id = split.new_part_id join machine on machine.id = part.machine_id
      left join set_up_code code on code.part_id = part.id
     where split.part_id = any(${partIds}::uuid[]) and part.last_seen is null and code.redeemed_on is null`.execute(db);
  return new Map(rows.map((row) => [row.partId, row]));
}

/** Ends the split that made this part: a device has redeemed its code. */
export async function endSplit(db: Database, newPartId: string): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const ended = await trx
      .deleteFrom('machineSplit')
      .where('newPartId', '=', newPartId)
      .returning(['partId', 'runId'])
      .executeTakeFirst();
    if (!ended) return;
    await forgetSharing(trx, ended.partId, ended.runId);
    await recordChange(trx, 'run', ended.partId);
    await recordChange(trx, 'part', ended.partId);
  });
}

/** The same code from each server, without one that is stored. @param key - secret of the installation. */
function codeOf(key: Buffer, seed: string): string {
  let rest = BigInt(`0x${createHmac('sha256', key).update(`split ${seed}`).digest('hex')}`);
  return newSetUpCode((below) => {
    const picked = Number(rest % BigInt(below));
    rest /= BigInt(below);
    return picked;
  });
}

/**
 * The set-up code of a split. It is valid from now on: a code that has expired or was replaced is valid again.
 *
 * @param of - `now` and `expiresOn`: ms since 1970.
 */
export async function splitCode(
  db: Database,
  { newPartId, seed }: PendingSplit,
  { key, now, expiresOn }: { key: Buffer; now: number; expiresOn: number },
): Promise<string> {
  const code = codeOf(key, seed);
  const soon = at((now + expiresOn) / 2);
  await sql`
    insert into set_up_code (part_id, org_id, code_hash, expires_on)
    select id, org_id, ${setUpCodeHash(key, code)}, ${at(expiresOn)} from part where id = ${newPartId}
    on conflict (part_id) do update
       set code_hash = excluded.code_hash, created_on = now(), expires_on = excluded.expires_on,
           device_hash = case when set_up_code.code_hash = excluded.code_hash then set_up_code.device_hash end,
           redeemed_on = case when set_up_code.code_hash = excluded.code_hash then set_up_code.redeemed_on end,
           replaced_hash = case when set_up_code.code_hash = excluded.code_hash then set_up_code.replaced_hash
             else set_up_code.code_hash end
     where set_up_code.code_hash <> excluded.code_hash or set_up_code.expires_on < ${soon}`.execute(db);
  return code;
}
