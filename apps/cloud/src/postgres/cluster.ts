import { spawn } from 'node:child_process';
import { chown, mkdir, open, readFile, readdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { PlatformError } from '@platform/contract/errors/errors';
import { errorText, type Clock, type Log } from '@platform/kit';
import { type AccessRules, accessRules, adminRole, appRole, hasRules, writeRules } from './access-rules.ts';
import { type Account, databaseAccount, runToEnd } from './account.ts';
import { type Binaries, findBinaries } from './binaries.ts';
import { checkLocation, homeFor, locationOf, socketFolderFor } from './home.ts';
import { checkOwner, isOwnedBy, noteOwner, takeOver } from './ownership.ts';
import { connectProblem, type Postmaster, processState, readPostmaster, removeLeftovers } from './postmaster.ts';
import { endUpgrade, upgradeFolder } from './upgraded.ts';

export type Cluster = {
  /** For the driver: folder of the unix socket, and port (part of the socket's name). */
  host: string;
  port: number;
  /** Owner of the server's database. */
  user: string;
  /** Superuser, only for the administration of the cluster. */
  admin: string;
  pid: number;
  isAdopted: boolean;
  isAlive(): Promise<boolean>;
  stop(): Promise<void>;
  /** Sends the signal of a fast shutdown. */
  signalStop(): void;
};

export type ClusterOptions = {
  /** Used by this server only; created if absent. The database's files are below it. */
  folder: string;
  clock: Clock;
  log: Log;
  /** Overrides of our postgresql.conf settings. */
  settings?: Readonly<Record<string, string>>;
  /** Fail if the folder has no database: its disk is not mounted, or the files were removed. */
  mustExist?: boolean;
  /** Another major version with its programs, for an upgrade. */
  as?: Programs;
};

/** The programs of one major version. */
export type Programs = { major: string; find: (account: Account, spare: string) => Promise<Binaries> };

/** The major version of PostgreSQL whose programs this version of the platform has. */
export const ownMajor = '18';
const own: Programs = { major: ownMajor, find: findBinaries };
const port = 5432;
const environment = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };
const startMs = 60_000;
const pollMs = 15;

/**
 * Starts the database of `folder`, or adopts the one that a killed server left running. The process is detached: it
 * survives the server, and the next start finds it.
 */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const { clock, log, as = own } = options;
  const { major } = as;
  await checkLocation(options.folder);
  if (as === own) await tidyUpgrade(options.folder, clock, log);
  if (options.mustExist && !(await hasDatabase(options.folder, major)))
    throw new PlatformError('DATABASE_UNAVAILABLE', {
      problem: `${options.folder} holds no database any more: put it back, or start the server again to begin with an empty one`,
    });
  if (as === own) await requireOwnMajor(options.folder);
  const account = await databaseAccount(clock, log);
  const rules = accessRules();
  const existing = path.join(await locationOf(options.folder), major);
  await checkOwner(existing, account);
  // Owner and rules change only while no database runs, so a running one has read the current rules.
  const isPrepared = (await isOwnedBy(existing, account)) && (await hasRules(existing, rules));
  const adopted = await adoptOrStop(existing, isPrepared, clock, log);
  if (adopted) return cluster(adopted, true, clock, log);

  const home = await homeFor(options.folder, account);
  const binaries = await as.find(account, home);
  const folder = path.join(home, major);
  if (await hasDatabase(options.folder, major)) {
    if (!isPrepared) await prepare(folder, account, rules, log);
  } else await create({ folder, binaries, account, rules, log, mayBeLost: options.settings?.['fsync'] === 'off' });
  const started = clock.now();
  for (;;) {
    const failure = await launch({ folder, home, binaries, account, settings: options.settings ?? {}, clock });
    if (typeof failure !== 'string') return cluster(failure, false, clock, log);
    // After kill −9 of the postmaster, its backends hold the shared memory until they notice.
    const isTransient = /shared memory block|lock file/.test(failure);
    if (!isTransient || clock.now() - started > 15_000) {
      throw new PlatformError('DATABASE_UNAVAILABLE', { problem: failure, logFile: path.join(home, 'postgres.log') });
    }
    await clock.sleep(200);
  }
}

/** The database that runs for this folder; undefined: none does. */
export async function runningCluster(folder: string): Promise<Pick<Cluster, 'host' | 'port' | 'user'> | undefined> {
  const files = path.join(await locationOf(folder), ownMajor);
  const found = await readPostmaster(files);
  if (!found?.isReady || (await processState(found.pid, files)) === 'gone') return undefined;
  return { host: found.socketFolder, port: found.port, user: appRole };
}

/** An empty database beside the one of another major version would look like a loss of everything. */
async function requireOwnMajor(folder: string): Promise<void> {
  if (await hasDatabase(folder)) return;
  const home = await locationOf(folder);
  const names = await readdir(home).catch(() => []);
  const found = names.find((name) => /^\d+$/.test(name) && name !== ownMajor);
  if (found !== undefined) throw new PlatformError('DATABASE_OF_OTHER_MAJOR', { path: home, found, known: ownMajor });
}

/**
 * Ends an upgrade whose new database is in its place, and removes what another one left when it was cut off.
 *
 * @returns the major version of the database that it put aside.
 */
export async function tidyUpgrade(folder: string, clock: Clock, log: Log): Promise<string | undefined> {
  const home = await locationOf(folder);
  const putAside = await endUpgrade(home, log);
  const rest = upgradeFolder(home);
  if ((await hasDatabase(folder)) && (await stat(rest).catch(() => undefined))) {
    await stopRunning(path.join(rest, ownMajor), clock, log);
    await rm(rest, { recursive: true, force: true }).catch((error: unknown) => {
      log.warn('what an upgrade left cannot be removed', { folder: rest, error: errorText(error) });
    });
  }
  return putAside;
}

/** Stops the database that runs on these files, if one does. */
export async function stopRunning(files: string, clock: Clock, log: Log): Promise<void> {
  await adoptOrStop(files, false, clock, log);
}

export const hasDatabase = async (folder: string, major = ownMajor): Promise<boolean> => {
  const file = path.join(await locationOf(folder), major, 'PG_VERSION');
  return (await stat(file).catch(() => undefined)) !== undefined;
};

/** Adopts a database that runs there, or stops it. */
async function adoptOrStop(
  folder: string,
  isPrepared: boolean,
  clock: Clock,
  log: Log,
): Promise<Postmaster | undefined> {
  const left = await readPostmaster(folder);
  if (!left) return undefined;
  if ((await processState(left.pid, folder)) !== 'gone') {
    const adopted = isPrepared ? await untilReady(folder, clock, left.pid, 5_000) : 'it is not to be used';
    if (typeof adopted === 'object') {
      log.info('adopted a running database', { pid: adopted.pid });
      return adopted;
    }
    log.info('stopping the database that runs', { pid: left.pid, problem: adopted });
    await stopProcess(left.pid, clock, log);
  }
  await removeLeftovers(folder, left);
  return undefined;
}

const cluster = (at: Postmaster, isAdopted: boolean, clock: Clock, log: Log): Cluster => ({
  host: at.socketFolder,
  port: at.port,
  user: appRole,
  admin: adminRole,
  pid: at.pid,
  isAdopted,
  isAlive: async () => (await processState(at.pid)) === 'postgres',
  stop: () => stopProcess(at.pid, clock, log),
  signalStop() {
    try {
      process.kill(at.pid, 'SIGINT');
    } catch {
      // It has ended.
    }
  },
});

/** Applies account and rules to a folder; safe to repeat after an interrupted start. */
async function prepare(folder: string, account: Account, rules: AccessRules, log: Log): Promise<void> {
  if (account && !(await isOwnedBy(folder, account))) await takeOver(folder, account, log);
  if (account) await noteOwner(folder, account);
  await writeRules(folder, account, rules);
  log.info('wrote who may connect to the database', { folder });
}

type Creation = {
  folder: string;
  binaries: Binaries;
  account: Account;
  rules: AccessRules;
  log: Log;
  mayBeLost: boolean;
};

/** initdb works in a temporary folder that is renamed: when killed in place, it left eight of ten folders unusable. */
async function create({ folder, binaries, account, rules, log, mayBeLost }: Creation): Promise<void> {
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
    adminRole,
    '--auth=reject',
    '--encoding=UTF8',
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
  ];
  if (mayBeLost) args.push('--no-sync');
  const { code, text } = await runToEnd(binaries.initdb, args, { account, cwd: home, env: environment });
  if (code !== 0)
    throw new PlatformError('DATABASE_UNAVAILABLE', {
      problem: `initdb ended with ${code}: ${text.trim().slice(-500)}`,
    });
  await writeRules(aside, account, rules);
  if (account) await noteOwner(folder, account);
  await rename(aside, folder);
  const parent = await open(home, 'r');
  await parent.sync();
  await parent.close();
}

type Launch = {
  folder: string;
  home: string;
  binaries: Binaries;
  account: Account;
  settings: Readonly<Record<string, string>>;
  clock: Clock;
};

/** @returns a ready postmaster, or the last lines of its log. */
async function launch({ folder, home, binaries, account, settings, clock }: Launch): Promise<Postmaster | string> {
  const socketFolder = await socketFolderFor(folder, port, account);
  const all: Record<string, string> = {
    listen_addresses: '',
    unix_socket_directories: socketFolder,
    unix_socket_permissions: '0700',
    // Command-line settings override values of ALTER SYSTEM in postgresql.auto.conf.
    hba_file: path.join(folder, 'pg_hba.conf'),
    ident_file: path.join(folder, 'pg_ident.conf'),
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
      env: environment,
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
  child.kill('SIGQUIT');
  const text = (await readFile(path.join(home, 'postgres.log'))).subarray(before).toString();
  return `postgres ${ready}: ${text.trim().slice(-500)}`;
}

/**
 * @returns a postmaster that answers, or the problem. Its own file says "ready" even if it is stopped, or was killed
 * and has not ended yet.
 */
async function untilReady(
  folder: string,
  clock: Clock,
  pid: number | undefined,
  limitMs: number,
): Promise<Postmaster | string> {
  let problem = 'it is still starting';
  const end = clock.now() + limitMs;
  for (let leftMs = limitMs; leftMs > 0; leftMs = end - clock.now()) {
    const found = await readPostmaster(folder);
    if (found?.isReady && found.pid === pid) {
      const refused = await connectProblem({ host: found.socketFolder, port: found.port }, leftMs);
      if (refused === undefined) return found;
      problem = refused;
    }
    if (pid !== undefined && (await processState(pid)) === 'gone') return 'ended';
    await clock.sleep(pollMs);
  }
  return `was not ready within ${limitMs / 1000} s (${problem})`;
}

/** Fast shutdown, then immediate, then SIGKILL: a postmaster was observed to survive the first. */
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
