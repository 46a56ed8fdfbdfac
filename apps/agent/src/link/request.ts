import { serverStates, sliceStates, updateStates, bootReasons } from '@platform/contract/machine/program-states';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { durationFromMs, timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { DeviceAgentConfigRequestSchema } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { actedOn } from '@platform/contract/config/effect';
import {
  ConfigSlice,
  OrderKind as WireOrderKind,
  OrderState,
  Severity,
  type AgentReportSchema,
  type DeviceDefaultsSchema,
  type DiskFactsSchema,
  type HostFactsSchema,
  type SystemReportSchema,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { NetworkStatus } from '../network/rows/network-status.ts';
import type { Host, HostFacts, DiskFacts } from '../os/ports.ts';
import type { ServerKnowledge } from '@platform/contract/machine-server/resources';
import type { SystemStatus, PackageUpgrade } from '../system/system-status.ts';
import { networkReport } from './network-report.ts';
import type { RestartDecision } from '../state/may-restart.ts';
import { desiredId, shownDesired, shownOwn, shownVersion, type BuildUrls } from '../state/version-names.ts';
import {
  sliceNames,
  versionOf,
  type Actual,
  type ExitReport,
  type InstallStatus,
  type OrderKind,
  type OrderStatus,
  type Release,
  type SliceName,
  type SliceStatus,
  type Wanted,
} from '../state/state.ts';
import { deriveConditions, isAgentRestartNeeded, isRestartNeeded, type Condition } from '../health/conditions.ts';

export type RequestParts = ReturnType<typeof requestOf>;
type ReportParts = MessageInitShape<typeof AgentReportSchema>;

/** The sender. */
export interface Self {
  partId: string;
  agentVersion: string;
  /** ms of the monotonic clock. */
  startedAt: number;
  host: Host;
  /** What it can do when an operator orders it; left out: nothing. */
  knownOrders?: readonly OrderKind[];
  /** What its defaults file sets; left out: not known. */
  deviceDefaults?: MessageInitShape<typeof DeviceDefaultsSchema>;
}

const slices: Record<SliceName, ConfigSlice> = {
  settings: ConfigSlice.SETTINGS,
  versions: ConfigSlice.VERSIONS,
  network: ConfigSlice.NETWORK,
  system: ConfigSlice.SYSTEM,
  server: ConfigSlice.SERVER,
};
const orderKinds: Record<OrderKind, WireOrderKind> = {
  'restart agent': WireOrderKind.RESTART_AGENT,
  reboot: WireOrderKind.REBOOT,
};
const orderStates: Record<OrderStatus['at'], OrderState> = {
  begun: OrderState.BEGUN,
  done: OrderState.DONE,
  failed: OrderState.FAILED,
};
const severities = { note: Severity.NOTE, warning: Severity.WARNING, error: Severity.ERROR } as const;
const version = (id: string | null): string => (id === null ? '' : versionOf(id));

/** The fields about the machine that every request carries. */
export function requestOf({ partId, agentVersion, startedAt, host }: Self, actual: Actual, now: number) {
  const { server, install, agentInstall } = actual;
  return {
    id: partId,
    hostInfo: { platform: host.platform, distro: host.distro(), tags: [...host.tags] },
    versionInfo: {
      agentRunning: agentVersion,
      agentInstalled: version(agentInstall.installed) || agentVersion,
      serverRunning: version(server.running),
      serverInstalled: version(install.installed),
    },
    agentUptime: durationFromMs(Math.round(now - startedAt)),
    ...(server.since !== null && {
      serverUptime: durationFromMs(Math.round(now - (server.startedAt ?? server.since))),
    }),
  } satisfies MessageInitShape<typeof DeviceAgentConfigRequestSchema>;
}

type SinceOf = (noted: number) => number | undefined;
const untilField = ({ untilWall }: Pick<RestartDecision, 'untilWall'>, sinceOf: SinceOf) => {
  const until = untilWall === undefined ? undefined : sinceOf(untilWall);
  return until === undefined ? {} : { until: timestampFromMs(Math.round(until)) };
};
const startWaitField = ({ startWait: wait }: Actual, sinceOf: SinceOf) =>
  wait ? { startWait: { reason: wait.reason, ...untilField(wait, sinceOf) } } : {};
/** Whole milliseconds: a fraction would make the whole report invalid. */
const sinceField = (wall: number | undefined) =>
  wall === undefined ? {} : { since: timestampFromMs(Math.round(wall)) };

/** Limit for quarantined versions with their last log lines: a report is sent at each change. */
const mostExits = 3;
const exitOf = ({ id, reason, lines, sinceWall }: ExitReport, urls: BuildUrls, sinceOf: SinceOf) => ({
  version: shownVersion(id, urls),
  reason,
  lines: [...lines],
  ...sinceField(sinceOf(sinceWall)),
});

function programOf(runningVersion: string, install: InstallStatus, wanted: Release | undefined, sinceOf: SinceOf) {
  const ofSeconds = (seconds: number) => sinceField(sinceOf(seconds * 1000));
  const { installed, previous, trial, quarantined, lastExit, lastUpdate, why, wait, urls } = install;
  const shown = (id: string | null): string => (id === null ? '' : shownVersion(id, urls));
  return {
    runningVersion,
    installedVersion: shown(installed),
    wantedVersion: wanted ? shownDesired(wanted, desiredId(install), urls) : '',
    previousVersion: shown(previous),
    ...(trial && {
      trial: {
        version: shown(trial.to),
        previousVersion: shown(trial.from),
        starts: trial.starts,
        ...ofSeconds(trial.since),
      },
    }),
    quarantined: quarantined.map(({ id, reason, since, exit }, i) => ({
      version: shown(id),
      reason,
      ...ofSeconds(since),
      ...(exit && i < mostExits && { exit: exitOf(exit, urls, sinceOf) }),
    })),
    ...(lastExit && { lastExit: exitOf(lastExit, urls, sinceOf) }),
    ...(lastUpdate && {
      lastUpdate: {
        version: lastUpdate.version,
        fromVersion: lastUpdate.from,
        state: updateStates[lastUpdate.at].wire,
        code: lastUpdate.code,
        reason: lastUpdate.reason,
        ...sinceField(sinceOf(lastUpdate.sinceWall)),
        downloadedBytes: BigInt(lastUpdate.downloadedBytes),
        sizeBytes: BigInt(lastUpdate.sizeBytes),
        byDelta: lastUpdate.isByDelta,
      },
    }),
    why,
    ...(wait && { wait: { reason: wait.reason, ...untilField(wait, sinceOf) } }),
    unsigned: install.isUnsigned,
    installedUnsigned: install.isInstalledUnsigned,
  };
}

const sliceOf = (
  name: SliceName,
  { at, content, sinceWall, code, reason, ineffective }: SliceStatus,
  sinceOf: SinceOf,
) => ({
  slice: slices[name],
  state: sliceStates[at].wire,
  appliedRevision: BigInt(content.revision),
  configSha256: Buffer.from(content.configSha256, 'hex'),
  ...sinceField(sinceOf(sinceWall)),
  code,
  reason,
  ineffectivePaths: [...ineffective],
});

const knowledgeOf = ({ models, packageTypes, schemasSha256 = '' }: ServerKnowledge) => ({
  models: models.map((model) => ({ ...model, references: [...model.references] })),
  packageTypes: [...packageTypes],
  schemasSha256,
});

/** What a report is made of. */
export interface Reported {
  wanted: Wanted;
  actual: Actual;
  conditions?: readonly Condition[];
  /** Undefined: not known yet. */
  network?: NetworkStatus | undefined;
  system?: SystemStatus | undefined;
  facts?: HostFacts | undefined;
}

export interface ReportTimes {
  /** ms of the monotonic clock. */
  now: number;
  /** When each condition was first seen, ms since 1970. */
  conditionsSince: (message: string) => number;
  /** Converts a stored time by the current clock; undefined: unknown. */
  sinceOf?: SinceOf;
}

const ordersAndDefaults = (
  { knownOrders: known = [], deviceDefaults }: Self,
  { orders = [], upgradesDone }: Actual,
  sinceOf: SinceOf,
) => ({
  ...(deviceDefaults && { deviceDefaults }),
  ...(upgradesDone !== undefined && { systemUpgradesDone: BigInt(upgradesDone) }),
  knownOrders: known.map((kind) => orderKinds[kind]),
  orders: orders.map(({ id, at, reason, sinceWall }) => ({
    id,
    state: orderStates[at],
    reason,
    ...sinceField(sinceOf(sinceWall)),
  })),
});

/** The whole report. */
export function reportOf(
  self: Self,
  { wanted, actual, conditions = [], network, system, facts }: Reported,
  { now, conditionsSince, sinceOf = (noted) => noted }: ReportTimes,
): ReportParts {
  const [{ agentVersion, startedAt, host }, { server, install, agentInstall }] = [self, actual];
  return {
    appliedRevision: BigInt(actual.applied),
    receivedSha256: Buffer.from(wanted.configSha256, 'hex'),
    knowsContent: wanted.configSha256 !== '' || wanted.revision === 0,
    agent: {
      ...programOf(shownOwn(agentVersion, agentInstall), agentInstall, wanted.agent, sinceOf),
      uptime: durationFromMs(Math.round(now - startedAt)),
      restartNeeded: isAgentRestartNeeded(actual),
    },
    server: {
      ...programOf(
        server.running === null ? '' : shownVersion(server.running, install.urls),
        install,
        wanted.server,
        sinceOf,
      ),
      ...(server.since !== null && { uptime: durationFromMs(Math.round(now - (server.startedAt ?? server.since))) }),
      restartNeeded: isRestartNeeded(actual),
      ...startWaitField(actual, sinceOf),
    },
    serverState: serverStates[server.at].wire,
    serverUrl: server.url ?? '',
    restartAllowed: server.isRestartAllowed ?? server.running === null,
    lastExit: server.lastExit,
    restarts: server.restarts,
    conditions: [...deriveConditions(wanted, actual), ...conditions].map(
      ({ code, severity, message, remedy, path, sinceWall }) => ({
        code,
        path: path ?? '',
        severity: severities[severity],
        message,
        remedy,
        ...sinceField(sinceOf(sinceWall ?? conditionsSince(`${code} ${message}`))),
      }),
    ),
    os: host.distro(),
    platform: host.platform,
    hostname: host.hostname(),
    supervisedBySystemd: host.isSupervisedBySystemd,
    slices: sliceNames.flatMap((name) => {
      const status = actual.slices[name];
      return status ? [sliceOf(name, status, sinceOf)] : [];
    }),
    actsOn: actedOn(host.platform, host.abilities),
    ...(server.config?.report?.knowledge && { serverKnowledge: knowledgeOf(server.config.report.knowledge) }),
    ...(network && { network: networkReport(network, sinceOf) }),
    ...(system && { system: systemReport(system) }),
    ...(facts && { facts: factsReport(facts) }),
    ...ordersAndDefaults(self, actual, sinceOf),
  };
}

// The hardware and the operating system of this machine as the management server gets them.

export function factsReport(of: HostFacts): MessageInitShape<typeof HostFactsSchema> {
  const { memoryBytes, disk, uptimeSeconds, bootReason, ...facts } = of;
  return {
    ...facts,
    ...(memoryBytes !== undefined && { memoryBytes: BigInt(memoryBytes) }),
    ...(disk && { disk: diskReport(disk) }),
    ...(uptimeSeconds !== undefined && { uptime: durationFromMs(Math.round(uptimeSeconds * 1000)) }),
    ...(bootReason && { bootReason: bootReasons[bootReason].wire }),
  };
}

const diskReport = ({ inodes, freeInodes, ...disk }: DiskFacts): MessageInitShape<typeof DiskFactsSchema> => ({
  ...disk,
  sizeBytes: BigInt(disk.sizeBytes),
  freeBytes: BigInt(disk.freeBytes),
  ...(inodes !== undefined && { inodes: BigInt(inodes), freeInodes: BigInt(freeInodes ?? 0) }),
});

// The operating system of this machine as the management server gets it.

const mostPackages = 50;
const mostCauses = 20;

const time = (wall: number | undefined) => (wall === undefined ? undefined : timestampFromMs(Math.round(wall)));

const upgradeOf = ({ name, from, to, isSecurity }: PackageUpgrade) => ({
  package: name,
  fromVersion: from,
  toVersion: to,
  isSecurity,
});

function systemReport(status: SystemStatus): MessageInitShape<typeof SystemReportSchema> {
  const { waiting, lastRun: run, reboot } = status;
  const ended = time(run?.endedWall);
  return {
    waitingCount: waiting.length,
    securityCount: waiting.filter(({ isSecurity }) => isSecurity).length,
    waiting: waiting.slice(0, mostPackages).map(upgradeOf),
    ...(run && {
      lastRun: {
        started: timestampFromMs(run.startedWall),
        ...(ended && { ended }),
        command: run.command.slice(0, 300),
        packages: run.packages.slice(0, mostPackages).map(upgradeOf),
        packageCount: run.packages.length,
        problem: run.problem.slice(0, 300),
      },
    }),
    rebootNeeded: reboot !== undefined,
    ...(reboot && {
      rebootNeededSince: timestampFromMs(reboot.sinceWall),
      rebootCauses: reboot.causes.slice(0, mostCauses),
    }),
    rebootWait: status.rebootWait,
    task: status.task,
    why: status.why,
    withoutApt: !status.hasApt,
  };
}
