import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, chown, mkdir, open, readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { PlatformError } from '@platform/contract/errors';
import { errorText, type Clock, type Log } from '@platform/kit';
import { type Account, type Binaries, databaseAccount, findBinaries, isReachable } from './binaries.ts';
import { type Postmaster, processState, readPostmaster, removeLeftovers } from './postmaster.ts';

/** A running embedded database. */
export type Cluster = {
  /** For the driver: folder of the unix socket and port (part of the socket's name). */
  host: string;
  port: number;
  user: string;
  pid: number;
  isAdopted: boolean;
  isAlive(): Promise<boolean>;
  stop(): Promise<void>;
};

export type ClusterOptions = {
  /** Ours alone, is made when absent; the database's files lie below it. */
  folder: string;
  clock: Clock;
  log: Log;
  /** postgresql.conf settings on top of ours. */
  settings?: Readonly<Record<string, string>>;
};

const major = '18';
const port = 5432;
const user = 'platform';
/** sockaddr_un holds 108 bytes with the closing zero. */
const maxSocketBytes = 107;
const startMs = 60_000;
const pollMs = 15;

/**
 * Starts the database of `folder`, or adopts the one that a killed server left running there.
 * The process is detached: it survives us, and the next start finds it.
 */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const { clock, log } = options;
  const account = databaseAccount();
  const home = await homeFor(options.folder, account);
  const binaries = await findBinaries(account, home);
  const folder = path.join(home, major);
  await createOnce(folder, binaries, account, log, options.settings?.['fsync'] === 'off');

  const left = await readPostmaster(folder);
  if (left) {
    if ((await processState(left.pid)) === 'gone') await removeLeftovers(folder, left);
    else {
      const adopted = await untilReady(folder, clock, left.pid, 5_000);
      if (adopted) {
        log.info('adopted a running database', { pid: adopted.pid });
        return cluster(adopted, true, clock, log);
      }
      await stopProcess(left.pid, clock, log);
      await removeLeftovers(folder, left);
    }
  }
  const started = clock.now();
  for (;;) {
    const failure = await launch({ folder, home, binaries, account, settings: options.settings ?? {}, clock });
    if (typeof failure !== 'string') return cluster(failure, false, clock, log);
    // After kill −9 of the postmaster its backends hold the shared memory until they notice.
    const isTransient = /shared memory block|lock file/.test(failure);
    if (!isTransient || clock.now() - started > 15_000) {
      throw new PlatformError('DATABASE_UNAVAILABLE', { problem: failure, logFile: path.join(home, 'postgres.log') });
    }
    await clock.sleep(200);
  }
}

const cluster = (at: Postmaster, isAdopted: boolean, clock: Clock, log: Log): Cluster => ({
  host: at.socketFolder,
  port: at.port,
  user,
  pid: at.pid,
  isAdopted,
  isAlive: async () => (await processState(at.pid)) === 'postgres',
  stop: () => stopProcess(at.pid, clock, log),
});

/**
 * The folder for the database's files. As root the account must be able to walk there; a checkout below /root cannot be entered,
 * so the files go to /var/lib/platform then, and a pointer stays in the data folder.
 */
async function homeFor(folder: string, account: Account): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if (!account) return folder;
  const pointer = path.join(folder, 'location');
  const known = await readFile(pointer, 'utf8').catch(() => undefined);
  if (known) return known.trim();
  const data = path.dirname(folder);
  await chmod(data, 0o711);
  await chmod(folder, 0o711);
  if (await isReachable(folder, account)) return folder;
  const away = path.join(
    '/var/lib/platform',
    createHash('sha256').update(path.resolve(folder)).digest('hex').slice(0, 12),
  );
  const home = await firstFree(away);
  await mkdir(home, { recursive: true, mode: 0o711 });
  await chmod(home, 0o711);
  if (!(await isReachable(home, account))) {
    throw new PlatformError('DATABASE_UNAVAILABLE', {
      problem: `neither ${folder} nor ${home} can be reached by user ${account.uid}`,
    });
  }
  // For whoever finds that folder and wonders whose it is.
  await writeFile(path.join(home, 'data-folder'), `${folder}\n`);
  await writeFile(`${pointer}.tmp`, `${home}\n`);
  await rename(`${pointer}.tmp`, pointer);
  return home;
}

async function firstFree(folder: string): Promise<string> {
  for (let n = 0; ; n++) {
    const name = n === 0 ? folder : `${folder}-${n}`;
    if (!(await stat(name).catch(() => undefined))) return name;
  }
}

/** initdb works aside and is renamed: killed half-way in place, eight of ten folders could not be used again. */
async function createOnce(
  folder: string,
  binaries: Binaries,
  account: Account,
  log: Log,
  mayBeLost: boolean,
): Promise<void> {
  if (await stat(path.join(folder, 'PG_VERSION')).catch(() => undefined)) return;
  const home = path.dirname(folder);
  for (const name of await readdir(home)) {
    if (name.startsWith(`${path.basename(folder)}.init-`))
      await rm(path.join(home, name), { recursive: true, force: true });
  }
  const aside = `${folder}.init-${process.pid}`;
  await mkdir(aside, { mode: 0o700 });
  if (account) await chown(aside, account.uid, account.gid);
  log.info('creating the database', { folder });
  const args = [
    '-D',
    aside,
    '-U',
    user,
    '--auth=trust',
    '--encoding=UTF8',
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
  ];
  if (mayBeLost) args.push('--no-sync');
  const { code, text } = await runToEnd(binaries.initdb, args, account, home);
  if (code !== 0)
    throw new PlatformError('DATABASE_UNAVAILABLE', {
      problem: `initdb ended with ${code}: ${text.trim().slice(-500)}`,
    });
  await rename(aside, folder);
  const parent = await open(home, 'r');
  await parent.sync();
  await parent.close();
}

function runToEnd(
  command: string,
  args: string[],
  account: Account,
  cwd: string,
): Promise<{ code: number | null; text: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      ...account,
      cwd,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' },
    });
    const chunks: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, text: Buffer.concat(chunks).toString() }));
  });
}

type Launch = {
  folder: string;
  home: string;
  binaries: Binaries;
  account: Account;
  settings: Readonly<Record<string, string>>;
  clock: Clock;
};

/** A ready postmaster, or the last lines of its log. */
async function launch({ folder, home, binaries, account, settings, clock }: Launch): Promise<Postmaster | string> {
  const socketFolder = await socketFolderFor(folder, account);
  const all: Record<string, string> = {
    listen_addresses: '',
    unix_socket_directories: socketFolder,
    unix_socket_permissions: '0700',
    port: String(port),
    max_connections: '60',
    timezone: 'UTC',
    log_timezone: 'UTC',
    ...settings,
  };
  const logFile = await open(path.join(home, 'postgres.log'), 'a');
  const before = (await logFile.stat()).size;
  const child = spawn(
    binaries.postgres,
    ['-D', folder, ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    {
      ...account,
      cwd: home,
      detached: true,
      stdio: ['ignore', logFile.fd, logFile.fd],
      env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' },
    },
  );
  await logFile.close();
  const failed = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(errorText(error)));
    child.once('exit', (code, signal) => resolve(`ended with ${code ?? signal}`));
  });
  child.unref();
  const ready = await Promise.race([untilReady(folder, clock, child.pid, startMs), failed]);
  if (typeof ready === 'object') return ready;
  if (child.pid !== undefined && ready === undefined) process.kill(child.pid, 'SIGQUIT');
  const text = (await readFile(path.join(home, 'postgres.log'))).subarray(before).toString();
  return `postgres ${ready ?? `was not ready within ${startMs / 1000} s`}: ${text.trim().slice(-500)}`;
}

async function socketFolderFor(folder: string, account: Account): Promise<string> {
  if (Buffer.byteLength(path.join(folder, `.s.PGSQL.${port}`)) <= maxSocketBytes) return folder;
  const short = path.join(os.tmpdir(), `platform-${createHash('sha256').update(folder).digest('hex').slice(0, 16)}`);
  await mkdir(short, { recursive: true, mode: 0o700 });
  if (account) await chown(short, account.uid, account.gid);
  const owner = (await stat(short)).uid;
  if (owner !== (account?.uid ?? process.getuid?.())) {
    throw new PlatformError('DATABASE_UNAVAILABLE', {
      problem: `${short} belongs to user ${owner}: remove it or choose a shorter data folder`,
    });
  }
  return short;
}

async function untilReady(
  folder: string,
  clock: Clock,
  pid: number | undefined,
  limitMs: number,
): Promise<Postmaster | undefined> {
  for (const start = clock.now(); clock.now() - start < limitMs; await clock.sleep(pollMs)) {
    const found = await readPostmaster(folder);
    if (found?.isReady && found.pid === pid) return found;
    if (pid !== undefined && (await processState(pid)) === 'gone') return undefined;
  }
  return undefined;
}

/** Fast shutdown, then immediate, then the axe: once a postmaster was seen to live on after the first. */
async function stopProcess(pid: number, clock: Clock, log: Log): Promise<void> {
  for (const [signal, waitMs] of [
    ['SIGINT', 6_000],
    ['SIGQUIT', 2_000],
    ['SIGKILL', 2_000],
  ] as const) {
    try {
      process.kill(pid, signal);
    } catch {
      return;
    }
    for (const start = clock.now(); clock.now() - start < waitMs; await clock.sleep(pollMs)) {
      if ((await processState(pid)) === 'gone') return;
    }
    log.warn('the database did not stop', { pid, signal });
  }
}
