import { statfs } from 'node:fs/promises';
import { type Clock, errorText } from '@platform/kit';
import { refreshed } from '../database/refreshed.ts';
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
  isAnswering: (limitMs: number) => Promise<boolean>;
  blobs: { checkWritable(): Promise<void> };
  dataFolder: string;
  certificate: () => { problems: readonly CertificateProblem[]; isStrictTransport: boolean };
  clock: Clock;
  stop: AbortSignal;
};

/** Load balancers and probes have timeouts of a few seconds, so the response must come earlier. */
export const answerMs = 1_500;
/** PostgreSQL needs two segments of its write-ahead log to go on, of 16 MiB each. */
export const leastFreeBytes = 32 * 2 ** 20;

/** @returns reads the state. Many callers share one check of the disk. */
export function readiness(deps: ReadinessDeps): () => Promise<Readiness> {
  const { clock, stop, certificate } = deps;
  const storage = refreshed(() => checkStorage(deps), clock, stop);
  return async () => {
    if (stop.aborted) return { word: 'stopping', checks: [], problems: [] };
    const [isAnswering, [blobs, disk]] = await Promise.all([
      deps.isAnswering(answerMs),
      inTime<[Check, Check]>(storage(), clock, [late, late]),
    ]);
    const database = isAnswering ? fine : { problem: 'does not answer' };
    const checks = Object.entries<Check>({ database, blobs, disk }).map(([name, check]) => ({ name, ...check }));
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
}

type Check = { problem?: string; note?: string };
const fine: Check = {};
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
  const mib = (bytes: number): string => `${Math.floor(bytes / 2 ** 20)} MiB`;
  const note = `${mib(bavail * bsize)} of ${mib(blocks * bsize)} free`;
  if (bavail * bsize < leastFreeBytes) return { problem: `full, ${mib(leastFreeBytes)} must be free`, note };
  if (files > 0 && ffree === 0) return { problem: `no more files fit, all ${files} inodes are in use`, note };
  return { note };
}

async function inTime<T>(work: Promise<T>, clock: Clock, otherwise: T): Promise<T> {
  const done = new AbortController();
  const found = await Promise.race([work, clock.sleep(answerMs, done.signal).then(() => otherwise)]);
  done.abort();
  return found;
}
