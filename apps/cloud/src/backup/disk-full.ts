import { statfs } from 'node:fs/promises';
import { PlatformError } from '@platform/contract/errors/errors';

/** What the operating system says of a disk without space, or of an account without more of it. */
const codes = ['ENOSPC', 'EDQUOT'];
/** The same from PostgreSQL, whose messages are those of the locale C. */
const ofDatabase = /no space left on device|disk quota exceeded/i;
/** The database ended, or let go of a connection. */
const isAway = ({ code, message }: Words): boolean =>
  /^(DATABASE_UNAVAILABLE|57P0\d|08\w{3}|ECONN\w+|EPIPE)$/.test(String(code)) ||
  /^connection term/i.test(String(message));
/** One file of PostgreSQL's log. With less, it ends, and its last log lines may not have found a place either. */
const leastBytes = 16 * 2 ** 20;

type Words = { code?: unknown; message?: unknown };
/** Folders on the disks that may be full. `database`: undefined if it is elsewhere. */
type Places = { files: string; database: string | undefined };

/** DISK_FULL with the place, where that is the cause; any other error as it is. */
export async function refusalOfDisk(error: unknown, { files, database }: Places): Promise<unknown> {
  const { code, message } = error as Words;
  if (code === 'DISK_FULL') return error;
  const full = (path: string | undefined): unknown => new PlatformError('DISK_FULL', path ? { path } : {}, error);
  if (codes.includes(String(code))) return full(files);
  if (code === '53100' || (code === 'DATABASE_UNAVAILABLE' && ofDatabase.test(String(message)))) return full(database);
  return database !== undefined && isAway(error as Words) && (await freeBytes(database)) < leastBytes
    ? full(database)
    : error;
}

async function freeBytes(folder: string): Promise<number> {
  const found = await statfs(folder).catch(() => undefined);
  return found ? found.bavail * found.bsize : Infinity;
}
