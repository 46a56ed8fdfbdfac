import { Cell, errorText, within, type Log, changedOr } from '@platform/kit';
import type { Actual, Wanted } from '../state/state.ts';
import type { Cloud } from './cloud.ts';
import type { Condition } from '../health/conditions.ts';
import type { ConfigReceiver } from '../config/config-receiver.ts';
import { backOff } from './pause.ts';
import { reportOf, requestOf, type Self } from './request.ts';
import type { SystemStatus } from '../system/system-status.ts';
import type { HostFacts } from '../os/ports.ts';
import type { NetworkStatus } from '../network/rows/network-status.ts';
import { isSameNetwork, NetworkReportLimit } from './network-report.ts';
import type { Context } from '../health/context.ts';

const gatherMs = 300;
/** The server extrapolates uptimes itself; repeating covers reports that it lost. */
export const reportRepeatMs = 60 * 60_000;
const finalReportMs = 3_000;
/** Failed reports in a row between two warnings. */
const failuresPerWarning = 5;
const factsMs = 1_000;
/** How often facts of the system that may change while the agent runs are compared. */
export const hostLookMs = 60_000;

export interface ReportParts extends Pick<
  Context,
  'wanted' | 'actual' | 'conditions' | 'isReached' | 'clock' | 'log' | 'random'
> {
  cloud: Cloud;
  configReceiver: ConfigReceiver;
  self: Self;
  /** Absent: nothing watches the network. */
  network?: Cell<NetworkStatus | undefined>;
  /** Absent: nothing watches the packages of the operating system. */
  systemStatus?: Cell<SystemStatus | undefined>;
  /** Read for each report. Absent: this platform does not report them. */
  hostFacts?: (() => Promise<HostFacts>) | undefined;
  /** Counts the requests of the management server for the whole report; absent: it makes none. */
  asked?: Cell<number>;
  /** Converts a stored time by the current clock; undefined: unknown. */
  sinceOf: (noted: number) => number | undefined;
  /** Gets a debug line for each iteration. */
  passes: Log;
}

/** The state of the last accepted report. */
interface LastReport {
  /** When each condition was first reported, by its code and message. */
  firstSeen: ReadonlyMap<string, number>;
  wanted?: Wanted;
  actual?: Actual;
  conditions?: readonly Condition[];
  received?: number;
  network?: NetworkStatus | undefined;
  system?: SystemStatus | undefined;
  /** What the machine is called, and its distribution. */
  host?: string;
  asked?: number;
}

/** The system gives no notice when it is renamed or upgraded. */
const hostOf = ({ host }: Self): string => `${host.hostname()} ${host.distro()}`;

/** Reports the observed state to the management server: at each change, and at least once an hour. */
export async function report(parts: ReportParts, signal: AbortSignal): Promise<void> {
  const { wanted, actual, conditions, isReached, clock, log, passes, random } = parts;
  const { received } = parts.configReceiver;
  const last: LastReport = { firstSeen: new Map() };
  const network = parts.network ?? new Cell<NetworkStatus | undefined>(undefined);
  const system = parts.systemStatus ?? new Cell<SystemStatus | undefined>(undefined);
  const asked = parts.asked ?? new Cell(0);
  const networkLimit = new NetworkReportLimit();
  const isSame = () =>
    wanted.get() === last.wanted &&
    actual.get() === last.actual &&
    conditions.get() === last.conditions &&
    asked.get() === (last.asked ?? 0) &&
    received.get() === last.received &&
    system.get() === last.system &&
    hostOf(parts.self) === last.host;
  const networkWait = (): number =>
    isSameNetwork(network.get(), last.network) ? Infinity : networkLimit.wait(clock.now());

  let failures = 0;
  while (!signal.aborted) {
    // A call that gets no answer clears it: whether a check was answered since the last try shows before the next.
    const wasReached = isReached.get();
    try {
      if (isSame() && networkWait() === 0) networkLimit.take(clock.now());
      await sendReport(parts, last, signal);
      failures = 0;
    } catch (error) {
      if (signal.aborted) break;
      failures += 1;
      log.debug('the report was not taken', { error: errorText(error) });
      // The checks go on, so the machine looks online with an old report: the reason must reach its log.
      if (wasReached && failures % failuresPerWarning === 0)
        passes.warn('the management server answers checks but takes no report', { error: errorText(error), failures });
      await backOff({ failures, error, isReached, clock, random }, signal);
      continue;
    }
    const end = clock.now() + reportRepeatMs;
    while (isSame() && networkWait() > 0 && clock.now() < end && !signal.aborted) {
      const ms = Math.min(end - clock.now(), networkWait(), hostLookMs);
      await changedOr([wanted, actual, conditions, received, network, system, asked], ms, clock, signal);
    }
    await clock.sleep(gatherMs, signal); // changes come in bursts
  }
  if (isSame() || failures > 0) return;
  // Tries once to report the final state, such as that the server was stopped.
  const send = (until: AbortSignal) => sendReport(parts, last, until);
  await within(finalReportMs, { what: 'the last report', clock }, send).catch(() => {});
}

async function sendReport(parts: ReportParts, last: LastReport, signal: AbortSignal): Promise<void> {
  const { cloud, configReceiver, self, sinceOf, clock, passes } = parts;
  const [wanted, actual, conditions] = [parts.wanted.get(), parts.actual.get(), parts.conditions.get()];
  const network = parts.network?.get();
  const system = parts.systemStatus?.get();
  const host = hostOf(self);
  const asked = parts.asked?.get() ?? 0;
  const received = configReceiver.received.get();
  const facts = await readFacts(parts);
  const now = clock.now();
  const firstSeen = new Map<string, number>();
  const since = (message: string): number => {
    const seen = last.firstSeen.get(message) ?? clock.wall();
    firstSeen.set(message, seen);
    return seen;
  };
  const { fingerprint: knownFingerprint } = configReceiver;
  const request = {
    ...requestOf(self, actual, now),
    knownFingerprint,
    report: reportOf(
      self,
      { wanted, actual, conditions, network, system, facts },
      { now, conditionsSince: since, sinceOf },
    ),
  };
  // Also kept if the request fails: the server may have stored it.
  last.firstSeen = firstSeen;
  const answer = await cloud.deviceAgentConfig(request, 0, signal);
  passes.debug('pass', {
    by: 'report',
    observed: {
      server: actual.server.at,
      applied: actual.applied,
      conditions: request.report.conditions?.map(({ code }) => code),
    },
    did: ['report'],
    ms: Math.round(clock.now() - now),
  });
  Object.assign(last, { wanted, actual, conditions, received, network, system, asked, host });
  await configReceiver.accept(answer, knownFingerprint);
}

/** A file system that hangs must not keep the report back. */
async function readFacts({ hostFacts, clock }: ReportParts): Promise<HostFacts | undefined> {
  if (!hostFacts) return undefined;
  return within(factsMs, { what: 'reading the facts of this machine', clock }, hostFacts).catch(() => undefined);
}
