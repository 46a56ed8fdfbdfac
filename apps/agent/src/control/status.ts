import { bySeverity } from '@platform/contract/conditions/severity';
import { firstWall } from '@platform/kit';
import type {
  AgentStatus,
  NetworkRowReport,
  ProgramExit,
  ProgramReport,
  SliceReport,
  StatusCondition,
  PackageStatus,
  PackageUpgradeReport,
} from '@platform/contract/machine/agent-status';
import { desiredId, shownDesired, shownOwn, shownVersion, type BuildUrls } from '../state/version-names.ts';
import {
  sliceNames,
  type Actual,
  type ExitReport,
  type InstallStatus,
  type QuarantinedVersion,
  type Release,
  type SliceName,
  type SliceStatus,
  type Wanted,
} from '../state/state.ts';
import { deriveConditions, isRestartNeeded, type Condition } from '../health/conditions.ts';
import type { Self } from '../link/request.ts';
import type { SystemStatus, PackageUpgrade } from '../system/system-status.ts';
import type { NetworkRow } from '../network/rows/network-rows.ts';
import type { NetworkStatus } from '../network/rows/network-status.ts';
import type { Trial } from '../state/trial-file.ts';

/** Since when the management server is reachable, or is not. Times in ms since 1970. */
export interface Reach {
  isReached: boolean;
  sinceWall: number;
  lastContactWall: number | undefined;
}

/** The two clocks, read at one moment: monotonic times are reported as wall times. */
export interface Moment {
  now: number;
  wall: number;
}

export interface StatusParts {
  self: Self;
  root: string;
  appAddress: string;
  wanted: Wanted;
  actual: Actual;
  /** Undefined: the agent does not manage the network. */
  network: NetworkStatus | undefined;
  /** Undefined: not known, or the system has no apt. */
  system: SystemStatus | undefined;
  reach: Reach;
  serverPid: number | null;
  logs: AgentStatus['logs'];
  /** Conditions that desired and observed state do not show. */
  conditions: readonly Condition[];
  /** When a condition was first seen, ms since 1970. */
  conditionSince: (key: string) => number;
  /** Corrects a recorded time if the clock was set since; undefined: unknown. */
  sinceOf: (noted: number) => number | undefined;
  moment: Moment;
  pid: number;
}

export const timeText = (wall: number): string => new Date(wall).toISOString();
const shown = (id: string | null, urls: BuildUrls): string => (id === null ? '' : shownVersion(id, urls));

/** The status of a running agent. */
export function statusOf(parts: StatusParts): AgentStatus {
  const { self, wanted, actual, reach, moment } = parts;
  const { server } = actual;
  const wallOf = (monotonic: number): string => timeText(moment.wall - (moment.now - monotonic));
  const sinceText = (noted: number): string | null => sinceTextOf(parts.sinceOf(noted));
  return {
    at: timeText(moment.wall),
    is_running: true,
    agent: {
      version: self.agentVersion,
      pid: parts.pid,
      part_id: self.partId,
      root: parts.root,
      started: wallOf(self.startedAt),
      is_supervised_by_systemd: self.host.isSupervisedBySystemd,
      hostname: self.host.hostname(),
      platform: self.host.platform,
      os: self.host.distro(),
    },
    cloud: {
      address: parts.appAddress,
      is_reached: reach.isReached,
      since: sinceText(reach.sinceWall) ?? wallOf(self.startedAt),
      last_contact: reach.lastContactWall === undefined ? null : sinceText(reach.lastContactWall),
    },
    ...(parts.network && { network: networkOf(parts.network, sinceText) }),
    ...(parts.system && { system: packageStatus(parts.system, sinceText) }),
    config: {
      revision: actual.applied,
      received_revision: wanted.revision,
      received_sha256: wanted.configSha256,
      source: wanted.isFresh ? 'cloud' : wanted.revision > 0 ? 'cache' : 'none',
      corrections: wanted.corrections.map(({ path, file, problem, used }) => ({ path, file, problem, used })),
      slices: sliceNames.flatMap((name) => {
        const status = actual.slices[name];
        return status ? [sliceReport(name, status, sinceText)] : [];
      }),
    },
    server: {
      at: server.at,
      version: shown(server.running, actual.install.urls),
      pid: parts.serverPid,
      since: server.since === null ? null : wallOf(server.startedAt ?? server.since),
      url: server.url ?? '',
      restarts: server.restarts,
      last_exit: server.lastExit,
      is_restart_allowed: server.isRestartAllowed ?? null,
      is_restart_needed: isRestartNeeded(actual),
    },
    programs: { agent: agentProgram(parts), server: serverProgram(parts) },
    conditions: statusConditions(parts, sinceText),
    logs: parts.logs,
  };
}

const networkOf = (
  of: NetworkStatus,
  sinceText: (noted: number) => string | null,
): NonNullable<AgentStatus['network']> => ({
  mode: of.mode,
  since: sinceText(of.sinceWall),
  why: of.why,
  next: of.next,
  next_at: of.nextWall === null ? null : sinceText(of.nextWall),
  has_link: of.hasLink,
  connectivity: of.connectivity,
  connectivity_checked_on: of.checkedWall === null ? null : sinceText(of.checkedWall),
  is_cloud_reached: of.isCloudReached,
  links: of.links.map((link) => ({
    interface: link.interface,
    type: link.type,
    state: link.state,
    ssid: link.ssid,
    signal_percent: link.signalPercent,
    addresses: [...link.addresses],
    has_default_route: link.hasDefaultRoute,
    is_hotspot: link.isHotspot,
    since: sinceText(link.sinceWall),
    why: link.why,
  })),
  hotspot_ssid: of.hotspotSsid,
  hotspot_waiting: [...of.hotspotWaiting.fields],
  attempts: of.attempts.map(({ network, interface: device, wall, result, text }) => ({
    network,
    interface: device,
    at: sinceText(wall),
    result,
    text,
  })),
  notes: [...of.notes],
  is_on_fallback: of.isOnFallback,
  ...(of.rows && {
    networks: of.rows.networks.map((row) => rowReport(row, sinceText)),
    settings: of.rows.settings.map((row) => rowReport(row, sinceText)),
  }),
});

function rowReport(row: NetworkRow, sinceText: (noted: number) => string | null): NetworkRowReport {
  const time = (wall: number | null): string | null => (wall === null ? null : sinceText(wall));
  const { path, name, interface: device, state, text, code } = row;
  return {
    path,
    name,
    interface: device,
    state,
    text,
    code,
    since: time(row.sinceWall),
    measured: time(row.measuredWall),
    last_seen: time(row.lastSeenWall),
    has_no_effect: row.hasNoEffect,
  };
}

/** The worst first. */
function statusConditions(
  { wanted, actual, conditions, conditionSince }: StatusParts,
  sinceText: (noted: number) => string | null,
): StatusCondition[] {
  const list = [...deriveConditions(wanted, actual), ...conditions].map(
    ({ code, severity, message, remedy, path, sinceWall }): StatusCondition => ({
      code,
      path: path ?? '',
      severity,
      message,
      remedy,
      since: sinceText(sinceWall ?? conditionSince(`${code} ${message}`)),
    }),
  );
  return list.toSorted(bySeverity);
}

const sliceReport = (
  slice: SliceName,
  { at, content, sinceWall, code, reason, ineffective }: SliceStatus,
  sinceText: (noted: number) => string | null,
): SliceReport => ({
  slice,
  state: at,
  revision: content.revision,
  config_sha256: content.configSha256,
  since: sinceText(sinceWall),
  code,
  reason,
  ineffective_paths: [...ineffective],
});

function agentProgram({ self, wanted, actual, sinceOf }: StatusParts): ProgramReport {
  return programReport(shownOwn(self.agentVersion, actual.agentInstall), actual.agentInstall, wanted.agent, sinceOf);
}

function serverProgram({ wanted, actual, sinceOf }: StatusParts): ProgramReport {
  const report = programReport(
    shown(actual.server.running, actual.install.urls),
    actual.install,
    wanted.server,
    sinceOf,
  );
  const { startWait: wait } = actual;
  if (!wait) return report;
  const until = wait.untilWall === undefined ? null : sinceTextOf(sinceOf(wait.untilWall));
  return { ...report, start_wait: { reason: wait.reason, until } };
}

function programReport(
  running: string,
  install: InstallStatus,
  wanted: Release | undefined,
  sinceOf: StatusParts['sinceOf'],
): ProgramReport {
  const { trial, lastUpdate: last, urls } = install;
  return {
    running,
    installed: shown(install.installed, urls),
    wanted: wanted ? shownDesired(wanted, desiredId(install), urls) : '',
    desired: wanted?.desired ?? '',
    pin: install.pin,
    previous: shown(install.previous, urls),
    trial: trial ? trialReport(trial, urls, sinceOf) : null,
    quarantined: install.quarantined.map((bad) => badReport(bad, urls, sinceOf)),
    ...(install.lastExit && { last_exit: exitReport(install.lastExit, urls, sinceOf) }),
    last_update: last
      ? {
          version: last.version,
          from: last.from,
          state: last.at,
          code: last.code,
          reason: last.reason,
          since: sinceTextOf(sinceOf(last.sinceWall)),
          downloaded_bytes: last.downloadedBytes,
          size_bytes: last.sizeBytes,
          by_delta: last.isByDelta,
        }
      : null,
    why: install.why,
    ...(install.wait && {
      wait: {
        reason: install.wait.reason,
        until: install.wait.untilWall === undefined ? null : sinceTextOf(sinceOf(install.wait.untilWall)),
      },
    }),
    is_unsigned: install.isUnsigned,
    is_installed_unsigned: install.isInstalledUnsigned,
  };
}

const sinceTextOf = (wall: number | undefined): string | null => (wall === undefined ? null : timeText(wall));
/** A time from a file, uncorrected; undefined: too early to be possible. */
const asNoted = (noted: number): number | undefined => (noted < firstWall ? undefined : noted);

export const trialReport = (
  { from, to, starts, since }: Trial,
  urls: BuildUrls,
  sinceOf: StatusParts['sinceOf'] = asNoted,
): NonNullable<ProgramReport['trial']> => ({
  version: shownVersion(to, urls),
  previous: shownVersion(from, urls),
  starts,
  since: sinceTextOf(sinceOf(since * 1000)),
});

export const badReport = (
  { id, reason, since, exit }: QuarantinedVersion,
  urls: BuildUrls,
  sinceOf: StatusParts['sinceOf'] = asNoted,
): ProgramReport['quarantined'][number] => ({
  version: shownVersion(id, urls),
  reason,
  since: sinceTextOf(sinceOf(since * 1000)),
  ...(exit && { exit: exitReport(exit, urls, sinceOf) }),
});

export const exitReport = (
  { id, reason, lines, sinceWall }: ExitReport,
  urls: BuildUrls,
  sinceOf: StatusParts['sinceOf'] = asNoted,
): ProgramExit => ({
  version: shownVersion(id, urls),
  reason,
  lines: [...lines],
  since: sinceTextOf(sinceOf(sinceWall)),
});

const upgradeOf = ({ name, from, to, isSecurity }: PackageUpgrade): PackageUpgradeReport => ({
  package: name,
  from,
  to,
  is_security: isSecurity,
});

/** The packages of the operating system for the status. */
export function packageStatus(
  { hasApt, waiting, lastRun: run, reboot, rebootWait, task, why }: SystemStatus,
  sinceText: (noted: number) => string | null,
): PackageStatus {
  return {
    has_apt: hasApt,
    waiting_count: waiting.length,
    security_count: waiting.filter(({ isSecurity }) => isSecurity).length,
    waiting: waiting.map(upgradeOf),
    last_run: run
      ? {
          started: sinceText(run.startedWall),
          ended: run.endedWall === undefined ? null : sinceText(run.endedWall),
          command: run.command,
          packages: run.packages.map(upgradeOf),
          problem: run.problem,
        }
      : null,
    reboot: reboot ? { since: sinceText(reboot.sinceWall), causes: [...reboot.causes], wait: rebootWait } : null,
    task,
    why,
  };
}
