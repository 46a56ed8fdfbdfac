/** Runs one attempt on a cluster node, as the dispatcher submitted it to the engine. */
import { rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Code, ConnectError } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-web';
import { PlatformError } from '@platform/contract/errors/errors';
import { createLog, type Secret } from '@platform/kit';
import {
  readStdin,
  readText,
  stderrSink,
  systemClock,
  unusableRemedy,
  unusableText,
  useProxiesOf,
} from '@platform/kit/node';
import { runAttempt } from '../attempt.ts';
import { watchCapabilities } from '../capabilities.ts';
import { connectQueue, type Queue } from '../cloud/queue.ts';
import type { Session } from '../cloud/session.ts';
import { makePrivate } from '../job/cache.ts';
import { cacheIn } from '../job/folder.ts';
import { makeWorkspace } from '../make-workspace.ts';
import type { AttemptOptions } from '../options.ts';
import type { Trainers } from '../trainer/command.ts';
import { makeAttemptFolder } from './attempt-folder.ts';
import { parseOrder } from './attempt-order.ts';
import { firstLineOfAttempt } from './dispatch.ts';

const clock = systemClock;

/** Exit codes for users who inspect the engine: 69 is EX_UNAVAILABLE, the attempt had lost its lease. */
const exitCodes = { complete: 0, confirmStop: 0, fail: 1, nothing: 69 } as const;

/**
 * @returns the exit code.
 * @throws Usage when the order is missing or invalid.
 */
export async function startAttempt(given: AttemptOptions, trainers: Trainers, signal: AbortSignal): Promise<number> {
  const level = given.debug ? 'debug' : 'info';
  const log = createLog({ name: 'attempt', clock, level, sink: stderrSink(given.logFormat) });
  const order = parseOrder(await (given.order === '-' ? readStdin() : readText(given.order)));
  const { job, url, token, runnerId, graceMs } = order;
  const root = await makeAttemptFolder(given.folder === undefined ? os.tmpdir() : path.join(given.folder, 'attempts'));
  const session = tokenSession(token);
  for (const proxy of useProxiesOf(process.env)) log.warn(unusableText(proxy), { remedy: unusableRemedy });
  const transport = createConnectTransport({ baseUrl: url, useBinaryFormat: true });
  const { queue, outcome } = asAttempt(connectQueue(transport, session, runnerId, clock));
  log.info('the attempt is here', { jobId: job.id, attempt: job.attempt, url, folder: root });
  try {
    const sharedFolder = given.folder ?? root;
    await makePrivate(cacheIn(sharedFolder));
    // The attempt has its own root folder, so attempts on one host get separate sandboxes.
    const where = { root, url, trainers, clock, log };
    // Probing the Pythons takes time that other kinds of jobs do not need.
    const only = job.spec?.['kind'] === 'custom' ? 'scripts' : 'trainers';
    const capabilities = await watchCapabilities({ ...given, ...where, only });
    const place = { ...where, sharedFolder, queue, session, capabilities };
    await runAttempt(await makeWorkspace({ ...given, graceMs }, place, signal), job, signal);
  } finally {
    if (!given.keepJobs) await rm(root, { recursive: true, force: true });
  }
  return signal.aborted ? 143 : exitCodes[outcome()];
}

/** The server rejects the token when the attempt is over. */
function tokenSession(token: Secret): Session {
  const authorization = `Bearer ${token.reveal()}`;
  return {
    call: async (_, f) => {
      try {
        return await f({ authorization });
      } catch (error) {
        const isOver = error instanceof ConnectError && error.code === Code.Unauthenticated;
        throw isOver ? new PlatformError('LEASE_LOST', {}, error) : error;
      }
    },
  };
}

/**
 * Numbers log lines after the dispatcher's. It reports no end that the engine ordered: the dispatcher knows the reason.
 */
function asAttempt(queue: Queue): { queue: Queue; outcome(): keyof typeof exitCodes } {
  let outcome: keyof typeof exitCodes = 'nothing';
  const moved = <T extends { sequence: number }>(entries: readonly T[]): T[] =>
    entries.map((entry) => ({ ...entry, sequence: entry.sequence + firstLineOfAttempt - 1 }));
  return {
    outcome: () => outcome,
    queue: {
      ...queue,
      report: (attempt, news, holdMs, signal) =>
        queue.report(attempt, { ...news, logs: moved(news.logs), metrics: moved(news.metrics) }, holdMs, signal),
      complete: async (...args) => {
        await queue.complete(...args);
        outcome = 'complete';
      },
      fail: async (attempt, failure, signal) => {
        if (failure.code === 'RUNNER_STOPPED') return { willRetry: true };
        const answer = await queue.fail(attempt, failure, signal);
        outcome = 'fail';
        return answer;
      },
      confirmStop: async (...args) => {
        await queue.confirmStop(...args);
        outcome = 'confirmStop';
      },
    },
  };
}
