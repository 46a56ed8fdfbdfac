import { readFile, readlink, realpath, rm } from 'node:fs/promises';
import path from 'node:path';
import { Client } from 'pg';
import { errorText } from '@platform/kit';
import { clientConfig, cut } from '../database/database.ts';
import { adminRole } from './access-rules.ts';

/** Contents of postmaster.pid. */
export type Postmaster = { pid: number; port: number; socketFolder: string; isReady: boolean };

/**
 * Lines: pid (negative for a standalone backend), data folder, start, port, socket folder, address, shared memory,
 * status.
 */
export function parsePostmaster(text: string): Postmaster | undefined {
  const lines = text.split('\n').map((line) => line.trim());
  const pid = Math.abs(Number(lines[0]));
  if (!Number.isSafeInteger(pid) || pid === 0) return undefined;
  return { pid, port: Number(lines[3] ?? 0), socketFolder: lines[4] ?? '', isReady: lines[7] === 'ready' };
}

export const readPostmaster = async (dataFolder: string): Promise<Postmaster | undefined> =>
  readFile(path.join(dataFolder, 'postmaster.pid'), 'utf8').then(parsePostmaster, () => undefined);

/** Under an emulator of another processor, the program is the emulator, and PostgreSQL is its first argument. */
async function isEmulated(pid: number): Promise<boolean> {
  const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  return line
    .split('\0')
    .slice(0, 3)
    .some((word) => path.basename(word) === 'postgres');
}

/**
 * State of a postmaster's process. `gone` includes zombies and a PID that another program has now. PID 1 of a container
 * may never reap a zombie, so that kill(pid, 0) keeps succeeding.
 *
 * @param dataFolder - a postmaster of another data folder is `gone`, too. A postmaster's working directory is its data
 * folder.
 */
export async function processState(pid: number, dataFolder?: string): Promise<'gone' | 'postgres'> {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as { code?: string }).code !== 'EPERM') return 'gone';
  }
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch((error: unknown) => {
    // Without a free file descriptor nothing is known: a database that runs must not be started a second time.
    if (/^(EMFILE|ENFILE)$/.test(String((error as { code?: unknown }).code))) return '';
    return undefined;
  });
  if (stat === '') return 'postgres';
  if (stat === undefined) return process.platform === 'linux' ? 'gone' : 'postgres';
  if (/^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2))) return 'gone';
  const program = await readlink(`/proc/${pid}/exe`).catch(() => undefined);
  if (program !== undefined && !path.basename(program).startsWith('postgres') && !(await isEmulated(pid)))
    return 'gone';
  const folder = await readlink(`/proc/${pid}/cwd`).catch(() => undefined);
  const isOther =
    dataFolder !== undefined && folder !== undefined && folder !== (await realpath(dataFolder).catch(() => dataFolder));
  return isOther ? 'gone' : 'postgres';
}

/** A dead postmaster leaves its lock file and sockets. PostgreSQL still protects itself by its shared memory key. */
export async function removeLeftovers(dataFolder: string, left: Postmaster): Promise<void> {
  const socket = `.s.PGSQL.${left.port}`;
  for (const folder of new Set([dataFolder, left.socketFolder].filter((name) => name !== ''))) {
    await rm(path.join(folder, socket), { force: true });
    await rm(path.join(folder, `${socket}.lock`), { force: true });
  }
  await rm(path.join(dataFolder, 'postmaster.pid'), { force: true });
}

/** Runs one statement over a new connection. @returns why it failed within `limitMs`; undefined: it succeeded. */
export async function connectProblem(at: { host: string; port: number }, limitMs: number): Promise<string | undefined> {
  const connection = { is: 'socket', ...at, user: adminRole, database: 'postgres' } as const;
  const client = new Client({
    ...clientConfig(connection),
    connectionTimeoutMillis: limitMs,
    query_timeout: limitMs,
  });
  client.on('error', () => {});
  try {
    await client.connect();
    await client.query('select 1');
    await client.end();
    return undefined;
  } catch (error) {
    cut(client);
    return errorText(error);
  }
}
