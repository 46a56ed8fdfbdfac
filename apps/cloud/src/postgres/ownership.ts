// Changes the owner of the database's files. The previous owner may still run, so no path is resolved twice.
import { constants } from 'node:fs';
import { lchown, lstat, open, readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { PlatformError } from '@platform/contract/errors/errors';
import type { Log } from '@platform/kit';
import { atomicWrite } from '@platform/kit/node';
import { type Account, sharedAccount } from './account.ts';

const isLinux = process.platform === 'linux';

/** Whether the folder exists and belongs to the user that runs the database. */
export async function isOwnedBy(folder: string, account: Account): Promise<boolean> {
  const found = await lstat(folder).catch(() => undefined);
  return found?.uid === (account?.uid ?? process.getuid?.());
}

/** File beside the folder with the owner's user ID: on another host, the account may have another ID. */
const noteBeside = (folder: string): string => path.join(path.dirname(folder), 'owner');

export const noteOwner = (folder: string, { uid }: NonNullable<Account>): Promise<void> =>
  atomicWrite(noteBeside(folder), String(uid));

/**
 * Accepts files of root, of the account, and of "nobody", which ran databases before the account existed.
 *
 * @throws PlatformError DATABASE_UNAVAILABLE if `folder` belongs to another user.
 */
export async function checkOwner(folder: string, account: Account): Promise<void> {
  const uid = (await lstat(folder).catch(() => undefined))?.uid;
  if (uid === undefined || (await isOwnedBy(folder, account))) return;
  const noted = await readFile(noteBeside(folder), 'utf8').catch(() => '');
  if (account && (uid === 0 || uid === sharedAccount.uid || String(uid) === noted)) return;
  const remedy = account
    ? `Start the server as that user, or give the folder to root: chown -R root ${folder}`
    : 'Start the server as root, or as that user';
  throw new PlatformError('DATABASE_UNAVAILABLE', {
    problem: `${folder} belongs to user ${uid}, and the server runs as user ${process.getuid?.()}. ${remedy}`,
  });
}

/**
 * Gives `folder` and its contents to `account`. The folder itself comes last, so that an interrupted run is repeated.
 */
export async function takeOver(folder: string, account: NonNullable<Account>, log: Log): Promise<void> {
  const { uid } = await lstat(folder);
  log.info('giving the files of the database to its user', { folder, from: uid, to: account.uid });
  await give(folder, { account, from: new Set([uid, 0, sharedAccount.uid]), log });
  log.info('the files of the database belong to its user', { folder });
}

type Giving = { account: NonNullable<Account>; from: ReadonlySet<number>; log: Log };

/** Uses open folder handles, so that a name replaced by a link meanwhile is not followed. */
async function give(folder: string, giving: Giving): Promise<void> {
  const { account, from, log } = giving;
  await using handle = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  const inside = isLinux ? `/proc/self/fd/${handle.fd}` : folder;
  for (const entry of await readdir(inside, { withFileTypes: true })) {
    const name = path.join(inside, entry.name);
    if (entry.isDirectory()) await give(name, giving);
    else if (from.has((await lstat(name)).uid)) await lchown(name, account.uid, account.gid);
  }
  if (from.has((await handle.stat()).uid)) await handle.chown(account.uid, account.gid);
  log.debug('gave a folder of the database to its user');
}
