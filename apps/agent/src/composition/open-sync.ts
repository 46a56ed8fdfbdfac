import { shortestSecret } from '@platform/contract/config/secrets';
import type { MachineCredentials } from '@platform/contract/machine-server/machine-server';
import { Cell, createLog, WallHistory, type Clock, type Level, type Log, type Sink } from '@platform/kit';
import type { BootReason, Device } from '../os/ports.ts';
import { contentOf, isSameConfig, noContent, type Actual, type Wanted } from '../state/state.ts';
import { connectCloud, type Cloud } from '../link/cloud.ts';
import { DebugBudget } from '../logs/debug-budget.ts';
import { SpoolWriter } from '../logs/spool-writer.ts';
import { ConfigReceiver } from '../config/config-receiver.ts';
import { beginRun, type RunHistory } from '../health/previous-run.ts';
import { Mask } from '../logs/mask.ts';
import type { Self } from '../link/request.ts';
import { SampleSender } from '../samples/sample-sender.ts';
import { SampleSpool } from '../samples/sample-spool.ts';
import { takeSamples } from '../samples/take-samples.ts';
import { Spool, standardSpoolLimits } from '../logs/spool.ts';
import { DeviceTime, type HeardTime } from '../clock/device-time.ts';
import { setCondition, type ConditionSet } from '../health/condition-set.ts';
import type { AgentParts, Shared } from './run-agent.ts';
import { eachChange, lineLoops, reportLoops, requestLoops, type NamedLoop, type Outputs } from './sync-loops.ts';

type FromAgent = 'device' | 'transport' | 'credentials' | 'refused' | 'runId' | 'split' | 'version' | 'layers';
type FromShared = 'wanted' | 'actual' | 'restarts' | 'isReached' | 'conditions' | 'network' | 'systemStatus';

interface SyncParts
  extends
    Pick<AgentParts, FromAgent | 'clock' | 'sink' | 'random' | 'newId'>,
    Pick<Shared, FromShared | 'mask' | 'lines'> {
  /** Undefined: the management server has not sent its time yet. */
  heardTime: Cell<HeardTime | undefined>;
  runHistory: RunHistory;
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
  requestLoops(self: Self, signal: AbortSignal): readonly NamedLoop[];
  /** Loops that send. They end after all loops that produce lines. */
  sendLoops(self: Self, outputs: Outputs, signal: AbortSignal): readonly NamedLoop[];
  /** Masks secrets in texts. */
  mask: (text: string) => string;
  /** Version of the previous agent if it crashed; undefined: it did not. */
  crashed: string | undefined;
  /** Waits up to 3 s until the last lines are sent, if the management server is reachable. */
  drained(): Promise<void>;
  /** Saves the spool, the time and the end of this run. */
  close(): Promise<void>;
}

/** Opens the spool and loads what an earlier run left: configuration, time, unsent lines. */
export async function openSync(parts: SyncParts): Promise<Sync> {
  const { device, wanted, actual, isReached, conditions, layers, mask } = parts;
  const level = new Cell<Level>('info');
  const withinBudget = limitDebugLines(parts.clock);
  const local = createLog({ name: 'agent.local', clock: parts.clock, level, sink: withinBudget(parts.sink) });
  const time = new DeviceTime({ disk: device.disk, clock: parts.clock, conditions, log: local, run: parts.newId() });
  await time.load();
  const clock = deviceClock(parts.clock, time);
  const history = new WallHistory(clock);
  const spool = await Spool.open(device.disk, standardSpoolLimits, parts.newId);
  const writer = new SpoolWriter({ spool, mask, time, clock });
  const enter = maskedSink(parts.sink, mask, (line) => void writer.enter(line));
  const log = createLog({ name: 'agent', clock, level, sink: withinBudget(enter) });
  const hide = hideSecrets(mask, parts.credentials);
  const disk = device.disk;
  const configReceiver = new ConfigReceiver({ disk, wanted, layers, conditions, hide, log: log.child('config') });
  await configReceiver.loadCache();
  const applySettings = settingsApplier({ wanted, actual, level, writer });
  applySettings();
  if (spool.problems.length > 0) reportDamage(spool.problems, conditions, log, clock);
  const run = await beginRun(parts.version, { ...device, runHistory: parts.runHistory, clock, log });
  const asked = new Cell(0);
  const cloud = connectCloud(parts.transport, parts.credentials, clock, observersOf(parts, asked));
  parts.lines.set(enter);
  const sinceOf = (noted: number): number | undefined => history.since(noted);
  const samples = await openSamples(device, { run: parts.newId(), time, clock });
  const shared = { cloud, configReceiver, asked, clock, log, local };
  const link = { ...parts, ...shared, hostFacts: factsOf(device, run.bootReason), samples: samples.sender };
  return {
    log,
    local,
    spool,
    cloud,
    time,
    clock,
    sinceOf,
    requestLoops: (self, signal) => [
      { name: 'settings', work: eachChange(wanted, applySettings, signal) },
      ...requestLoops(link, self, signal),
    ],
    sendLoops: (self, outputs, signal) => [
      ...lineLoops({ ...link, spool, writer, time }, outputs, signal),
      ...reportLoops({ ...link, spool, time, sinceOf }, self, signal),
      { name: 'time', work: time.run(signal) },
      ...samples.loops(signal),
      { name: 'heard', work: eachChange(parts.heardTime, () => useHeardTime(parts.heardTime, time, history), signal) },
    ],
    drained: () => drained(spool, isReached, clock),
    async close() {
      parts.lines.set(undefined);
      await spool.flush().catch(() => {});
      await spool.saveState().catch(() => {});
      await time.save();
      await run.end();
    },
    crashed: run.crashed,
    mask: (text) => mask.text(text),
  };
}

/** What follows from the calls; `asked` counts how often the server asked for the report. */
function observersOf(parts: SyncParts, asked: Cell<number>) {
  const { isReached, conditions, refused = () => {}, runId, split = () => {} } = parts;
  const personal = { split, sendReport: () => asked.update((count) => count + 1) };
  return { isReached, conditions, refused, runId, personal };
}

const limitDebugLines = (clock: Clock): ((write: Sink) => Sink) => {
  const budget = new DebugBudget();
  return (write) => (line) => {
    for (const one of budget.take(line, clock.now())) write(one);
  };
};

/** The loop that takes samples, and what sends them. Neither, where the platform does not report what it uses. */
async function openSamples(
  { disk, usage }: Device,
  { run, time, clock }: { run: string; time: DeviceTime; clock: Clock },
): Promise<{ sender: SampleSender | undefined; loops(signal: AbortSignal): readonly NamedLoop[] }> {
  if (!usage) return { sender: undefined, loops: () => [] };
  const spool = await SampleSpool.open(disk, run);
  return {
    sender: new SampleSender({ spool, time, clock }),
    loops: (signal) => [{ name: 'samples', work: takeSamples({ usage, spool, time, clock }, signal) }],
  };
}

/** The same clock with the best known time. */
const deviceClock = (clock: Clock, time: DeviceTime): Clock => ({
  now: () => clock.now(),
  wall: () => time.wall(),
  sleep: (ms, signal) => clock.sleep(ms, signal),
});

const maskedSink =
  (sink: Sink, mask: Mask, stored: Sink): Sink =>
  (line) => {
    sink(mask.line(line));
    stored(line); // masked when it is stored
  };

/** The returned function masks the secrets of a new configuration. */
function hideSecrets(mask: Mask, { payload }: MachineCredentials): (secrets: readonly string[]) => void {
  const own = [payload].filter((secret) => secret.length >= shortestSecret);
  let current: readonly string[] = [];
  const hide = (next: readonly string[]): void => {
    // Programs may still log the secrets of the previous configuration.
    const all = new Set([...own, ...next, ...current]);
    current = next;
    mask.hide([...all].toSorted((a, b) => b.length - a.length));
  };
  hide([]);
  return hide;
}

const settingsApplier =
  ({
    wanted,
    actual,
    level,
    writer,
  }: {
    wanted: Cell<Wanted>;
    actual: Cell<Actual>;
    level: Cell<Level>;
    writer: SpoolWriter;
  }) =>
  (): void => {
    const content = contentOf(wanted.get());
    const { settings } = wanted.get();
    level.set(settings.debug ? 'debug' : 'info');
    writer.setDeduplication(!settings.isDeduplicationOff && !settings.debug);
    if (!isSameConfig(actual.get().acted.settings ?? noContent, content))
      actual.update((a) => ({ ...a, acted: { ...a.acted, settings: content } }));
  };

function useHeardTime(heardTime: Cell<HeardTime | undefined>, time: DeviceTime, history: WallHistory): void {
  const heard = heardTime.get();
  if (heard) time.heard(heard);
  history.observe();
}

const drainMs = 3_000;

function factsOf({ hostFacts }: Device, bootReason: BootReason | undefined): Device['hostFacts'] {
  return hostFacts && (async () => ({ ...(await hostFacts()), ...(bootReason && { bootReason }) }));
}

async function drained(spool: Spool, isReached: Cell<boolean>, clock: Clock): Promise<void> {
  const end = clock.now() + drainMs;
  while (clock.now() < end) {
    const isEmpty = spool.isIdle && (await spool.next(1).catch(() => [])).length === 0;
    if (isEmpty || (!isReached.get() && spool.isIdle)) return;
    await clock.sleep(100);
  }
}

function reportDamage(problems: readonly string[], conditions: ConditionSet, log: Log, clock: Clock): void {
  log.warn('stored log lines are damaged; some may be lost', { problems });
  const more = problems.length > 1 ? problems.length - 1 : undefined;
  setCondition(conditions, 'LOGS_DAMAGED', { problem: problems[0] ?? '', more }, { sinceWall: clock.wall() });
}
