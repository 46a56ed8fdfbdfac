import { durationFromMs, durationMs } from '@bufbuild/protobuf/wkt';
import type { Cell, Clock, Log } from '@platform/kit';
import { errorText } from '@platform/kit';
import { isRefused, type Cloud } from './cloud.ts';
import type { Intake } from './intake.ts';
import type { RequestParts } from './request.ts';

const holdMs = 25_000;
const standardPauseMs = 5_000;
const longestPauseMs = 30_000;

/** ±5 %, so that machines that started together drift apart. */
const jittered = (ms: number, random: () => number): number => ms * (0.95 + 0.1 * random());

/** Asks for the configuration for ever; the cloud holds the answer back until there is news. */
export async function poll(
  {
    cloud,
    intake,
    request,
    clock,
    log,
    random,
  }: {
    cloud: Cloud;
    intake: Intake;
    request: () => RequestParts;
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
    let pauseMs: number;
    try {
      const { fingerprint } = intake;
      const answer = await cloud.deviceAgentConfig(
        { ...request(), knownFingerprint: fingerprint, wait: durationFromMs(waitMs) },
        waitMs,
        signal,
      );
      const isNews = await intake.accept(answer);
      failures = 0;
      const asked = answer.checkInterval ? durationMs(answer.checkInterval) : 0;
      // News, or an answer that was held back: ask again at once. Else this cloud does not hold answers back.
      const isHeld = (isNews && answer.fingerprint !== '') || (waitMs > 0 && clock.now() - began >= waitMs / 2);
      pauseMs = isHeld || waitMs === 0 ? 0 : jittered(Math.max(asked, standardPauseMs), random);
      waitMs = holdMs;
    } catch (error) {
      if (signal.aborted) return;
      waitMs = 0;
      if (isRefused(error) && failures === 0) {
        log.error('the cloud refuses this machine: check its credentials file', { error });
      } else {
        log.debug('the cloud gave no configuration', { error: errorText(error) });
      }
      pauseMs = jittered(Math.min(1_000 * 2 ** failures++, longestPauseMs), random);
    }
    if (pauseMs > 0) await clock.sleep(pauseMs, signal);
  }
}

/** Says once when the cloud cannot be reached any more, and once when it can again. Being offline is no error. */
export async function tellConnection(
  isReached: Cell<boolean>,
  { clock, log }: { clock: Clock; log: Log },
  signal: AbortSignal,
): Promise<void> {
  let since = clock.now();
  let was = isReached.get();
  while (!signal.aborted) {
    await isReached.changed(signal);
    const is = isReached.get();
    if (is === was) continue;
    const seconds = Math.round((clock.now() - since) / 1000);
    log.info(is ? 'the cloud is reached' : 'the cloud is out of reach; going on without it', { afterSeconds: seconds });
    since = clock.now();
    was = is;
  }
}

/** Asks whether a person wants the machine server restarted; the cloud says it once. */
export async function pollRestart(
  {
    cloud,
    restarts,
    clock,
    log,
    random,
  }: {
    cloud: Cloud;
    restarts: Cell<number>;
    clock: Clock;
    log: Log;
    random: () => number;
  },
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    let pauseMs = standardPauseMs;
    try {
      const answer = await cloud.needsRestart(signal);
      if (answer.mustRestart) {
        log.info('a restart of the machine server was asked for');
        restarts.update((n) => n + 1);
      }
      if (answer.restartCheckInterval) pauseMs = Math.max(1_000, durationMs(answer.restartCheckInterval));
    } catch (error) {
      if (signal.aborted) return;
      log.debug('the cloud did not say whether a restart is wanted', { error: errorText(error) });
      pauseMs = longestPauseMs / 3;
    }
    await clock.sleep(jittered(pauseMs, random), signal);
  }
}
