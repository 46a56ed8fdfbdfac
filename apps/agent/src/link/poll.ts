import { durationFromMs, durationMs } from '@bufbuild/protobuf/wkt';
import { RestartRequest } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import {
  anyChanged,
  changedOr,
  errorText,
  isEarly,
  longestHoldMs,
  pauseAfterAnswer,
  pauseAfterFailure,
  type Cell,
  type Clock,
  type Log,
} from '@platform/kit';
import { unlessArrival } from './arrivals.ts';
import { isRefused, type Cloud } from './cloud.ts';
import type { ConfigReceiver } from '../config/config-receiver.ts';
import { askedPauseMs, backOff } from './pause.ts';
import type { RequestParts } from './request.ts';
import type { SampleSender } from '../samples/sample-sender.ts';
import type { ConditionSet } from '../health/condition-set.ts';
import { isLinkCode } from '../health/link-codes.ts';
import type { Context } from '../health/context.ts';

/** What the checks report about a requested restart of the machine server. */
export interface RestartNotice {
  /** The server reports restarts in its answers to checks: no separate polling is needed. */
  isReported: boolean;
  /** Incremented by every answer that may mean a waiting restart. */
  count: number;
}

const restartStates: Readonly<Record<RestartRequest, string>> = {
  [RestartRequest.UNSPECIFIED]: 'not reported',
  [RestartRequest.NONE]: 'none',
  [RestartRequest.WAITING]: 'waiting',
};

export interface PollParts extends Pick<Context, 'isReached' | 'clock' | 'log' | 'random'> {
  cloud: Cloud;
  configReceiver: ConfigReceiver;
  request: () => RequestParts;
  /** Absent: this machine takes no samples. */
  samples?: Pick<SampleSender, 'next'> | undefined;
  /** Counts the networks that this machine has come to. */
  arrivals: Cell<number>;
  restartNotice: Cell<RestartNotice | undefined>;
  /** Gets a debug line for each iteration. */
  passes: Log;
}

interface CheckResult {
  isNews: boolean;
  restart?: string | undefined;
  /** Until the next check. */
  pauseMs: number;
  /** The server asked for this pause. */
  isAsked?: boolean;
}

/**
 * Polls the configuration until `signal`; the server holds each long poll until something changes. When this machine
 * comes to a network, the next check is made at once: a held one may wait for an answer over the network before.
 */
export async function poll(parts: PollParts, signal: AbortSignal): Promise<void> {
  const { arrivals, clock, passes, random } = parts;
  const turn: Turn = { failures: 0, waitMs: 0 };
  while (!signal.aborted) {
    const began = clock.now();
    const arrived = arrivals.get();
    const result = await unlessArrival(arrivals, (over) => checked(parts, turn, over), signal).catch(() => undefined);
    if (signal.aborted) return;
    const { isNews = false, restart, pauseMs = 0, isAsked = false } = result ?? {};
    passes.debug('pass', {
      by: 'poll',
      observed: { isAnswered: result !== undefined && turn.failures === 0, failures: turn.failures, isNews, restart },
      ms: Math.round(clock.now() - began),
      pauseMs: Math.round(Math.max(0, pauseMs)),
    });
    if (pauseMs > 0 && isAsked) await clock.sleep(pauseMs, signal);
    else if (pauseMs > 0 && arrivals.get() === arrived) await changedOr(arrivals, pauseMs, clock, signal);
    if (arrivals.get() === arrived) continue;
    turn.failures = 0;
    turn.waitMs = 0;
    await clock.sleep(random() * longestSpreadMs, signal);
  }
}

/** Many machines of one site come online together. */
const longestSpreadMs = 2_000;

interface Turn {
  failures: number;
  /** How long the server may hold the next check. */
  waitMs: number;
}

/** One check, with what follows from a failure. Throws only when it is ended by `signal`. */
async function checked(parts: PollParts, turn: Turn, signal: AbortSignal): Promise<CheckResult> {
  const { isReached, clock, log, random } = parts;
  const wasReached = isReached.get();
  try {
    const result = await check(parts, turn.waitMs, signal);
    turn.failures = 0;
    turn.waitMs = longestHoldMs;
    return result;
  } catch (error) {
    if (signal.aborted) throw error;
    turn.waitMs = 0;
    if (isRefused(error) && turn.failures === 0) {
      log.error('the cloud refuses this machine: check its credentials file', { error });
    } else {
      log.debug('the cloud gave no configuration', { error: errorText(error) });
    }
    turn.failures++;
    const askedMs = askedPauseMs(error, clock);
    const pauseMs = pauseAfterFailure({ failures: turn.failures, wasReached, askedMs, random });
    return { isNews: false, pauseMs, isAsked: askedMs !== undefined };
  }
}

/** One check; the server may hold it for `waitMs`. */
async function check(
  { cloud, configReceiver, request, samples, restartNotice: news, clock, random }: PollParts,
  waitMs: number,
  signal: AbortSignal,
): Promise<CheckResult> {
  const began = clock.now();
  const { fingerprint } = configReceiver;
  const batch = samples?.next();
  const answer = await cloud.deviceAgentConfig(
    {
      ...request(),
      knownFingerprint: fingerprint,
      wait: durationFromMs(waitMs),
      ...(batch && { samples: batch.message }),
    },
    waitMs,
    signal,
  );
  await batch?.accepted();
  const isNews = await configReceiver.accept(answer, fingerprint);
  const heldMs = clock.now() - began;
  noteRestart(news, answer.restart, answer.notModified && isEarly({ waitMs, heldMs }));
  const askedMs = answer.checkInterval ? durationMs(answer.checkInterval) : 0;
  const pauseMs = pauseAfterAnswer({
    waitMs,
    heldMs,
    isNews: isNews && answer.fingerprint !== '',
    pauseMs: Math.max(askedMs, standardPauseMs),
    random,
  });
  return { isNews, restart: restartStates[answer.restart], pauseMs, isAsked: askedMs > 0 };
}

function noteRestart(notice: Cell<RestartNotice | undefined>, restart: RestartRequest, isWoken: boolean): void {
  const before = notice.get();
  const isReported = restart !== RestartRequest.UNSPECIFIED;
  // Servers that do not report restarts end a long poll early without a change.
  const mayWait = isReported ? restart === RestartRequest.WAITING : isWoken;
  if (before?.isReported === isReported && !mayWait) return;
  notice.set({ isReported, count: (before?.count ?? 0) + (mayWait ? 1 : 0) });
}

/**
 * Logs once when the management server becomes unreachable, and once when it is reached again. Being offline is a
 * normal state, so the level is info.
 */
export async function logConnection(
  isReached: Cell<boolean>,
  { conditions, clock, log }: { conditions: ConditionSet; clock: Clock; log: Log },
  signal: AbortSignal,
): Promise<void> {
  let since = clock.now();
  let was: boolean | undefined;
  let loggedCode = '';
  for (; !signal.aborted; await anyChanged([isReached, conditions], signal)) {
    const is = isReached.get();
    const condition = conditions.get().find(({ code }) => isLinkCode(code));
    if (was === undefined && !is && !condition) continue; // no request has finished yet
    const code = is ? '' : (condition?.code ?? '');
    const fields = {
      afterSeconds: Math.round((clock.now() - since) / 1000),
      ...(condition && { problem: condition.message, remedy: condition.remedy }),
    };
    if (is !== was) {
      log.info(is ? 'the cloud is reached' : 'the cloud is out of reach; going on without it', fields);
      since = clock.now();
    } else if (code !== '' && code !== loggedCode) {
      log.info('the cloud is still out of reach, for another reason', fields);
    }
    was = is;
    loggedCode = code === '' && !is ? loggedCode : code;
  }
}

/**
 * Fetches requested restarts of the machine server; the server returns each only once. If checks report a waiting
 * restart, it is fetched then. Otherwise it is polled at the server's interval.
 */
export async function pollRestart(
  of: Pick<Context, 'actual' | 'isReached' | 'clock' | 'log' | 'random'> & {
    cloud: Cloud;
    restarts: Cell<number>;
    restartNotice: Cell<RestartNotice | undefined>;
  },
  signal: AbortSignal,
): Promise<void> {
  const { cloud, restarts, actual, isReached, restartNotice, clock, log, random } = of;
  let failures = 0;
  let heard = 0;
  let due = clock.now() + firstPollMs;
  while (!signal.aborted) {
    const { isReported, count } = restartNotice.get() ?? { isReported: false, count: 0 };
    const leftMs = isReported ? Infinity : due - clock.now();
    if (count === heard && leftMs > 0) {
      const before = restartNotice.get();
      await changedOr(restartNotice, leftMs, clock, signal);
      if (!before && restartNotice.get()?.isReported === false) due = clock.now();
      continue;
    }
    try {
      const answer = await cloud.needsRestart(signal);
      failures = 0;
      heard = count;
      if (answer.mustRestart) {
        const agoMs = answer.requestedAgo ? durationMs(answer.requestedAgo) : 0;
        const { startedAt } = actual.get().server;
        if (startedAt !== null && clock.now() - startedAt < agoMs) {
          log.info('a restart was requested before the last start of the machine server, which satisfies it', {
            agoMs,
          });
        } else {
          log.info('a restart of the machine server was requested', { agoMs });
          restarts.update((n) => n + 1);
        }
      }
      const asked = answer.restartCheckInterval ? durationMs(answer.restartCheckInterval) : standardPauseMs;
      due = clock.now() + Math.max(1_000, asked) * (0.95 + 0.1 * random());
    } catch (error) {
      if (signal.aborted) return;
      log.debug('the cloud did not return whether a restart is requested', { error: errorText(error) });
      await backOff({ failures: ++failures, error, isReached, clock, random }, signal);
    }
  }
}

/** The first check may show that no polling is needed. */
const firstPollMs = 5_000;
const standardPauseMs = 5_000;
