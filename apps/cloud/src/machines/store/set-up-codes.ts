import { createHmac, randomInt } from 'node:crypto';
import { sql } from 'kysely';
import { newSetUpCode } from '@platform/contract/set-up-code';
import { hashSecret } from '../../access/secrets.ts';
import { at, type Database } from '../../database/database.ts';

const hashOf = (key: Buffer, code: string): Buffer => createHmac('sha256', key).update(`set-up code ${code}`).digest();

/**
 * Replaces the code of a part.
 *
 * @param of - `expiresOn`: ms since 1970; `key`: secret of the installation.
 * @returns the code, which is not stored.
 */
export async function replaceSetUpCode(
  db: Database,
  { partId, orgId, expiresOn, key }: { partId: string; orgId: string; expiresOn: number; key: Buffer },
): Promise<string> {
  const code = newSetUpCode(randomInt);
  const row = {
    codeHash: hashOf(key, code),
    createdOn: sql<number>`now()`,
    expiresOn: at(expiresOn),
    deviceHash: null,
    redeemedOn: null,
  };
  await db
    .insertInto('setUpCode')
    .values({ partId, orgId, ...row })
    .onConflict((conflict) => conflict.column('partId').doUpdateSet(row))
    .execute();
  return code;
}

export type RedeemedCode = { partId: string; orgId: string; isFirst: boolean };

/**
 * Redeems a code for a device. @param now - ms since 1970. @returns undefined: it is wrong, expired, or another device
 * has redeemed it.
 */
export async function redeemSetUpCode(
  db: Database,
  { code, device, now, key }: { code: string; device: string; now: number; key: Buffer },
): Promise<RedeemedCode | undefined> {
  const hash = hashSecret(device);
  // The row is locked first, so that two devices cannot both be the first.
  const { rows } = await sql<RedeemedCode>`
    with found as (
      select part_id, device_hash is null as is_first from set_up_code
       where code_hash = ${hashOf(key, code)} and expires_on > ${at(now)}
         and (device_hash is null or device_hash = ${hash}) for update)
    update set_up_code
       set device_hash = ${hash}, redeemed_on = coalesce(redeemed_on, ${at(now)})
      from found where set_up_code.part_id = found.part_id
    returning set_up_code.part_id, set_up_code.org_id, found.is_first`.execute(db);
  return rows[0];
}
