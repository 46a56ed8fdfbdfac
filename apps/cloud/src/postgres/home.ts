// The folders around the database's files: their location, and the permission to traverse them.
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { access, chmod, chown, mkdir, open, readFile, stat, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { PlatformError } from '@platform/contract/errors/errors';
import { atomicWrite } from '@platform/kit/node';
import { type Account, sharedAccount } from './account.ts';
import { isReachable } from './binaries.ts';

/** sockaddr_un holds 108 bytes including the terminating zero. */
const maxSocketBytes = 107;

const pointerIn = (folder: string): string => path.join(folder, 'location');

/** The location of `folder`'s files: the folder itself, or the target of its pointer file. */
export const locationOf = (folder: string): Promise<string> =>
  readFile(pointerIn(folder), 'utf8').then(
    (text) => text.trim(),
    () => folder,
  );

/** In a home away from the data folder: which folder the files belong to. */
const noteIn = (home: string): string => path.join(home, 'data-folder');

/**
 * Two copies of a data folder must not use one database. A folder that was moved takes its database along.
 *
 * @throws PlatformError DATABASE_ELSEWHERE
 */
export async function checkLocation(folder: string): Promise<void> {
  const home = await locationOf(folder);
  if (home === folder) return;
  const refused = (data: object) => new PlatformError('DATABASE_ELSEWHERE', { path: folder, home, ...data });
  if (!(await stat(home).catch(() => undefined))) throw refused({});
  const owner = await readFile(noteIn(home), 'utf8').then(
    (text) => text.trim(),
    () => folder,
  );
  if (owner === folder) return;
  if ((await stat(owner).catch(() => undefined)) && (await locationOf(owner)) === home) throw refused({ owner });
  await atomicWrite(noteIn(home), `${folder}\n`);
}

/**
 * The folder for the database's files. If the server runs as root, the account must be able to traverse to it. It
 * cannot enter a checkout below /root. The files go to /var/lib/platform then, and a pointer file stays in the data
 * folder.
 */
export async function homeFor(folder: string, account: Account): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const known = await locationOf(folder);
  if (!account) return ours(known);
  if (known !== folder) {
    await admit(known, account);
    return known;
  }
  await admit(path.dirname(folder), account);
  await admit(folder, account);
  if (await isReachable(folder, account)) return folder;
  const away = path.join(
    '/var/lib/platform',
    createHash('sha256').update(path.resolve(folder)).digest('hex').slice(0, 12),
  );
  const home = await firstFree(away);
  await mkdir(home, { recursive: true, mode: 0o711 });
  await admit(home, account);
  if (!(await isReachable(home, account))) {
    throw new PlatformError('DATABASE_UNAVAILABLE', {
      problem: `neither ${folder} nor ${home} can be reached by user ${account.uid}`,
    });
  }
  // Shows an administrator which data folder these files belong to.
  await writeFile(noteIn(home), `${folder}\n`);
  await atomicWrite(pointerIn(folder), `${home}\n`);
  return home;
}

async function ours(home: string): Promise<string> {
  try {
    await access(home, constants.R_OK | constants.W_OK | constants.X_OK);
    return home;
  } catch (error) {
    throw new PlatformError(
      'DATABASE_UNAVAILABLE',
      { problem: `user ${process.getuid?.()} may not use ${home}: start the server as the user that created it` },
      error,
    );
  }
}

/** Permits the account to traverse this folder, and no other user except its owner. */
async function admit(folder: string, account: NonNullable<Account>): Promise<void> {
  await chown(folder, (await stat(folder)).uid, account.gid);
  await chmod(folder, 0o710);
}

async function firstFree(folder: string): Promise<string> {
  for (let n = 0; ; n++) {
    const name = n === 0 ? folder : `${folder}-${n}`;
    if (!(await stat(name).catch(() => undefined))) return name;
  }
}

/**
 * The folder of the socket: the database's own, or one with a short name if that is too long. Only the database's user
 * may enter it.
 */
export async function socketFolderFor(folder: string, port: number, account: Account): Promise<string> {
  if (Buffer.byteLength(path.join(folder, `.s.PGSQL.${port}`)) <= maxSocketBytes) return folder;
  const short = path.join(os.tmpdir(), `platform-${createHash('sha256').update(folder).digest('hex').slice(0, 16)}`);
  await mkdir(short, { recursive: true, mode: 0o700 });
  await using handle = await open(short, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  const { uid } = await handle.stat();
  const owners = account ? [account.uid, 0, sharedAccount.uid] : [process.getuid?.()];
  if (!owners.includes(uid)) {
    throw new PlatformError('DATABASE_UNAVAILABLE', {
      problem: `${short} belongs to user ${uid}: remove it or choose a shorter data folder`,
    });
  }
  if (account) await handle.chown(account.uid, account.gid);
  await handle.chmod(0o700);
  return short;
}
