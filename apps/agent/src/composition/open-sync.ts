import type { Transport } from '@connectrpc/connect';
import { shortestSecret } from '@platform/contract/config-secrets';
import type { MachineCredentials } from '@platform/contract/machine';
import { Cell, createLog, WallHistory, type Clock, type Level, type Log, type LogLine, type Sink } from '@platform/kit';
import type { Device, Position } from '../os/ports.ts';
import { versionOf, type Actual, type Wanted } from '../state/state.ts';
import { connectCloud, type Cloud } from '../link/cloud.ts';
import { DebugBudget } from '../logs/debug-budget.ts';
import { Floods } from '../logs/floods.ts';
import { parseHandedOver } from '../logs/handed-over.ts';
import { SpoolWriter } from '../logs/spool-writer.ts';
import { Intake, type OwnLayers } from '../config/intake.ts';
import { beginRun, type Afterlife } from '../health/last-run.ts';
import { sendLines, storeLines } from '../logs/upload.ts';
import { Mask } from '../logs/mask.ts';
import { followOutput, type Output } from '../logs/output.ts';
import { poll, pollRestart, tellConnection, type RestartNews } from '../link/poll.ts';
import { report } from '../link/report.ts';
import { requestOf, type Self } from '../link/request.ts';
import { Spool, standardSpoolLimits } from '../logs/spool.ts';
import { DeviceTime, type HeardTime } from '../clock/device-time.ts';
import { setTrouble, type Troubles } from '../health/troubles.ts';

export interface SyncParts {
  device: Device;
  transport: Transport;
  /** Undefined: the management server has not sent its time yet. */
  heardTime: Cell<HeardTime | undefined>;
  credentials: MachineCredentials;
  version: string;
  afterlife: Afterlife;
  layers: OwnLayers;
  wanted: Cell<Wanted>;
  actual: Cell<Actual>;
  restarts: Cell<number>;
  isReached: Cell<boolean>;
  troubles: Troubles;
  clock: Clock;
  /** Receives the lines that stay on this machine and a copy of all others. */
  sink: Sink;
  random: () => number;
  newId: () => string;
}

/** Everything between this machine and the management server. */
export interface Sync {
  /** The agent's log: stored here and sent to the management server. */
  log: Log;
  /** Lines about the connection stay here: sending one would create more of them. */
  local: Log;
  spool: Spool;
  cloud: Cloud;
  time: DeviceTime;
  /** The clock with the best known time. */
  clock: Clock;
  /** Corrects a time noted with `clock` if the clock was set since; undefined: unknown. */
  sinceOf: (noted: number) => number | undefined;
  /** Loops that request from the management server. They end with the early signal. */
  asking(self: Self, signal: AbortSignal): readonly NamedLoop[];
  /** Loops that send. They end after all loops that produce lines. */
  telling(self: Self, outputs: Outputs, signal: AbortSignal): readonly NamedLoop[];
  /** Masks secrets in texts. */
  mask: (text: string) => string;
  /** Version of the previous agent if it crashed; undefined: it did not. */
  crashed: string | undefined;
  /** Waits up to 3 s until the last lines are sent, if the management server is reachable. */
  drained(): Promise<void>;
  /** Saves the spool, the time and the end of this run. */
  close(): Promise<void>;
}

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

const drainMs = 3_000;

/** Opens the spool and loads what an earlier run left: configuration, time, unsent lines. */
export async function openSync(parts: SyncParts): Promise<Sync> {
  const { device, wanted, actual, restarts, isReached, troubles, layers, sink, random } = parts;
  const level = new Cell<Level>('info');
  const budget = new DebugBudget();
  const within =
    (write: Sink): Sink =>
    (line) => {
      for (const one of budget.take(line, parts.clock.now())) write(one);
    };
  const local = createLog({ name: 'agent.local', clock: parts.clock, level, sink: within(sink) });
  const time = new DeviceTime({ disk: device.disk, clock: parts.clock, troubles, log: local, run: parts.newId() });
  await time.load();
  const clock: Clock = {
    now: () => parts.clock.now(),
    wall: () => time.wall(),
    sleep: (ms, signal) => parts.clock.sleep(ms, signal),
  };
  const history = new WallHistory(clock);
  const sinceOf = (noted: number): number | undefined => history.since(noted);
  const spool = await Spool.open(device.disk, standardSpoolLimits, parts.newId);
  const mask = new Mask();
  const writer = new SpoolWriter({ spool, mask, time, clock });
  const enter = (line: LogLine): void => {
    sink(mask.line(line));
    void writer.enter(line);
  };
  const log = createLog({ name: 'agent', clock, level, sink: within(enter) });
  const ownSecrets = [parts.credentials.payload].filter((secret) => secret.length >= shortestSecret);
  /** Includes the secrets of the previous configuration: programs may still log them. */
  const secrets = { now: [] as readonly string[], before: [] as readonly string[] };
  const hide = (now: readonly string[]): void => {
    Object.assign(secrets, { now, before: secrets.now });
    const all = new Set([...ownSecrets, ...secrets.now, ...secrets.before]);
    mask.hide([...all].toSorted((a, b) => b.length - a.length));
  };
  hide([]);
  const intake = new Intake({ disk: device.disk, wanted, layers, troubles, hide, log: log.child('config') });
  await intake.loadCache();
  const follow = (): void => {
    const { settings, revision } = wanted.get();
    level.set(settings.debug ? 'debug' : 'info');
    writer.setFolding(!settings.isFoldingOff && !settings.debug);
    if (actual.get().acted.settings !== revision)
      actual.update((a) => ({ ...a, acted: { ...a.acted, settings: revision } }));
  };
  follow();
  if (spool.problems.length > 0) tellDamage(spool.problems, troubles, log, clock);
  const run = await beginRun(parts.version, { disk: device.disk, afterlife: parts.afterlife, clock, log });
  const cloud = connectCloud(parts.transport, parts.credentials, clock, isReached, troubles);

  const asking: Sync['asking'] = (self, signal) => {
    const news = new Cell<RestartNews | undefined>(undefined);
    const request = () => requestOf(self, actual.get(), clock.now());
    return [
      { name: 'settings', work: eachChange(wanted, follow, signal) },
      {
        name: 'poll',
        work: poll({ cloud, intake, request, isReached, news, clock, log: local, passes: log, random }, signal),
      },
      {
        name: 'restart',
        work: pollRestart(
          { cloud, restarts, actual, isReached, news, clock, log: log.child('restart'), random },
          signal,
        ),
      },
      { name: 'connection', work: tellConnection(isReached, { troubles, clock, log }, signal) },
    ];
  };
  const telling: Sync['telling'] = (self, { stdoutFile, stderrFile, linesFile, stdoutBegin }, signal) => {
    const isCustom = new Cell(isCustomBuild(actual.get()));
    const wall = () => time.wall();
    const floods = new Floods({ troubles, clock });
    const follower = { device, spool, writer, floods, wall, clock, local };
    const stderr: Output = {
      source: 'stderr',
      file: stderrFile,
      logger: 'platform-server.StdErr',
      level: 'warn',
    };
    const stdout: Output = {
      source: 'stdout',
      file: stdoutFile,
      logger: 'platform-server.StdOut',
      level: 'info',
      isSent: isCustom,
      begin: stdoutBegin,
    };
    const lines: Output = {
      source: 'lines',
      file: linesFile,
      logger: 'platform-server',
      level: 'info',
      parse: parseHandedOver,
    };
    const host = self.host.hostname;
    return [
      { name: 'store', work: storeLines(spool, { troubles, clock, local }, signal) },
      { name: 'fold', work: writer.run(signal) },
      { name: 'custom', work: eachChange(actual, () => isCustom.set(isCustomBuild(actual.get())), signal) },
      { name: 'stderr', work: followOutput(stderr, follower, signal) },
      { name: 'stdout', work: followOutput(stdout, follower, signal) },
      { name: 'lines', work: followOutput(lines, follower, signal) },
      { name: 'floods', work: floods.run(signal) },
      { name: 'send', work: sendLines(spool, { cloud, host, time, isReached, clock, local, random }, signal) },
      {
        name: 'report',
        work: report(
          { cloud, intake, self, wanted, actual, troubles, sinceOf, isReached, clock, log: local, passes: log, random },
          signal,
        ),
      },
      { name: 'time', work: time.run(signal) },
      { name: 'heard', work: eachChange(parts.heardTime, hearTime, signal) },
    ];
  };
  const hearTime = (): void => {
    const heard = parts.heardTime.get();
    if (heard) time.heard(heard);
    history.observe();
  };
  const drained = async (): Promise<void> => {
    const end = clock.now() + drainMs;
    while (clock.now() < end) {
      const isEmpty = spool.isIdle && (await spool.next(1).catch(() => [])).length === 0;
      if (isEmpty || (!isReached.get() && spool.isIdle)) return;
      await clock.sleep(100);
    }
  };
  const close = async (): Promise<void> => {
    await spool.flush().catch(() => {});
    await spool.saveState().catch(() => {});
    await time.save();
    await run.end();
  };
  const { crashed } = run;
  return {
    log,
    local,
    spool,
    cloud,
    time,
    clock,
    sinceOf,
    asking,
    telling,
    drained,
    close,
    crashed,
    mask: (text) => mask.text(text),
  };
}

/** A custom build sends no log lines to the management server, so the agent sends its stdout, too. */
const isCustomBuild = ({ server }: Actual): boolean =>
  server.running !== null && versionOf(server.running).startsWith('customURL');

function tellDamage(problems: readonly string[], troubles: Troubles, log: Log, clock: Clock): void {
  log.warn('stored log lines are damaged; some may be lost', { problems });
  setTrouble(troubles, {
    code: 'LOGS_DAMAGED',
    severity: 'warning',
    message: `Stored log lines could not all be read: ${problems[0]}${problems.length > 1 ? ` and ${problems.length - 1} more` : ''}.`,
    remedy: 'Nothing: what can be read is sent. If it comes back, check the disk.',
    sinceWall: clock.wall(),
  });
}

async function eachChange(cell: Cell<unknown>, f: () => void, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    f();
    await cell.changed(signal);
  }
}
