import { statfs } from 'node:fs/promises';
import { type Clock, errorText, formatBytes, type Log } from '@platform/kit';
import type { CertificateProblem } from '../tls/in-use.ts';

/** `degraded`: it works, but clients that verify the certificate cannot connect. */
export type ReadinessWord = 'ok' | 'degraded' | 'unavailable' | 'stopping';

export type Readiness = {
  word: ReadinessWord;
  checks: readonly ({ name: string } & Check)[];
  problems: readonly CertificateProblem[];
};

/** For those who may know more: `name: state` of each check, then `problem: …` and `notice: …`. */
export const linesOf = ({ checks, problems }: Readiness): string[] => [
  ...checks.map(({ name, problem, note }) => `${name}: ${problem ?? 'ok'}${note === undefined ? '' : ` (${note})`}`),
  ...problems.map(({ text, isFatal }) => `${isFatal ? 'problem' : 'notice'}: ${text}`),
];

export type ReadinessDeps = {
  /** Whether the connection that holds the right to the database is open; known at once, without a statement. */
  isConnected: () => boolean;
  isAnswering: (limitMs: number) => Promise<boolean>;
  blobs: { checkWritable(): Promise<void> };
  dataFolder: string;
  certificate: () => { problems: readonly CertificateProblem[]; isStrictTransport: boolean };
  clock: Clock;
  log: Log;
  stop: AbortSignal;
};

/** Load balancers and probes have timeouts of a few seconds, so the response must come earlier. */
export const answerMs = 1_500;
/** PostgreSQL needs two segments of its write-ahead log to go on, of 16 MiB each. */
export const leastFreeBytes = 32 * 2 ** 20;

/** From one check of the database to the next. */
export const databaseEveryMs = 1_000;
/** Each check of the files writes one. */
export const filesEveryMs = 5_000;
/** A check is older than this only if the server has no processor time for it. */
export const checkHoldsMs = 15_000;

type Checks = { database: Check; blobs: Check; disk: Check };

/**
 * Checks all the time and answers with the last result: so an answer costs no statement, and callers without
 * credentials cannot delay it. A broken connection to the database needs no check: the next answer has it.
 */
export function readiness(deps: ReadinessDeps): { read: () => Promise<Readiness>; done: Promise<void> } {
  const { clock, stop, certificate } = deps;
  const storage = new StorageCheck(deps);
  const check = async (): Promise<Checks> => {
    const [isAnswering, [blobs, disk]] = await Promise.all([deps.isAnswering(answerMs), storage.read()]);
    return { database: isAnswering ? fine : silent, blobs, disk };
  };
  const first = Promise.withResolvers<void>();
  const last: { checks: Checks | undefined; at: number } = { checks: undefined, at: 0 };
  const run = async (): Promise<void> => {
    for (; !stop.aborted; await clock.sleep(databaseEveryMs, stop)) {
      const checks = await check();
      logChange(deps.log, last.checks, checks);
      Object.assign(last, { checks, at: clock.now() });
      first.resolve();
    }
    first.resolve();
  };
  const read = async (): Promise<Readiness> => {
    await first.promise;
    if (stop.aborted || !last.checks) return { word: 'stopping', checks: [], problems: [] };
    const isOld = clock.now() - last.at > checkHoldsMs;
    const known = deps.isConnected() ? last.checks : { ...last.checks, database: silent };
    const checks = Object.entries<Check>(known).map(([name, found]) => ({ name, ...(isOld ? old : found) }));
    const { problems } = certificate();
    const isUnavailable = checks.some(({ problem }) => problem !== undefined);
    const isDegraded = problems.some(({ isFatal }) => isFatal);
    return {
      // Certificate problems do not make it unavailable: removing it from a load balancer would not fix them.
      word: isUnavailable ? 'unavailable' : isDegraded ? 'degraded' : 'ok',
      checks,
      problems,
    };
  };
  return { read, done: run() };
}

const problemsOf = (checks: Checks | undefined): string =>
  Object.entries<Check>({ ...checks })
    .flatMap(([name, { problem }]) => (problem === undefined ? [] : [`${name}: ${problem}`]))
    .join(', ');

function logChange(log: Log, before: Checks | undefined, now: Checks): void {
  const problems = problemsOf(now);
  if (problems === problemsOf(before)) return;
  if (problems === '') log.info('ready again');
  else log.warn('not ready', { problems });
}

type Check = { problem?: string; note?: string };
const fine: Check = {};
const silent: Check = { problem: 'does not answer' };
const old: Check = { problem: `was last checked more than ${checkHoldsMs / 1_000} s ago` };
const late: Check = { problem: `did not answer within ${answerMs / 1_000} s` };

async function checkStorage({ blobs, dataFolder }: ReadinessDeps): Promise<[blobs: Check, disk: Check]> {
  const written = blobs.checkWritable().then(
    () => fine,
    (error: unknown) => ({ problem: `cannot be written: ${errorText(error)}` }),
  );
  const measured = statfs(dataFolder).then(roomOf, (error: unknown) => ({ problem: errorText(error) }));
  return Promise.all([written, measured]);
}

type FileSystem = { bsize: number; bavail: number; blocks: number; files: number; ffree: number };

/** Some file systems, such as Btrfs, have no fixed number of files and report 0. */
export function roomOf({ bsize, bavail, blocks, files, ffree }: FileSystem): Check {
  const note = `${formatBytes(bavail * bsize)} of ${formatBytes(blocks * bsize)} free`;
  if (bavail * bsize < leastFreeBytes) return { problem: `full, ${formatBytes(leastFreeBytes)} must be free`, note };
  if (files > 0 && ffree === 0) return { problem: `no more files fit, all ${files} inodes are in use`, note };
  return { note };
}

/** The last check of files and disk, for a time. While one hangs, no second one begins. */
class StorageCheck {
  readonly #deps: ReadinessDeps;
  #running: Promise<[Check, Check]> | undefined;
  #isRunning = false;
  #began = 0;

  constructor(deps: ReadinessDeps) {
    this.#deps = deps;
  }

  read(): Promise<[Check, Check]> {
    const { clock } = this.#deps;
    if (!this.#running || (!this.#isRunning && clock.now() - this.#began >= filesEveryMs)) {
      this.#began = clock.now();
      this.#isRunning = true;
      this.#running = checkStorage(this.#deps).finally(() => (this.#isRunning = false));
    }
    return inTime(this.#running, clock, [late, late]);
  }
}

async function inTime<T>(work: Promise<T>, clock: Clock, otherwise: T): Promise<T> {
  const done = new AbortController();
  const found = await Promise.race([work, clock.sleep(answerMs, done.signal).then(() => otherwise)]);
  done.abort();
  return found;
}
