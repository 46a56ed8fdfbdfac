import { sql } from 'kysely';
import { hashSecret, randomSecret } from '../auth/secrets.ts';
import { recordChange } from './changes.ts';
import { type Database, at } from './database.ts';

/** A link that signs its person in once. Only its hash is stored. @param expiresOn - ms since 1970. */
export async function insertSignInLink(db: Database, personId: string, expiresOn: number): Promise<string> {
  const token = randomSecret();
  await db
    .insertInto('signInLink')
    .values({ tokenHash: hashSecret(token), personId, expiresOn: at(expiresOn), usedOn: null })
    .execute();
  return token;
}

/** The link is used up, a session begins. Undefined: unknown, used before or too old. */
export async function exchangeSignInLink(
  db: Database,
  token: string,
  sessionExpiresOn: number,
): Promise<string | undefined> {
  return db.transaction().execute(async (trx) => {
    const used = await trx
      .updateTable('signInLink')
      .set({ usedOn: sql<number>`now()` })
      .where('tokenHash', '=', hashSecret(token))
      .where('usedOn', 'is', null)
      .where('expiresOn', '>', sql<number>`now()`)
      .returning('personId')
      .executeTakeFirst();
    if (!used) return undefined;
    const session = randomSecret();
    await trx
      .insertInto('browserSession')
      .values({ tokenHash: hashSecret(session), personId: used.personId, expiresOn: at(sessionExpiresOn) })
      .execute();
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
    await trx.deleteFrom('browserSession').where('tokenHash', '=', hash).execute();
    await recordChange(trx, 'session', hash.toString('hex'));
  });
  return hash.toString('hex');
}
