import { sql } from 'kysely';
import { hashSecret, randomSecret } from '../secrets.ts';
import { audit } from './audit.ts';
import { recordChange } from '../../database/changes.ts';
import { type Database, at } from '../../database/database.ts';

/**
 * Inserts a link that signs its user in once. Only the token's hash is stored.
 *
 * @param expiresOn - ms since 1970.
 * @param byKeyId - the API key that the link ends with.
 * @param signedInOn - when the user of the session that created it signed in; undefined: no session did.
 */
export async function insertSignInLink(
  db: Database,
  {
    userId,
    expiresOn,
    byKeyId,
    signedInOn,
  }: { userId: string; expiresOn: number; byKeyId?: string | undefined; signedInOn?: number | undefined },
): Promise<string> {
  const token = randomSecret();
  await db
    .insertInto('signInLink')
    .values({
      tokenHash: hashSecret(token),
      personId: userId,
      expiresOn: at(expiresOn),
      usedOn: null,
      byKeyId: byKeyId ?? null,
      signedInOn: signedInOn === undefined ? null : at(signedInOn),
    })
    .execute();
  return token;
}

/** Whose audit logs show an event of a user: each organization where the user has rights; null: the installation. */
export async function auditedOrganizations(db: Database, userId: string): Promise<readonly (string | null)[]> {
  const rows = await db
    .selectFrom('accessGrant')
    .select('orgId')
    .distinct()
    .where((eb) => eb.and({ identityType: 'person', identityId: userId }))
    .where('orgId', 'is not', null)
    .execute();
  return rows.length > 0 ? rows.map(({ orgId }) => orgId) : [null];
}

const nameOf = async (db: Database, userId: string): Promise<string> =>
  (await db.selectFrom('person').select('name').where('id', '=', userId).executeTakeFirstOrThrow()).name;

/** Audits an event of a user. @param entry - `actor`: the user if undefined. */
export async function auditUser(
  db: Database,
  userId: string,
  entry: { actor?: string; action: string; details?: Record<string, string> },
): Promise<void> {
  const actor = entry.actor ?? `person ${await nameOf(db, userId)} (${userId})`;
  for (const orgId of await auditedOrganizations(db, userId))
    await audit(db, { ...entry, orgId, actor, subject: userId });
}

/** The user of a session that has not ended at `now` (ms since 1970). */
export const findSession = (db: Database, tokenHash: Buffer, now: number) =>
  db
    .selectFrom('browserSession')
    .innerJoin('person', 'person.id', 'browserSession.personId')
    .select(['person.id', 'person.name', 'browserSession.expiresOn', 'browserSession.byKeyId', 'signedInOn'])
    .where('tokenHash', '=', tokenHash)
    .where('browserSession.expiresOn', '>', at(now))
    .executeTakeFirst();

/**
 * Names of the users whom links sign in, without using them up, in the order of the tokens; undefined: the link is
 * unknown, used or expired. For many at once: anyone may send any token.
 */
export async function findSignInLinks(db: Database, tokens: readonly string[]): Promise<(string | undefined)[]> {
  const hashes = tokens.map(hashSecret);
  const rows = await db
    .selectFrom('signInLink')
    .innerJoin('person', 'person.id', 'signInLink.personId')
    .select(['tokenHash', 'name'])
    .where('tokenHash', '=', sql<Buffer>`any(${hashes}::bytea[])`)
    .where('usedOn', 'is', null)
    .where('signInLink.expiresOn', '>', sql<number>`now()`)
    .execute();
  return hashes.map((hash) => rows.find(({ tokenHash }) => tokenHash.equals(hash))?.name);
}

/** Consumes the link and starts a session. @returns undefined: the link is unknown, used or expired. */
export async function exchangeSignInLink(
  db: Database,
  token: string,
  { expiresOn, now, address }: { expiresOn: number; now: number; address: string },
): Promise<string | undefined> {
  return db.transaction().execute(async (trx) => {
    const used = await trx
      .updateTable('signInLink')
      .set({ usedOn: sql<number>`now()` })
      .where('tokenHash', '=', hashSecret(token))
      .where('usedOn', 'is', null)
      .where('expiresOn', '>', sql<number>`now()`)
      .returning(['personId', 'byKeyId', 'signedInOn'])
      .executeTakeFirst();
    if (!used) return undefined;
    const session = randomSecret();
    await trx
      .insertInto('browserSession')
      .values({
        tokenHash: hashSecret(session),
        ...used,
        expiresOn: at(expiresOn),
        signedInOn: at(used.signedInOn ?? now),
      })
      .execute();
    await auditUser(trx, used.personId, { action: 'sign in', details: { by: 'sign-in link', address } });
    await trx
      .deleteFrom('signInLink')
      .where('expiresOn', '<', sql<number>`now() - interval '1 day'`)
      .execute();
    await trx
      .deleteFrom('browserSession')
      .where('expiresOn', '<', sql<number>`now()`)
      .execute();
    return session;
  });
}

export async function deleteSession(db: Database, token: string): Promise<string> {
  const hash = hashSecret(token);
  await db.transaction().execute(async (trx) => {
    const ended = await trx
      .deleteFrom('browserSession')
      .where('tokenHash', '=', hash)
      .returning('personId')
      .executeTakeFirst();
    if (ended) await auditUser(trx, ended.personId, { action: 'sign out' });
    await recordChange(trx, 'session', hash.toString('hex'));
  });
  return hash.toString('hex');
}

/**
 * Ends the links and sessions that a key created, directly or through other sessions.
 *
 * @param except - secret of the session that stays: the session of the user who rotates or deletes the key.
 * @returns hashes of the ended sessions.
 */
export async function endSessionsOfKey(trx: Database, keyId: string, except?: string): Promise<string[]> {
  await trx.deleteFrom('signInLink').where('byKeyId', '=', keyId).where('usedOn', 'is', null).execute();
  const ended = await trx
    .deleteFrom('browserSession')
    .where('byKeyId', '=', keyId)
    .$if(except !== undefined, (query) => query.where('tokenHash', '!=', hashSecret(except ?? '')))
    .returning('tokenHash')
    .execute();
  const hashes = ended.map(({ tokenHash }) => tokenHash.toString('hex'));
  for (const hash of hashes) await recordChange(trx, 'session', hash);
  return hashes;
}
