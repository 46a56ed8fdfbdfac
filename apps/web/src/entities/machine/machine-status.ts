import { isReportPast } from '@platform/contract/machine/report-age';
import { serverStates, textOfState } from '@platform/contract/machine/program-states';
import type { Condition, Machine, OrderKind, PartOrder } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { OnlineState, ServerState, Severity } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { configView } from './config-status.ts';
import type { ConfigView } from './config-status.ts';
import { isOnTrial, programView } from './program-status.ts';
import type { ProgramView } from './program-status.ts';
import { sliceViews } from './slices.ts';
import type { SliceView } from './slices.ts';
import { labelOf, unknownLabel, type StatusLabel, type Tone } from '../../ui/status-label.ts';
import { sharingView } from './shared-identity.ts';
import type { SharingView } from './shared-identity.ts';
import { msOf } from '../../ui/times.ts';

export interface ConditionView {
  code: string;
  tone: Tone;
  message: string;
  remedy: string;
  since: number | undefined;
  /** Path in the configuration; empty: none. */
  path: string;
}

export interface MachineView {
  id: string;
  partId: string;
  name: string;
  location: string;
  online: StatusLabel;
  /** When the agent reported its removal; undefined: it did not, or it was seen since. */
  uninstalled: number | undefined;
  isOnline: boolean;
  lastSeen: number | undefined;
  /** The time of everything that the machine reported, ms since 1970; undefined: it is current, or there is none. */
  pastAt: number | undefined;
  agent: ProgramView;
  server: ProgramView;
  serverState: StatusLabel;
  config: ConfigView;
  /** Parts of the machine that lag, do not report, or ignore fields. */
  slices: SliceView[];
  conditions: ConditionView[];
  /** The computers that share its credentials; undefined: only one uses them. */
  sharing: SharingView | undefined;
  /** The newest order of each kind, of the last day. */
  orders: readonly PartOrder[];
  /** What its agent can do when it is ordered; empty: it is older, or can do nothing. */
  knownOrders: readonly OrderKind[];
  /** When the quarantine was cleared, until the machine reports again. */
  quarantineCleared: number | undefined;
  /** For example linux/arm64; empty: not reported. */
  platform: string;
  isRestartAllowed: boolean;
  lastExit: string;
  restarts: number;
  host: string;
  os: string;
  isSupervised: boolean;
  hasReport: boolean;
  hasOtherAgent: boolean;
  /** When a migration to platform-agent was requested that is still pending. */
  migrationRequested: number | undefined;
}

const onlineLabels: Readonly<Record<number, StatusLabel>> = {
  [OnlineState.ONLINE]: { tone: 'good', text: 'Online' },
  [OnlineState.OFFLINE]: { tone: 'off', text: 'Offline' },
  [OnlineState.AWAITING_SETUP]: { tone: 'quiet', text: 'Awaiting setup' },
};
const serverTones: Readonly<Record<number, Tone>> = {
  [ServerState.STOPPED]: 'quiet',
  [ServerState.STARTING]: 'busy',
  [ServerState.RUNNING]: 'good',
  [ServerState.STOPPING]: 'busy',
  [ServerState.WAITING]: 'bad',
  [ServerState.DISABLED]: 'warn',
};
const serverLabel = (state: ServerState | undefined): StatusLabel =>
  labelOf(textOfState(serverStates, state), serverTones[state ?? ServerState.UNSPECIFIED]);
const uninstalledLabel: StatusLabel = { tone: 'quiet', text: 'Uninstalled' };
const severityTones: Readonly<Record<number, Tone>> = {
  [Severity.ERROR]: 'bad',
  [Severity.WARNING]: 'warn',
  [Severity.NOTE]: 'busy',
};
export const toneOf = (severity: Severity): Tone => severityTones[severity] ?? 'quiet';

const conditionView = (condition: Condition): ConditionView => ({
  code: condition.code,
  tone: toneOf(condition.severity),
  message: condition.message,
  remedy: condition.remedy,
  since: msOf(condition.since),
  path: condition.path,
});

/** Agents report each change at once: a report held until the machine was seen last, unless newer ones were lost. */
export function pastTime(machine: Machine): number | undefined {
  if (!isReportPast(machine)) return undefined;
  return msOf(machine.onlineState === OnlineState.ONLINE ? machine.reportedOn : machine.lastSeen);
}

export function machineView(machine: Machine): MachineView {
  const { report } = machine;
  const isOnline = machine.onlineState === OnlineState.ONLINE;
  const reportedOn = msOf(machine.reportedOn);
  return {
    id: machine.id,
    partId: machine.partId,
    name: machine.name,
    location: machine.locationName,
    online: machine.uninstalledOn ? uninstalledLabel : (onlineLabels[machine.onlineState] ?? unknownLabel),
    uninstalled: msOf(machine.uninstalledOn),
    isOnline,
    lastSeen: msOf(machine.lastSeen),
    pastAt: pastTime(machine),
    agent: programView(report?.agent, reportedOn),
    server: programView(report?.server, reportedOn),
    serverState: serverLabel(report?.serverState),
    config: configView(machine.configStatus),
    slices: sliceViews(machine.configStatus),
    conditions: [...machine.conditions, ...(report?.conditions ?? [])]
      .toSorted((a, b) => b.severity - a.severity)
      .map(conditionView),
    sharing: sharingView(machine.sharedIdentity),
    orders: machine.orders,
    knownOrders: report?.knownOrders ?? [],
    quarantineCleared: msOf(machine.quarantineClearedOn),
    platform: report?.platform ?? '',
    isRestartAllowed: report?.restartAllowed ?? false,
    lastExit: report?.lastExit ?? '',
    restarts: report?.restarts ?? 0,
    host: report?.hostname ?? '',
    os: [report?.os, report?.platform].filter((part) => part !== undefined && part !== '').join(' · '),
    isSupervised: report?.supervisedBySystemd ?? true,
    hasReport: report !== undefined,
    hasOtherAgent: machine.hasOtherAgent,
    migrationRequested: msOf(machine.migrationRequestedOn),
  };
}

/** The most severe state, shown without opening the status; undefined: none. */
export function machineBadge({
  agent,
  server,
  isOnline,
  pastAt,
  conditions,
  sharing,
}: MachineView): StatusLabel | undefined {
  if (sharing) return { tone: 'bad', text: 'shared identity' };
  if (agent.quarantined.length > 0 || server.quarantined.length > 0) return { tone: 'bad', text: 'reverted' };
  if (!isOnline || pastAt !== undefined) return undefined;
  if (conditions.some(({ tone }) => tone === 'bad')) return { tone: 'bad', text: 'error' };
  if (isOnTrial(agent) || isOnTrial(server)) return { tone: 'busy', text: 'on trial' };
  if (server.isRestartNeeded) return { tone: 'warn', text: 'restart needed' };
  if (conditions.some(({ tone }) => tone === 'warn')) return { tone: 'warn', text: 'warning' };
  return undefined;
}
