import { durationFromMs, durationMs } from '@bufbuild/protobuf/wkt';
import { changedOr, errorText, type Cell, type Clock, type Log } from '@platform/kit';
import { isRefused, type Cloud } from './cloud.ts';
import type { Intake } from './intake.ts';
import { linkCodes } from './link.ts';
import { askedPauseMs, backOff, pauseMs } from './pause.ts';
import type { RequestParts } from './request.ts';
import type { Troubles } from './troubles.ts';

const holdMs = 50_000; // below the minute after which proxies give up
const standardPauseMs = 5_000;
const earlyMs = 2_000;

/** ±5 %, so that machines that started together drift apart. */
const jittered = (ms: number, random: () => number): number => ms * (0.95 + 0.1 * random());

/** Asks for the configuration for ever; the cloud holds the answer back until there is news. */
export async function poll(
  {
    cloud,
    intake,
    request,
    isReached,
    nudges,
    clock,
    log,
    random,
  }: {
    cloud: Cloud;
    intake: Intake;
    request: () => RequestParts;
    isReached: Cell<boolean>;
    nudges: Cell<number>;
    clock: Clock;
    log: Log;
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
    try {
      const { fingerprint } = intake;
      const answer = await cloud.deviceAgentConfig(
        { ...request(), knownFingerprint: fingerprint, wait: durationFromMs(waitMs) },
        waitMs,
        signal,
      );
      const isNews = await intake.accept(answer);
      failures = 0;
      const heldMs = clock.now() - began;
      // Woken without news: something else of this machine has changed over there.
      if (answer.notModified && waitMs > 0 && heldMs < waitMs - earlyMs) nudges.update((n) => n + 1);
      const asked = answer.checkInterval ? durationMs(answer.checkInterval) : 0;
      // News, or an answer that was held back: ask again at once. Else this cloud does not hold answers back.
      const isHeld = (isNews && answer.fingerprint !== '') || (waitMs > 0 && heldMs >= waitMs / 2);
      pause = isHeld || waitMs === 0 ? 0 : jittered(Math.max(asked, standardPauseMs), random);
      waitMs = holdMs;
    } catch (error) {
      if (signal.aborted) return;
      waitMs = 0;
      if (isRefused(error) && failures === 0) {
        log.error('the cloud refuses this machine: check its credentials file', { error });
      } else {
        log.debug('the cloud gave no configuration', { error: errorText(error) });
      }
      failures++;
      pause = pauseMs({ failures, wasReached, askedMs: askedPauseMs(error, clock), random });
    }
    if (pause > 0) await clock.sleep(pause, signal);
  }
}

/** Says once when the cloud cannot be reached any more, and once when it can again. Being offline is no error. */
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
    if (was === undefined && !is && !trouble) continue; // not asked yet
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
 * Asks whether a person wants the machine server restarted; the cloud says it once. A cloud that wakes held checks can ask
 * for long pauses: each of `nudges` makes it ask at once.
 */
export async function pollRestart(
  {
    cloud,
    restarts,
    isReached,
    nudges,
    clock,
    log,
    random,
  }: {
    cloud: Cloud;
    restarts: Cell<number>;
    isReached: Cell<boolean>;
    nudges: Cell<number>;
    clock: Clock;
    log: Log;
    random: () => number;
  },
  signal: AbortSignal,
): Promise<void> {
  let failures = 0;
  while (!signal.aborted) {
    const seen = nudges.get();
    try {
      const answer = await cloud.needsRestart(signal);
      failures = 0;
      if (answer.mustRestart) {
        log.info('a restart of the machine server was asked for');
        restarts.update((n) => n + 1);
      }
      const asked = answer.restartCheckInterval && durationMs(answer.restartCheckInterval);
      const pause = jittered(Math.max(1_000, asked ?? standardPauseMs), random);
      if (nudges.get() === seen) await changedOr(nudges, pause, clock, signal);
    } catch (error) {
      if (signal.aborted) return;
      log.debug('the cloud did not say whether a restart is wanted', { error: errorText(error) });
      await backOff({ failures: ++failures, error, isReached, clock, random }, signal);
    }
  }
}
