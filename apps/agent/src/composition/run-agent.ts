import type { Transport } from '@connectrpc/connect';
import type { MachineCredentials } from '@platform/contract/machine';
import { resolveAgentConfig } from '@platform/contract/agent-config';
import { Cell, errorText, type Clock, type Log, type Sink } from '@platform/kit';
import type { AgentView } from '../control/view.ts';
import { superviseServer } from '../server/process.ts';
import { environmentMark, readRecord } from '../server/record.ts';
import { stderrFile, stdoutFile } from '../server/watch.ts';
import { linesFile } from '../os/relay-places.ts';
import { openApplied } from '../config/applied.ts';
import { holdFirstStart } from '../server/first-start.ts';
import type { Leave } from '../versions/managed-programs.ts';
import { openUpdates } from '../versions/updates.ts';
import type { Device, Disk } from '../os/ports.ts';
import type { RequestTrace } from '../os/request-trace.ts';
import { memoryLimits, initialHealth, notifyStatus, watchdog, type AgentHealth } from '../health/watchdog.ts';
import { noSupervisor, type Supervisor } from '../os/supervisor.ts';
import { HangDetector, watchedDevice } from '../health/hang-detector.ts';
import { settingsOf } from '../state/settings.ts';
import { nothingYet, type Actual, type Wanted } from '../state/state.ts';
import type { OwnLayers } from '../config/config-receiver.ts';
import { noRunHistory, type RunHistory, type PreviousRun } from '../health/previous-run.ts';
import { openSync } from './open-sync.ts';
import type { Self } from '../link/request.ts';
import type { HeardTime } from '../clock/device-time.ts';
import { checksum } from '../storage/checksum.ts';
import type { ConditionSet } from '../health/condition-set.ts';
import type { Fetcher, Patches } from '../versions/ports.ts';
import type { Trust } from '../versions/trust/trust.ts';
import { unitRenewal, type UnitPlace } from '../versions/unit-renewal.ts';

export interface AgentParts {
  device: Device;
  transport: Transport;
  /** Receives the management server's time with each answer; left out: that time is not used. */
  heardTime?: Cell<HeardTime | undefined>;
  /** Trace of the requests of `device` and `transport`; left out: they are not logged. */
  trace?: RequestTrace;
  /** Information about the previous agent; left out: none. */
  runHistory?: RunHistory;
  /** A time that is certainly in the past, ms since 1970; left out: not passed on. */
  timeFloor?: () => number;
  /** See machineEnvironment.certificateAuthority. */
  authorityFile?: string;
  credentials: MachineCredentials;
  /** Conditions found before; left out: none. */
  conditions?: ConditionSet;
  /** Passed to the machine server. */
  credentialsFile: string;
  root: string;
  layers: OwnLayers;
  version: string;
  /** Id of the version in bin/ that this process runs; left out: none, and it is never replaced. */
  selfId?: string | undefined;
  /** Verifies releases; left out: any file that the management server names is used. */
  trust?: Trust;
  /** The systemd unit of this agent; left out: there is none that the agent may change. */
  unitPlace?: UnitPlace | undefined;
  patches?: Patches;
  /** Downloads releases; left out: this process does it. */
  fetcher?: Fetcher;
  clock: Clock;
  /** Local log. Lines for the management server are written here, too. */
  sink: Sink;
  random: () => number;
  newId: () => string;
  /** The supervisor that expects liveness notifications; left out: none. */
  supervisor?: Supervisor;
  /** Results of the agent's health check so far, for other readers. */
  health?: Cell<AgentHealth>;
  /** Memory of this process in bytes; left out: not watched. */
  ownMemory?: () => number | undefined;
  /** Left out: the limit of the built program. */
  memoryLimitBytes?: number;
  /** Serves the status and takes commands of operators on this machine, until the signal. */
  control?: (view: AgentView, parts: { disk: Disk; clock: Clock; log: Log }, signal: AbortSignal) => Promise<void>;
}

/**
 * `stopped`: by the signal, together with the machine server. Else bin/ links to another version, which adopts the
 * server.
 */
export type Ending = 'stopped' | Leave;

/**
 * Runs the whole agent. It returns after `signal`, once the machine server has stopped and the last lines are sent or
 * stored. It also returns when another version has to take over. Loops share cells only, such as `wanted` and `actual`;
 * none waits for another.
 *
 * @throws the error of a loop that failed
 */
export async function runAgent(parts: AgentParts, signal: AbortSignal): Promise<Ending> {
  const { clock, credentials, random, sink } = parts;
  const layers = { ...parts.layers, platform: parts.device.host.platform };
  const hangDetector = new HangDetector(clock);
  const device = watchedDevice(parts.device, hangDetector);
  const wanted = new Cell<Wanted>(wantedBefore(layers));
  const actual = new Cell<Actual>(nothingYet);
  const restarts = new Cell(0);
  const mayStart = new Cell(false);
  const isReached = new Cell(false);
  const conditions: ConditionSet = parts.conditions ?? new Cell([]);

  const { bootId, previousRun } = parts.runHistory ?? noRunHistory;
  let asked: Promise<PreviousRun> | undefined;
  const runHistory: RunHistory = { bootId, previousRun: () => (asked ??= previousRun()) };
  const sync = await openSync({
    device,
    transport: parts.transport,
    heardTime: parts.heardTime ?? new Cell<HeardTime | undefined>(undefined),
    version: parts.version,
    runHistory,
    credentials,
    layers,
    wanted,
    actual,
    restarts,
    isReached,
    conditions,
    clock,
    sink,
    random,
    newId: parts.newId,
  });
  const { log, spool } = sync;
  // Log the requests that send log lines locally only: otherwise each would create more lines.
  parts.trace?.listen((path) => (path.endsWith('/Log') ? sync.local : log));
  const self: Self = {
    partId: credentials.partId,
    agentVersion: parts.version,
    startedAt: clock.now(),
    host: device.host,
  };
  log.info('platform agent started', {
    version: parts.version,
    part: credentials.partId,
    cloud: credentials.appAddress,
    isSupervisedBySystemd: device.host.isSupervisedBySystemd,
  });

  const broken = new AbortController(); // a loop that throws ends the process; the supervisor restarts it
  const handover = new AbortController();
  const ending: { how: Ending } = { how: 'stopped' };
  const early = AbortSignal.any([signal, broken.signal, handover.signal]);
  const lateStop = new AbortController();
  const late = lateStop.signal;
  const loop = async (name: string, work: Promise<void>): Promise<void> => {
    try {
      await work;
    } catch (error) {
      log.error('a part of the agent failed', { loop: name, error });
      if (!broken.signal.aborted) broken.abort(error);
    }
  };

  const leave = (how: Leave): void => {
    ending.how = how;
    handover.abort(new Error(how === 'handover' ? 'a new version takes over' : 'the version before takes over'));
  };
  const health = parts.health ?? new Cell(initialHealth);
  const { trust, patches, fetcher, selfId = null } = parts;
  const unit = parts.unitPlace && unitRenewal(device.files, parts.unitPlace, conditions, log.child('unit'));
  const updates = await openUpdates({
    device,
    selfId,
    version: parts.version,
    startedAt: self.startedAt,
    wanted,
    actual,
    restarts,
    health: health,
    isReached,
    trust,
    patches,
    fetcher,
    previousRun: runHistory.previousRun,
    crashed: sync.crashed,
    mask: sync.mask,
    unit,
    leave,
    clock,
    timedClock: sync.clock,
    log,
    random,
  });
  const actor = { platform: device.host.platform, isReplaceable: selfId !== null, markOf: environmentMark };
  const trackApplied = await openApplied({ wanted, actual, actor, disk: device.disk, clock: sync.clock, log });
  const view: AgentView = {
    self,
    appAddress: credentials.appAddress,
    root: parts.root,
    wanted,
    actual,
    isReached,
    spool,
    conditions,
    sinceOf: sync.sinceOf,
    operator: updates.operator,
    handOver: () => leave('handover'),
  };
  const control = parts.control?.(view, { disk: device.disk, clock: sync.clock, log: log.child('control') }, late);
  const stdoutBegin = async () => (await readRecord(device.disk))?.from;
  const outputs = { stdoutFile, stderrFile, linesFile, stdoutBegin };
  const lateLoops = [
    ...(control ? [loop('control', control)] : []),
    ...sync.sendLoops(self, outputs, late).map(({ name, work }) => loop(name, work)),
  ];
  const earlyLoops = [
    ...sync.requestLoops(self, early).map(({ name, work }) => loop(name, work)),
    loop('hold', holdFirstStart({ wanted, actual, mayStart, clock, log }, early)),
    ...updates.loops(early).map(({ name, work }) => loop(name, work)),
  ];
  lateLoops.push(loop('applied', trackApplied(late)));
  const isSupervising = new Cell(false);
  const watching = { supervisor: parts.supervisor ?? noSupervisor, hangDetector, health, actual, isSupervising };
  signal.addEventListener('abort', () => watching.supervisor.notify('STOPPING=1'), { once: true });
  lateLoops.push(
    loop(
      'watchdog',
      watchdog(
        {
          ...watching,
          ownMemory: parts.ownMemory ?? (() => undefined),
          memoryLimitBytes: parts.memoryLimitBytes ?? memoryLimits.built,
          clock,
          log,
        },
        late,
      ),
    ),
    loop('status', notifyStatus(watching, late)),
  );
  const { credentialsFile, root } = parts;
  const credentialsMark = checksum(new TextEncoder().encode(JSON.stringify(credentials)));
  await loop(
    'server',
    superviseServer(
      {
        device,
        clock: sync.clock,
        log: log.child('server'),
        wanted,
        actual,
        restarts,
        mayStart,
        credentialsFile,
        credentialsMark,
        ...(parts.timeFloor && { timeFloor: parts.timeFloor }),
        ...(parts.authorityFile !== undefined && { authorityFile: parts.authorityFile }),
        root,
        beginStart: updates.beginStart,
        endedAsAsked: () => updates.interrupted('server'),
        exited: updates.serverExited,
        mask: sync.mask,
        linked: updates.linked,
        isSupervising,
        // An agent that fails or is replaced leaves a working server running.
        leave: AbortSignal.any([broken.signal, handover.signal]),
      },
      signal,
    ),
  );
  await Promise.all(earlyLoops);
  // An agent that never became ready may have been stopped for that, so its start counts.
  if (ending.how === 'stopped' && !broken.signal.aborted && health.get().isReady) await updates.interrupted('both');
  log.info('platform agent ends', {
    because: errorText(early.reason),
  });
  await sync.drained();
  lateStop.abort();
  await Promise.all(lateLoops);
  await sync.close();
  if (broken.signal.aborted) throw broken.signal.reason;
  return ending.how;
}

/** Before the first answer of the management server: the defaults and the local layers of this machine. */
function wantedBefore(layers: OwnLayers): Wanted {
  const { config } = resolveAgentConfig({ commandLine: layers.commandLine, manufacturer: layers.manufacturer });
  return {
    revision: 0,
    settings: settingsOf(config, layers),
    corrections: [],
    ineffective: [],
    versions: { agent: '', server: '' },
    server: undefined,
    agent: undefined,
    clearance: 0,
    isFresh: false,
  };
}
