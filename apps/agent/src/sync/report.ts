import { changedOr, errorText, within, type Cell, type Clock, type Log } from '@platform/kit';
import type { Actual, Wanted } from '../state.ts';
import type { Cloud } from './cloud.ts';
import type { Intake } from './intake.ts';
import { reportOf, requestOf, type Self } from './request.ts';

const gatherMs = 300;
const repeatMs = 60_000;
const firstPauseMs = 1_000;
const longestPauseMs = 15_000;
const lastWordMs = 3_000;

/** Sends what is to the cloud: at each change, and now and then for the uptimes. */
export async function report(
  {
    cloud,
    intake,
    self,
    wanted,
    actual,
    clock,
    log,
  }: {
    cloud: Cloud;
    intake: Intake;
    self: Self;
    wanted: Cell<Wanted>;
    actual: Cell<Actual>;
    clock: Clock;
    log: Log;
  },
  signal: AbortSignal,
): Promise<void> {
  const firstSeen = new Map<string, number>();
  const since = (message: string): number => {
    const seen = firstSeen.get(message) ?? clock.wall();
    firstSeen.set(message, seen);
    return seen;
  };
  const sent: { wanted?: Wanted; actual?: Actual } = {};
  const isSame = () => wanted.get() === sent.wanted && actual.get() === sent.actual;
  const send = async (until: AbortSignal): Promise<void> => {
    const [w, a, now] = [wanted.get(), actual.get(), clock.now()];
    const request = {
      ...requestOf(self, a, now),
      knownFingerprint: intake.fingerprint,
      report: reportOf(self, w, a, now, since),
    };
    const answer = await cloud.deviceAgentConfig(request, 0, until);
    [sent.wanted, sent.actual] = [w, a];
    await intake.accept(answer);
  };

  let failures = 0;
  while (!signal.aborted) {
    try {
      await send(signal);
      failures = 0;
    } catch (error) {
      if (signal.aborted) break;
      log.debug('the report was not taken', { error: errorText(error) });
      await clock.sleep(Math.min(firstPauseMs * 2 ** failures++, longestPauseMs), signal);
      continue;
    }
    const end = clock.now() + repeatMs;
    while (isSame() && clock.now() < end && !signal.aborted) {
      await eitherChanged(wanted, actual, end - clock.now(), clock, signal);
    }
    await clock.sleep(gatherMs, signal); // changes come in groups
  }
  // That the server was stopped is worth a last word, if the cloud listens.
  if (!isSame() && failures === 0) await within(lastWordMs, { what: 'the last report', clock }, send).catch(() => {});
}

async function eitherChanged(
  a: Cell<unknown>,
  b: Cell<unknown>,
  ms: number,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const turn = new AbortController();
  const over = AbortSignal.any([turn.signal, signal]);
  await Promise.race([changedOr(a, ms, clock, over), b.changed(over)]);
  turn.abort();
}
