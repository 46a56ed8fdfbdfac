import { sql } from 'kysely';
import { installerList } from '@platform/releases/installer-list';
import type { Database } from '../../database/database.ts';

export type Role = 'root' | 'targets' | 'snapshot' | 'timestamp';
export type ReleaseDocument = { version: number; bytes: Buffer };

/** An agent with a recent timestamp must still find the documents that it names. */
const keptVersions = 3;

export const newestDocument = (db: Database, role: Role): Promise<ReleaseDocument | undefined> =>
  db
    .selectFrom('releaseDocument')
    .select(['version', 'bytes'])
    .where('role', '=', role)
    .orderBy('version', 'desc')
    .executeTakeFirst();

/** Reads the newest root and targets in one statement, so that a publication between two reads cannot part them. */
export async function newestSigned(db: Database): Promise<{ root?: ReleaseDocument; targets?: ReleaseDocument }> {
  const rows = await db
    .selectFrom('releaseDocument')
    .distinctOn('role')
    .select(['role', 'version', 'bytes'])
    .where('role', 'in', ['root', 'targets'])
    .orderBy('role')
    .orderBy('version', 'desc')
    .execute();
  const [root, targets] = ['root', 'targets'].map((role) => rows.find((row) => row.role === role));
  return { ...(root && { root }), ...(targets && { targets }) };
}

export const findDocument = (db: Database, role: Role, version: number): Promise<ReleaseDocument | undefined> =>
  db
    .selectFrom('releaseDocument')
    .select(['version', 'bytes'])
    .where((eb) => eb.and({ role, version }))
    .executeTakeFirst();

/** Keeps all root documents: agents follow them one by one, even after years offline. */
export async function insertDocument(db: Database, role: Role, { version, bytes }: ReleaseDocument): Promise<void> {
  await db.insertInto('releaseDocument').values({ role, version, bytes }).execute();
  if (role === 'root') return;
  await db
    .deleteFrom('releaseDocument')
    .where('role', '=', role)
    .where('version', '<=', version - keptVersions)
    .execute();
}

/** Allows one publication at a time; readers continue. */
export const lockDocuments = async (trx: Database): Promise<void> => {
  await sql`lock table release_document in share row exclusive mode`.execute(trx);
};

/** Stores the signature of SHA256SUMS for the newest root and targets. */
export async function replaceInstallerSignature(trx: Database, signature: Buffer): Promise<void> {
  await trx.deleteFrom('installerSignature').execute();
  await trx.insertInto('installerSignature').values({ signature }).execute();
}

export const installerSignature = async (db: Database): Promise<Buffer | undefined> =>
  (await db.selectFrom('installerSignature').select('signature').executeTakeFirst())?.signature;

/** SHA256SUMS as signed; undefined: nothing was signed yet. */
export async function installerSums(db: Database): Promise<string | undefined> {
  const { root, targets } = await newestSigned(db);
  return root && targets && installerList(root.bytes, targets.bytes);
}
