import { Cell, type Log } from '@platform/kit';
import type { DeviceTime } from '../clock/device-time.ts';
import type { ConfigReceiver } from '../config/config-receiver.ts';
import { countArrivals } from '../link/arrivals.ts';
import type { Cloud } from '../link/cloud.ts';
import { poll, pollRestart, logConnection, type RestartNotice } from '../link/poll.ts';
import { report } from '../link/report.ts';
import { requestOf, type Self } from '../link/request.ts';
import { Floods } from '../logs/floods.ts';
import { parseHandedOver, followOutput, type Output } from '../logs/output.ts';
import type { SpoolWriter } from '../logs/spool-writer.ts';
import type { Spool } from '../logs/spool.ts';
import { sendLines, storeLines } from '../logs/upload.ts';
import { watchFallback } from '../network/rows/fallback-condition.ts';
import type { SampleSender } from '../samples/sample-sender.ts';
import type { Device, Position } from '../os/ports.ts';
import { versionOf, type Actual } from '../state/state.ts';
import type { Shared } from './run-agent.ts';
import type { Context } from '../health/context.ts';

export interface NamedLoop {
  name: string;
  work: Promise<void>;
}

/** Files that the machine server writes. */
export interface Outputs {
  stdoutFile: string;
  stderrFile: string;
  /** Lines that it sends to the socket of the agent. */
  linesFile: string;
  /** Where the stdout of the running server begins. */
  stdoutBegin: () => Promise<Position | undefined>;
}

/** What the loops between this machine and the management server share. */
export interface Link
  extends
    Pick<Context, 'wanted' | 'actual' | 'isReached' | 'conditions' | 'clock' | 'log' | 'random'>,
    Pick<Shared, 'restarts' | 'network' | 'systemStatus'> {
  cloud: Cloud;
  configReceiver: ConfigReceiver;
  /** Counts the requests of the management server for the whole report. */
  asked: Cell<number>;
  /** Absent: this platform does not report them. */
  hostFacts?: Device['hostFacts'] | undefined;
  /** Absent: this machine takes no samples. */
  samples?: SampleSender | undefined;
  local: Log;
}

/** The loops that request the configuration and restarts. */
export function requestLoops(
  { cloud, configReceiver, actual, restarts, isReached, conditions, network, samples, clock, log, local, random }: Link,
  self: Self,
  signal: AbortSignal,
): readonly NamedLoop[] {
  const restartNotice = new Cell<RestartNotice | undefined>(undefined);
  const request = () => requestOf(self, actual.get(), clock.now());
  const arrivals = new Cell(0);
  const shared = { cloud, isReached, restartNotice, clock, random };
  const polling = { ...shared, configReceiver, request, samples, arrivals, log: local, passes: log };
  const restart = { ...shared, restarts, actual, log: log.child('restart') };
  return [
    { name: 'poll', work: poll(polling, signal) },
    { name: 'arrivals', work: countArrivals({ network, arrivals, clock }, signal) },
    { name: 'restart', work: pollRestart(restart, signal) },
    { name: 'connection', work: logConnection(isReached, { conditions, clock, log }, signal) },
  ];
}

/** The loops that read the output of the machine server and store its lines with the agent's. */
export function lineLoops(
  of: Pick<Link, 'actual' | 'conditions' | 'clock' | 'local'> & {
    device: Device;
    spool: Spool;
    writer: SpoolWriter;
    time: DeviceTime;
  },
  outputs: Outputs,
  signal: AbortSignal,
): readonly NamedLoop[] {
  const { device, spool, writer, time, actual, conditions, clock, local } = of;
  const isCustom = new Cell(isCustomBuild(actual.get()));
  const floods = new Floods({ conditions, clock });
  const follower = { device, spool, writer, floods, wall: () => time.wall(), clock, local };
  return [
    { name: 'store', work: storeLines(spool, { conditions, clock, local }, signal) },
    { name: 'fold', work: writer.run(signal) },
    { name: 'custom', work: eachChange(actual, () => isCustom.set(isCustomBuild(actual.get())), signal) },
    ...serverOutputs(outputs, isCustom).map((output) => ({
      name: output.source,
      work: followOutput(output, follower, signal),
    })),
    { name: 'floods', work: floods.run(signal) },
  ];
}

const serverOutputs = (
  { stdoutFile, stderrFile, linesFile, stdoutBegin }: Outputs,
  isCustom: Cell<boolean>,
): readonly Output[] => [
  { source: 'stderr', file: stderrFile, logger: 'platform-server.StdErr', level: 'warn' },
  {
    source: 'stdout',
    file: stdoutFile,
    logger: 'platform-server.StdOut',
    level: 'info',
    isSent: isCustom,
    begin: stdoutBegin,
  },
  { source: 'lines', file: linesFile, logger: 'platform-server', level: 'info', parse: parseHandedOver },
];

/** A custom build sends no log lines to the management server, so the agent sends its stdout, too. */
const isCustomBuild = ({ server }: Actual): boolean =>
  server.running !== null && versionOf(server.running).startsWith('customURL');

/** The loops that send stored lines and the observed state. */
export function reportLoops(
  of: Link & { spool: Spool; time: DeviceTime; sinceOf: (noted: number) => number | undefined },
  self: Self,
  signal: AbortSignal,
): readonly NamedLoop[] {
  const { spool, time, sinceOf, ...link } = of;
  const { cloud, isReached, conditions, network, clock, local, random } = link;
  const sending = { cloud, hostname: self.host.hostname, time, isReached, clock, local, random };
  return [
    { name: 'send', work: sendLines(spool, sending, signal) },
    { name: 'report', work: report({ ...link, self, sinceOf, log: local, passes: link.log }, signal) },
    { name: 'fallback', work: watchFallback({ network, conditions, clock }, signal) },
  ];
}

export async function eachChange(cell: Cell<unknown>, f: () => void, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    f();
    await cell.changed(signal);
  }
}
