import { durationFromMs, durationMs } from '@bufbuild/protobuf/wkt';
import { RestartWish } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import {
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
import { isRefused, type Cloud } from './cloud.ts';
import type { Actual } from '../state/state.ts';
import type { Intake } from '../config/intake.ts';
import { linkCodes } from './link.ts';
import { askedPauseMs, backOff } from './pause.ts';
import type { RequestParts } from './request.ts';
import type { Troubles } from '../health/troubles.ts';

/** What checks report about a requested restart of the machine server. */
export interface RestartNews {
  /** The server reports restarts in its answers to checks: no separate polling is needed. */
  isTold: boolean;
  /** Incremented by every answer that may mean a waiting restart. */
  count: number;
}

const restartWords: Readonly<Record<RestartWish, string>> = {
  [RestartWish.UNSPECIFIED]: 'not told',
  [RestartWish.NONE]: 'none',
  [RestartWish.WAITING]: 'waiting',
};

/** Polls the configuration until `signal`; the server holds each long poll until something changes. */
export async function poll(
  {
    cloud,
    intake,
    request,
    isReached,
    news,
    clock,
    log,
    passes,
    random,
  }: {
    cloud: Cloud;
    intake: Intake;
    request: () => RequestParts;
    isReached: Cell<boolean>;
    news: Cell<RestartNews | undefined>;
    clock: Clock;
    log: Log;
    /** Gets a debug line for each iteration. */
    passes: Log;
    random: () => number;
  },
  signal: AbortSignal,
): Promise<void> {
  let failures = 0;
  let waitMs = 0;
  while (!signal.aborted) {
    const began = clock.now();
    const wasReached = isReached.get();
    let pause: number;
    let heard: { isNews: boolean; restart?: string | undefined } = { isNews: false };
    try {
      const { fingerprint } = intake;
      const answer = await cloud.deviceAgentConfig(
        { ...request(), knownFingerprint: fingerprint, wait: durationFromMs(waitMs) },
        waitMs,
        signal,
      );
      const isNews = await intake.accept(answer, fingerprint);
      heard = { isNews, restart: restartWords[answer.restart] };
      failures = 0;
      const heldMs = clock.now() - began;
      hear(news, answer.restart, answer.notModified && isEarly({ waitMs, heldMs }));
      const askedMs = answer.checkInterval ? durationMs(answer.checkInterval) : 0;
      pause = pauseAfterAnswer({
        waitMs,
        heldMs,
        isNews: isNews && answer.fingerprint !== '',
        pauseMs: Math.max(askedMs, standardPauseMs),
        random,
      });
      waitMs = longestHoldMs;
    } catch (error) {
      if (signal.aborted) return;
      waitMs = 0;
      if (isRefused(error) && failures === 0) {
        log.error('the cloud refuses this machine: check its credentials file', { error });
      } else {
        log.debug('the cloud gave no configuration', { error: errorText(error) });
      }
      failures++;
      pause = pauseAfterFailure({ failures, wasReached, askedMs: askedPauseMs(error, clock), random });
    }
    const [ms, pauseMs] = [Math.round(clock.now() - began), Math.round(Math.max(0, pause))];
    const { isNews, restart } = heard;
    passes.debug('pass', {
      by: 'poll',
      observed: { isAnswered: failures === 0, failures, isNews, restart },
      ms,
      pauseMs,
    });
    if (pause > 0) await clock.sleep(pause, signal);
  }
}

function hear(news: Cell<RestartNews | undefined>, wish: RestartWish, isWoken: boolean): void {
  const before = news.get();
  const isTold = wish !== RestartWish.UNSPECIFIED;
  // Servers that do not report restarts end a long poll early without a change.
  const mayWait = isTold ? wish === RestartWish.WAITING : isWoken;
  if (before?.isTold === isTold && !mayWait) return;
  news.set({ isTold, count: (before?.count ?? 0) + (mayWait ? 1 : 0) });
}

/**
 * Logs once when the management server becomes unreachable, and once when it is reached again. Being offline is a
 * normal state, so the level is info.
 */
export async function tellConnection(
  isReached: Cell<boolean>,
  { troubles, clock, log }: { troubles: Troubles; clock: Clock; log: Log },
  signal: AbortSignal,
): Promise<void> {
  let since = clock.now();
  let was: boolean | undefined;
  let toldCode = '';
  for (; !signal.aborted; await eitherChanged(isReached, troubles, signal)) {
    const is = isReached.get();
    const trouble = troubles.get().find((t) => (linkCodes as readonly string[]).includes(t.code));
    if (was === undefined && !is && !trouble) continue; // no request has finished yet
    const code = is ? '' : (trouble?.code ?? '');
    const fields = {
      afterSeconds: Math.round((clock.now() - since) / 1000),
      ...(trouble && { problem: trouble.message, remedy: trouble.remedy }),
    };
    if (is !== was) {
      log.info(is ? 'the cloud is reached' : 'the cloud is out of reach; going on without it', fields);
      since = clock.now();
    } else if (code !== '' && code !== toldCode) {
      log.info('the cloud is still out of reach, for another reason', fields);
    }
    was = is;
    toldCode = code === '' && !is ? toldCode : code;
  }
}

async function eitherChanged(a: Cell<unknown>, b: Cell<unknown>, signal: AbortSignal): Promise<void> {
  const turn = new AbortController();
  const over = AbortSignal.any([turn.signal, signal]);
  await Promise.race([a.changed(over), b.changed(over)]);
  turn.abort();
}

/**
 * Fetches requested restarts of the machine server; the server returns each only once. If checks report a waiting
 * restart, it is fetched then. Otherwise it is polled at the server's interval.
 */
export async function pollRestart(
  {
    cloud,
    restarts,
    actual,
    isReached,
    news,
    clock,
    log,
    random,
  }: {
    cloud: Cloud;
    restarts: Cell<number>;
    actual: Cell<Actual>;
    isReached: Cell<boolean>;
    news: Cell<RestartNews | undefined>;
    clock: Clock;
    log: Log;
    random: () => number;
  },
  signal: AbortSignal,
): Promise<void> {
  let failures = 0;
  let heard = 0;
  let due = clock.now() + firstAskMs;
  while (!signal.aborted) {
    const { isTold, count } = news.get() ?? { isTold: false, count: 0 };
    const leftMs = isTold ? Infinity : due - clock.now();
    if (count === heard && leftMs > 0) {
      const before = news.get();
      await changedOr(news, leftMs, clock, signal);
      if (!before && news.get()?.isTold === false) due = clock.now();
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
          log.info('a restart that was asked for before the last start of the machine server is done by that', {
            agoMs,
          });
        } else {
          log.info('a restart of the machine server was asked for', { agoMs });
          restarts.update((n) => n + 1);
        }
      }
      const asked = answer.restartCheckInterval ? durationMs(answer.restartCheckInterval) : standardPauseMs;
      due = clock.now() + Math.max(1_000, asked) * (0.95 + 0.1 * random());
    } catch (error) {
      if (signal.aborted) return;
      log.debug('the cloud did not say whether a restart is wanted', { error: errorText(error) });
      await backOff({ failures: ++failures, error, isReached, clock, random }, signal);
    }
  }
}

/** The first check may show that no polling is needed. */
const firstAskMs = 5_000;
const standardPauseMs = 5_000;
