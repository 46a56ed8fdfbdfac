import { actedOn } from '@platform/contract/config/effect';
import type { Transport } from '@connectrpc/connect';
import { reportedDefaults } from '@platform/contract/config/device-defaults';
import type { MachineCredentials } from '@platform/contract/machine-server/machine-server';
import { Cell, createLog, errorText, type Log, type Sink } from '@platform/kit';
import type { AgentView } from '../control/view.ts';
import { superviseServer, type ServerProcessParts } from '../server/process.ts';
import { environmentMark, readRecord } from '../server/record.ts';
import { stderrFile, stdoutFile } from '../server/watch.ts';
import { linesFile } from '../os/relay-places.ts';
import { openApplied } from '../config/applied.ts';
import { holdFirstStart } from '../server/first-start.ts';
import { systemRebootDecision } from '../versions/restart-decision.ts';
import type { MaintenanceClock } from '../versions/reconciler-state.ts';
import { openUpdates, type Updates } from '../versions/updates.ts';
import type { Device } from '../os/ports.ts';
import type { RequestTrace } from '../os/request-trace.ts';
import { memoryLimits, initialHealth, notifyStatus, watchdog, type AgentHealth } from '../health/watchdog.ts';
import { noSupervisor, type Supervisor } from '../os/supervisor.ts';
import { HangDetector, watchedDevice } from '../health/hang-detector.ts';
import { contentOf, noContent, nothingYet, type Actual, type Wanted } from '../state/state.ts';
import { wantedBefore, type OwnLayers } from '../config/config-receiver.ts';
import { noRunHistory, type RunHistory, type PreviousRun } from '../health/previous-run.ts';
import { agentLifetime, type Ending, type Lifetime } from './lifetime.ts';
import { openSync, type Sync } from './open-sync.ts';
import { claimState } from './state-owner.ts';
import { watchFileSystem } from '../health/file-system-conditions.ts';
import { eachChange, type NamedLoop } from './sync-loops.ts';
import type { Self } from '../link/request.ts';
import type { HeardTime } from '../clock/device-time.ts';
import { carryOutOrders, knownOrders, type OrderActions } from '../link/orders.ts';
import { markOf } from '../link/credentials.ts';
import type { NetworksApplied } from '../network/profiles/additional-networks.ts';
import { waitingText } from '../network/views/status-of.ts';
import { noteNetworksIn } from '../network/rows/network-effect.ts';
import type { NetworkStatus } from '../network/rows/network-status.ts';
import { rebootForUpgrades } from '../system/reboot.ts';
import type { SystemApplied } from '../system/keep.ts';
import type { SystemStatus } from '../system/system-status.ts';
import { Mask } from '../logs/mask.ts';
import type { ConditionSet } from '../health/condition-set.ts';
import type { Fetcher, Patches } from '../versions/fetch-ports.ts';
import type { Trust } from '../versions/trust/trust.ts';
import { unitRenewal, type UnitPlace } from '../versions/unit-renewal.ts';
import type { Context } from '../health/context.ts';

export interface AgentParts extends Pick<Context, 'device' | 'root' | 'clock' | 'random'> {
  transport: Transport;
  /** Receives the management server's time with each answer; left out: that time is not used. */
  heardTime?: Cell<HeardTime | undefined>;
  /** Trace of the requests of `device` and `transport`; left out: they are not logged. */
  trace?: RequestTrace;
  /** Start of this process, monotonic ms; left out: now. */
  startedAt?: number;
  /** Information about the previous agent; left out: none. */
  runHistory?: RunHistory;
  /** A time that is certainly in the past, ms since 1970; left out: not passed on. */
  timeFloor?: () => number;
  /** See machineEnvironment.certificateAuthority. */
  authorityFile?: string;
  credentials: MachineCredentials;
  /** Receives whether the management server refuses them; left out: not used. */
  refused?: (isRefused: boolean) => void;
  /** Identifies this run of the agent, 16 bytes; left out: the management server gets none. */
  runId?: Uint8Array;
  /** Receives a set-up code by which this computer becomes another machine; left out: not used. */
  split?: (code: string) => void;
  /** Aborts when the machine has other credentials: this run ends, and the machine server keeps running. */
  replaced?: AbortSignal;
  /** What outlives this run; left out: nothing does. */
  outer?: OuterCells;
  /** Conditions found before; left out: none. */
  conditions?: ConditionSet;
  /** Returns the file that is passed to the machine server. */
  credentialsFile: () => string;
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
  /** Local log. Lines for the management server are written here, too. */
  sink: Sink;
  newId: () => string;
  /** The supervisor that expects liveness notifications; left out: none. */
  supervisor?: Supervisor;
  /** Reboots this machine; left out: this agent may not. */
  reboot?: () => Promise<void>;
  /** Ends this process in good order, so that its supervisor starts the installed version; left out: nothing would start it. */
  restartSelf?: () => void;
  /** Results of the agent's health check so far, for other readers. */
  health?: Cell<AgentHealth>;
  /** Memory of this process in bytes; left out: not watched. */
  ownMemory?: () => number | undefined;
  /** Left out: the limit of the built program. */
  memoryLimitBytes?: number;
  /** Receives what the control socket shows and controls of this run; left out: not used. */
  control?: (view: AgentView) => void;
}

/** State that the always-on tasks of the agent share with each run of the linked tasks. */
export interface OuterCells {
  wanted: Cell<Wanted>;
  isReached: Cell<boolean>;
  /** The agent itself turned the radio into a hotspot, so a version on trial is not blamed for being offline. */
  isOfflineByHotspot: Cell<boolean>;
  /** Optional tasks that fail with this version of the agent, but not with the one before. */
  blamed: Cell<readonly string[]>;
  /** What the agent does with the network; undefined: nothing watches it. */
  network: Cell<NetworkStatus | undefined>;
  /** How far the additional networks are applied. */
  networks: Cell<NetworksApplied>;
  /** How far the system configuration is applied. */
  system: Cell<SystemApplied>;
  /** The packages of the operating system; undefined: not known, or it has no apt. */
  systemStatus: Cell<SystemStatus | undefined>;
  mask: Mask;
  /** Receives the lines of the always-on tasks; undefined: they are only logged locally. */
  lines: Cell<Sink | undefined>;
}

/** State that the loops share. */
export interface Shared extends OuterCells {
  actual: Cell<Actual>;
  /** Counts the requested restarts of the machine server. */
  restarts: Cell<number>;
  conditions: ConditionSet;
  health: Cell<AgentHealth>;
}

/**
 * Runs the whole agent. It returns after `signal`, once the machine server has stopped and the last lines are sent or
 * stored. It also returns when another version has to take over. Loops share cells only, such as `wanted` and `actual`;
 * none waits for another.
 *
 * @throws the error of a loop that failed
 */
export async function runAgent(parts: AgentParts, signal: AbortSignal): Promise<Ending> {
  const { credentials } = parts;
  const layers = layersOf(parts);
  const hangDetector = new HangDetector(parts.clock);
  const device = watchedDevice(parts.device, hangDetector);
  const shared = sharedState(parts, layers);
  const runHistory = readOnce(parts.runHistory ?? noRunHistory);
  const heardTime = parts.heardTime ?? new Cell<HeardTime | undefined>(undefined);
  const { partId } = credentials;
  await claimState({ device, partId, wanted: shared.wanted, layers, newId: parts.newId, log: localLog(parts) });
  const sync = await openSync({ ...parts, ...shared, device, layers, runHistory, heardTime });
  const { log } = sync;
  // Log the requests that send log lines locally only: otherwise each would create more lines.
  parts.trace?.listen((path) => (path.endsWith('/Log') ? sync.local : log));
  const self = {
    partId,
    agentVersion: parts.version,
    startedAt: parts.startedAt ?? parts.clock.now(),
    host: device.host,
    knownOrders: knownOrders(orderActions(parts)),
    deviceDefaults: deviceDefaultsOf(layers),
  };
  log.info('platform agent started', {
    version: parts.version,
    part: partId,
    cloud: credentials.appAddress,
    isSupervisedBySystemd: device.host.isSupervisedBySystemd,
  });

  const lifetime = agentLifetime(signal, log);
  leaveWhenReplaced(parts, lifetime);
  const opened = { device, shared, sync };
  const { previousRun } = runHistory;
  const updates = await versionUpdates(parts, opened, { previousRun, leave: lifetime.leave });
  const lateLoops = await lateLoopsOf(parts, opened, { self, updates, lifetime });
  const mayStart = new Cell(false);
  const isSupervising = new Cell(false);
  const earlyLoops = [
    ...sync.requestLoops(self, lifetime.early),
    { name: 'hold', work: holdFirstStart({ ...shared, mayStart, clock: parts.clock, log }, lifetime.early) },
    ...updates.loops(lifetime.early),
  ].map(lifetime.loop);
  const supervisor = parts.supervisor ?? noSupervisor;
  signal.addEventListener('abort', () => supervisor.notify('STOPPING=1'), { once: true });
  const watching = { supervisor, hangDetector, health: shared.health, actual: shared.actual, isSupervising };
  lateLoops.push(...livenessLoops(parts, watching, log, lifetime.late).map(lifetime.loop));
  const { leave, stop } = serverSignals(device, lifetime, signal);
  const server = serverParts(parts, opened, { updates, mayStart, isSupervising, leave });
  await lifetime.loop({ name: 'server', work: superviseServer(server, stop) });
  await Promise.all(earlyLoops);
  // An agent that never became ready may have been stopped for that, so its start counts.
  if (lifetime.isStopped && shared.health.get().isReady) await updates.interrupted('both');
  log.info('platform agent ends', { because: errorText(lifetime.early.reason) });
  await sync.drained();
  lifetime.finish();
  await Promise.all(lateLoops);
  await sync.close();
  lifetime.throwIfBroken();
  return lifetime.ending;
}

function sharedState({ outer, conditions, health }: AgentParts, layers: OwnLayers): Shared {
  const cells = outer ?? outerCells(layers);
  const { wanted, isReached, isOfflineByHotspot, blamed, network, networks, system, systemStatus, mask, lines } = cells;
  return {
    wanted,
    isReached,
    isOfflineByHotspot,
    blamed,
    network,
    networks,
    system,
    systemStatus,
    mask,
    lines,
    actual: new Cell<Actual>(nothingYet),
    restarts: new Cell(0),
    conditions: conditions ?? new Cell([]),
    health: health ?? new Cell(initialHealth),
  };
}

function leaveWhenReplaced({ replaced }: AgentParts, lifetime: Lifetime): void {
  replaced?.addEventListener('abort', () => lifetime.leave('credentials'), { once: true });
  if (replaced?.aborted) lifetime.leave('credentials');
}
const layersOf = ({ layers, device: { host } }: AgentParts): OwnLayers => ({
  ...layers,
  acting: { platform: host.platform, actsOn: actedOn(host.platform, host.abilities) },
});

/** The file is read once, when the agent starts. */
const deviceDefaultsOf = ({
  manufacturer,
  manufacturerFile = '',
  problem = '',
}: OwnLayers): NonNullable<Self['deviceDefaults']> => ({
  ...reportedDefaults(manufacturer),
  file: manufacturerFile,
  problem,
});

const localLog = ({ clock, sink }: AgentParts): Log => createLog({ name: 'agent', clock, level: 'info', sink });

/** Reads the end of the previous run once, for all that use it. */
function readOnce({ bootId, previousRun }: RunHistory): RunHistory {
  let found: Promise<PreviousRun> | undefined;
  return { bootId, previousRun: () => (found ??= previousRun()) };
}

/** What every part of a run uses. */
interface Opened {
  device: Device;
  shared: Shared;
  sync: Sync;
}

function versionUpdates(
  parts: AgentParts,
  { device, shared, sync }: Opened,
  { previousRun, leave }: Pick<RunHistory, 'previousRun'> & Pick<Lifetime, 'leave'>,
) {
  const { trust, patches, fetcher, selfId = null, unitPlace, version, clock, random } = parts;
  const { log } = sync;
  return openUpdates({
    ...shared,
    device,
    selfId,
    version,
    startedAt: clock.now(),
    trust,
    patches,
    fetcher,
    previousRun,
    crashed: sync.crashed,
    mask: sync.mask,
    unit: unitPlace && unitRenewal(device.files, unitPlace, shared.conditions, log.child('unit')),
    leave,
    clock,
    timedClock: sync.clock,
    maintenance: maintenanceClock(device, sync),
    log,
    random,
  });
}

const maintenanceClock = (device: Device, sync: Sync): MaintenanceClock => ({
  deviceZone: device.host.timeZone ?? (() => 'UTC'),
  isTimeKnown: () => sync.time.isKnown,
  sinceOf: sync.sinceOf,
});

/** Reboots for upgrades where this agent may. */
function rebootLoop({ reboot }: AgentParts, { device, shared, sync }: Opened, signal: AbortSignal): NamedLoop[] {
  if (!reboot) return [];
  const { wanted, actual, conditions, systemStatus: status } = shared;
  const { clock, log } = sync;
  const decide = (sinceWall: number) =>
    systemRebootDecision(wanted.get(), actual.get(), maintenanceClock(device, sync), clock.wall(), sinceWall);
  const { disk, fileSystem } = device;
  const rebooting = { status, wanted, decide, reboot, fileSystem, conditions, disk, clock, log };
  return [{ name: 'reboot', work: rebootForUpgrades(rebooting, signal) }];
}

/** Watches the file system of the agent's folder where the platform reports it. */
function fileSystemLoop(
  { root }: AgentParts,
  { device: { fileSystem }, shared, sync }: Opened,
  signal: AbortSignal,
): NamedLoop[] {
  if (!fileSystem) return [];
  const { actual, conditions } = shared;
  return [
    { name: 'file system', work: watchFileSystem({ root, fileSystem, actual, conditions, clock: sync.clock }, signal) },
  ];
}

const orderActions = ({ reboot, restartSelf }: AgentParts): OrderActions => ({ reboot, restartAgent: restartSelf });

/** Carries out what operators order. */
function orderLoop(parts: AgentParts, { device, shared, sync }: Opened, signal: AbortSignal): NamedLoop {
  const { wanted, actual } = shared;
  const { disk, host } = device;
  const of = {
    wanted,
    actual,
    actions: orderActions(parts),
    run: parts.runId ? Buffer.from(parts.runId).toString('hex') : parts.newId(),
    boot: host.bootId,
    disk,
    clock: sync.clock,
    log: sync.log.child('orders'),
  };
  return { name: 'orders', work: carryOutOrders(of, signal) };
}

/** Starts the loops that also report how the others end: commands of operators, log lines, reports. */
async function lateLoopsOf(
  parts: AgentParts,
  opened: Opened,
  { self, updates, lifetime }: { self: Self; updates: Updates; lifetime: Lifetime },
): Promise<Promise<void>[]> {
  const { device, shared, sync } = opened;
  const { log, clock, spool, sinceOf } = sync;
  const { disk } = device;
  const actor = {
    actsOn: actedOn(device.host.platform, device.host.abilities),
    isReplaceable: (parts.selfId ?? null) !== null,
    markOf: environmentMark,
  };
  const trackApplied = await openApplied({ ...shared, actor, disk, clock, log });
  const { wanted, actual, isReached, network, networks, system, systemStatus, conditions } = shared;
  const noteNetworks = (): void => noteNetworksIn(actual, networks.get(), network.get());
  const noteHotspot = (): void => {
    const hotspotWait = waitingText(network.get()?.hotspotWaiting);
    if (hotspotWait !== (actual.get().hotspotWait ?? '')) actual.update((a) => ({ ...a, hotspotWait }));
  };
  const noteSystem = (): void => {
    const applied = system.get();
    const acted = contentOf(applied);
    const { failure: systemFailure, upgradesDone } = applied;
    actual.update((a) => ({ ...a, acted: { ...a.acted, system: acted }, systemFailure, upgradesDone }));
  };
  const view: AgentView = {
    wanted,
    actual,
    isReached,
    network,
    systemStatus,
    conditions,
    self,
    appAddress: parts.credentials.appAddress,
    root: parts.root,
    spool,
    clock,
    sinceOf,
    operator: updates.operator,
    handOver: () => lifetime.leave('handover'),
  };
  parts.control?.(view);
  const stdoutBegin = async () => (await readRecord(disk))?.from;
  const outputs = { stdoutFile, stderrFile, linesFile, stdoutBegin };
  return [
    ...sync.sendLoops(self, outputs, lifetime.late),
    { name: 'applied', work: trackApplied(lifetime.late) },
    ...fileSystemLoop(parts, opened, lifetime.late),
    { name: 'networks', work: eachChange(networks, noteNetworks, lifetime.late) },
    { name: 'hotspot', work: eachChange(network, noteHotspot, lifetime.late) },
    { name: 'network rows', work: eachChange(network, noteNetworks, lifetime.late) },
    { name: 'system', work: eachChange(system, noteSystem, lifetime.late) },
    ...rebootLoop(parts, opened, lifetime.early),
    orderLoop(parts, opened, lifetime.early),
  ].map(lifetime.loop);
}

/** Starts the loops that notify the service manager that this agent works, and what it does. */
function livenessLoops(
  { ownMemory = () => undefined, memoryLimitBytes = memoryLimits.built, clock }: AgentParts,
  watching: Parameters<typeof notifyStatus>[0] &
    Omit<Parameters<typeof watchdog>[0], 'ownMemory' | 'memoryLimitBytes' | 'clock' | 'log'>,
  log: Log,
  signal: AbortSignal,
): NamedLoop[] {
  return [
    { name: 'watchdog', work: watchdog({ ...watching, ownMemory, memoryLimitBytes, clock, log }, signal) },
    { name: 'status', work: notifyStatus(watching, signal) },
  ];
}

/** A machine server that would end with its agent is stopped in good order first. */
const serverSignals = ({ runId }: Device, { left }: Lifetime, stopped: AbortSignal) =>
  runId === undefined
    ? { leave: left, stop: stopped }
    : { leave: new AbortController().signal, stop: AbortSignal.any([stopped, left]) };

/** @param leave - an agent that fails or is replaced leaves a working server running. */
function serverParts(
  { credentials, credentialsFile, root, timeFloor, authorityFile }: AgentParts,
  { device, shared, sync }: Opened,
  { updates, ...more }: Pick<ServerProcessParts, 'mayStart' | 'isSupervising' | 'leave'> & { updates: Updates },
): ServerProcessParts {
  return {
    ...shared,
    ...more,
    device,
    clock: sync.clock,
    log: sync.log.child('server'),
    credentialsFile,
    credentialsMark: markOf(credentials),
    ...(timeFloor && { timeFloor }),
    ...(authorityFile !== undefined && { authorityFile }),
    root,
    beginStart: updates.beginStart,
    endedAsAsked: () => updates.interrupted('server'),
    exited: updates.serverExited,
    mask: sync.mask,
    linked: updates.linked,
  };
}

export const outerCells = (layers: OwnLayers): OuterCells => ({
  wanted: new Cell(wantedBefore(layers)),
  isReached: new Cell(false),
  isOfflineByHotspot: new Cell(false),
  blamed: new Cell<readonly string[]>([]),
  network: new Cell<NetworkStatus | undefined>(undefined),
  networks: new Cell<NetworksApplied>({ ...noContent, failure: undefined }),
  system: new Cell<SystemApplied>({ ...noContent, failure: undefined }),
  systemStatus: new Cell<SystemStatus | undefined>(undefined),
  mask: new Mask(),
  lines: new Cell<Sink | undefined>(undefined),
});
