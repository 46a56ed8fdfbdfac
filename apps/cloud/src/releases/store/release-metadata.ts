import { sql } from 'kysely';
import { installerList } from '@platform/releases/installer-list';
import type { Database } from '../../database/database.ts';

export type Role = 'root' | 'targets' | 'snapshot' | 'timestamp';
export type ReleaseDocument = { version: number; bytes: Buffer };

/** An agent that fetched a timestamp a moment ago still finds what it names. */
const keptVersions = 3;

export const newestDocument = (db: Database, role: Role): Promise<ReleaseDocument | undefined> =>
  db
    .selectFrom('releaseDocument')
    .select(['version', 'bytes'])
    .where('role', '=', role)
    .orderBy('version', 'desc')
    .executeTakeFirst();

export const findDocument = (db: Database, role: Role, version: number): Promise<ReleaseDocument | undefined> =>
  db
    .selectFrom('releaseDocument')
    .select(['version', 'bytes'])
    .where('role', '=', role)
    .where('version', '=', version)
    .executeTakeFirst();

/** All root documents are kept: agents follow them one by one, also after years in a drawer. */
export async function insertDocument(db: Database, role: Role, { version, bytes }: ReleaseDocument): Promise<void> {
  await db.insertInto('releaseDocument').values({ role, version, bytes }).execute();
  if (role === 'root') return;
  await db
    .deleteFrom('releaseDocument')
    .where('role', '=', role)
    .where('version', '<=', version - keptVersions)
    .execute();
}

/** One publication at a time; those that read go on. */
export const lockDocuments = async (trx: Database): Promise<void> => {
  await sql`lock table release_document in share row exclusive mode`.execute(trx);
};

/** Of SHA256SUMS as made of the newest root and targets. */
export async function replaceInstallerSignature(trx: Database, signature: Buffer): Promise<void> {
  await trx.deleteFrom('installerSignature').execute();
  await trx.insertInto('installerSignature').values({ signature }).execute();
}

export const installerSignature = async (db: Database): Promise<Buffer | undefined> =>
  (await db.selectFrom('installerSignature').select('signature').executeTakeFirst())?.signature;

/** SHA256SUMS as it is signed; undefined while nothing was ever signed. */
export async function installerSums(db: Database): Promise<string | undefined> {
  const [root, targets] = [await newestDocument(db, 'root'), await newestDocument(db, 'targets')];
  return root && targets && installerList(root.bytes, targets.bytes);
}
