import { errorText, within, type Cell, type Clock, type Log } from '@platform/kit';
import type { Actual, Wanted } from '../state/state.ts';
import type { Cloud } from './cloud.ts';
import type { Condition } from '../health/conditions.ts';
import type { Intake } from '../config/intake.ts';
import { backOff } from './pause.ts';
import { reportOf, requestOf, type Self } from './request.ts';
import type { Troubles } from '../health/troubles.ts';

const gatherMs = 300;
/** The server extrapolates uptimes itself; repeating covers reports that it lost. */
const repeatMs = 60 * 60_000;
const lastWordMs = 3_000;

/** Reports the observed state to the management server: at each change, and at least once an hour. */
export async function report(
  {
    cloud,
    intake,
    self,
    wanted,
    actual,
    troubles,
    sinceOf,
    isReached,
    clock,
    log,
    passes,
    random,
  }: {
    cloud: Cloud;
    intake: Intake;
    self: Self;
    wanted: Cell<Wanted>;
    actual: Cell<Actual>;
    troubles: Troubles;
    /** Converts a stored time by the current clock; undefined: unknown. */
    sinceOf: (noted: number) => number | undefined;
    isReached: Cell<boolean>;
    clock: Clock;
    log: Log;
    /** Gets a debug line for each iteration. */
    passes: Log;
    random: () => number;
  },
  signal: AbortSignal,
): Promise<void> {
  /** When each condition of the last report was first reported, by its code and message. */
  const firstSeen = { at: new Map<string, number>() };
  const sent: { wanted?: Wanted; actual?: Actual; troubles?: readonly Condition[] } = {};
  const isSame = () => wanted.get() === sent.wanted && actual.get() === sent.actual && troubles.get() === sent.troubles;
  const send = async (until: AbortSignal): Promise<void> => {
    const [w, a, t, now] = [wanted.get(), actual.get(), troubles.get(), clock.now()];
    const told = new Map<string, number>();
    const since = (message: string): number => {
      const seen = firstSeen.at.get(message) ?? clock.wall();
      told.set(message, seen);
      return seen;
    };
    const { fingerprint: knownFingerprint } = intake;
    const request = {
      ...requestOf(self, a, now),
      knownFingerprint,
      report: reportOf(self, w, a, now, since, t, sinceOf),
    };
    firstSeen.at = told;
    const answer = await cloud.deviceAgentConfig(request, 0, until);
    passes.debug('pass', {
      by: 'report',
      observed: {
        server: a.server.at,
        applied: a.applied,
        conditions: request.report.conditions?.map(({ code }) => code),
      },
      did: ['report'],
      ms: Math.round(clock.now() - now),
    });
    [sent.wanted, sent.actual, sent.troubles] = [w, a, t];
    await intake.accept(answer, knownFingerprint);
  };

  let failures = 0;
  while (!signal.aborted) {
    try {
      await send(signal);
      failures = 0;
    } catch (error) {
      if (signal.aborted) break;
      log.debug('the report was not taken', { error: errorText(error) });
      await backOff({ failures: ++failures, error, isReached, clock, random }, signal);
      continue;
    }
    const end = clock.now() + repeatMs;
    while (isSame() && clock.now() < end && !signal.aborted) {
      await anyChanged([wanted, actual, troubles], end - clock.now(), clock, signal);
    }
    await clock.sleep(gatherMs, signal); // changes come in bursts
  }
  // Tries once to report the final state, such as that the server was stopped.
  if (!isSame() && failures === 0) await within(lastWordMs, { what: 'the last report', clock }, send).catch(() => {});
}

async function anyChanged(
  cells: readonly Cell<unknown>[],
  ms: number,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const turn = new AbortController();
  const over = AbortSignal.any([turn.signal, signal]);
  await Promise.race([clock.sleep(ms, over), ...cells.map((cell) => cell.changed(over))]);
  turn.abort();
}
