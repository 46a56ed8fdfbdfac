import { createHmac, randomInt } from 'node:crypto';
import { sql } from 'kysely';
import { newSetUpCode, similarSetUpCodes } from '@platform/contract/provisioning/set-up-code';
import { hashSecret } from '../../access/secrets.ts';
import type { Maker } from '../../access/store/makers.ts';
import { at, type Database } from '../../database/database.ts';
import type { Row } from '../../database/schema.ts';

export const setUpCodeHash = (key: Buffer, code: string): Buffer =>
  createHmac('sha256', key).update(`set-up code ${code}`).digest();

/**
 * Replaces the code of a part.
 *
 * @param of - `expiresOn`: ms since 1970; `key`: secret of the installation; `madeBy`: undefined: the server itself.
 * @returns the code, which is not stored.
 */
export async function replaceSetUpCode(
  db: Database,
  {
    partId,
    orgId,
    expiresOn,
    key,
    madeBy,
  }: { partId: string; orgId: string; expiresOn: number; key: Buffer; madeBy?: Maker | undefined },
): Promise<string> {
  const code = newSetUpCode(randomInt);
  const row = {
    codeHash: setUpCodeHash(key, code),
    createdOn: sql<number>`now()`,
    expiresOn: at(expiresOn),
    deviceHash: null,
    redeemedOn: null,
    madeBy: madeBy ? JSON.stringify(madeBy) : null,
  };
  await db
    .insertInto('setUpCode')
    .values({ partId, orgId, ...row })
    .onConflict((conflict) =>
      conflict.column('partId').doUpdateSet({ ...row, replacedHash: sql<Buffer>`set_up_code.code_hash` }),
    )
    .execute();
  return code;
}

export type RedeemedCode = { partId: string; orgId: string; isFirst: boolean; madeBy: Maker | null };

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
       where code_hash = ${setUpCodeHash(key, code)} and expires_on > ${at(now)}
         and (device_hash is null or device_hash = ${hash}) for update)
    update set_up_code
       set device_hash = ${hash}, redeemed_on = coalesce(redeemed_on, ${at(now)})
      from found where set_up_code.part_id = found.part_id
    returning set_up_code.part_id, set_up_code.org_id, set_up_code.made_by, found.is_first`.execute(db);
  return rows[0];
}

export type SetUpAttempt = Omit<Row<'setUpAttempt'>, 'id' | 'partId' | 'orgId'>;

const mostAttempts = 10;

/** Stores an attempt, and drops older ones. Refused ones are stored after the answer, so not always in their order. */
export async function noteSetUpAttempt(
  db: Database,
  { partId, orgId, now, ...attempt }: Omit<SetUpAttempt, 'time'> & { partId: string; orgId: string; now: number },
): Promise<void> {
  await db
    .insertInto('setUpAttempt')
    .values({ partId, orgId, ...attempt, time: at(now) })
    .execute();
  await sql`
    delete from set_up_attempt where part_id = ${partId} and (time, id) <= (
      select time, id from set_up_attempt where part_id = ${partId}
       order by time desc, id desc offset ${mostAttempts} limit 1)`.execute(db);
}

/** Why a code was refused, and whose it is. Undefined: no part has such a code. @param now - ms since 1970. */
export async function findRefused(
  db: Database,
  { code, now, key }: { code: string; now: number; key: Buffer },
): Promise<{ partId: string; orgId: string; result: SetUpAttempt['result'] } | undefined> {
  const own = setUpCodeHash(key, code);
  const similar = similarSetUpCodes(code).map((one) => setUpCodeHash(key, one));
  const { rows } = await sql<{ partId: string; orgId: string; result: SetUpAttempt['result'] }>`
    select part_id, org_id,
           case when code_hash = ${own} and expires_on <= ${at(now)} then 'expired'
                when code_hash = ${own} then 'other device'
                when replaced_hash = ${own} then 'replaced'
                else 'similar' end as result
      from set_up_code
     where code_hash = ${own} or replaced_hash = ${own} or (code_hash = any(${similar}) and expires_on > ${at(now)})
     order by code_hash = ${own} desc, replaced_hash = ${own} desc limit 1`.execute(db);
  return rows[0];
}

/** The newest code of a part, and the attempts, newest first. */
export async function readSetUp(
  db: Database,
  partId: string,
): Promise<{
  code: { createdOn: number; expiresOn: number; redeemedOn: number | null } | undefined;
  attempts: SetUpAttempt[];
}> {
  const code = await db
    .selectFrom('setUpCode')
    .select(['createdOn', 'expiresOn', 'redeemedOn'])
    .where('partId', '=', partId)
    .executeTakeFirst();
  const attempts = await db
    .selectFrom('setUpAttempt')
    .select(['time', 'result', 'address', 'agentVersion', 'fragmentId', 'fragmentProblem'])
    .where('partId', '=', partId)
    .orderBy('time', 'desc')
    .orderBy('id', 'desc')
    .limit(mostAttempts)
    .execute();
  return { code, attempts };
}
