import { serverStates, textOfState } from '@platform/contract/program-states';
import type { Condition, Machine } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { OnlineState, ServerState, Severity } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { programView } from './program-status.ts';
import type { ProgramView } from './program-status.ts';
import { isLagging, isPartly, receivedRevision, sliceViews } from './slices.ts';
import type { SliceView } from './slices.ts';
import { labelOf, unknownLabel, type StatusLabel, type Tone } from './status-label.ts';
import { msOf } from './times.ts';

/** Progress of the desired configuration: saved, received, applied. */
export type Applied =
  | { at: 'unset' }
  /** `isPartly`: some fields have no effect on this machine, or the machine does not report whether they have. */
  | { at: 'applied'; revision: bigint; since: number | undefined; isPartly: boolean }
  /** `applied` may equal `desired`: it was in effect and is no longer. */
  | { at: 'waiting'; desired: bigint; applied: bigint; isOnline: boolean }
  /** Another product's agent received it, and does not report whether it is in effect. */
  | { at: 'received'; desired: bigint; received: bigint };

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
  agent: ProgramView;
  server: ProgramView;
  serverState: StatusLabel;
  applied: Applied;
  /** Revision that its report is about. */
  received: bigint;
  /** Parts of the machine that lag, do not report, or ignore fields. */
  slices: SliceView[];
  conditions: ConditionView[];
  /** When a restart was requested that is still pending. */
  restartRequested: number | undefined;
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
  [OnlineState.OFFLINE]: { tone: 'bad', text: 'Offline' },
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

function appliedOf(machine: Machine, isOnline: boolean): Applied {
  const desired = machine.wantedRevision;
  if (desired === 0n) return { at: 'unset' };
  if (machine.hasOtherAgent) return { at: 'received', desired, received: receivedRevision(machine.report) };
  const applied = machine.report?.appliedRevision ?? 0n;
  if (applied >= desired && !isLagging(machine.report))
    return { at: 'applied', revision: applied, since: msOf(machine.reportedOn), isPartly: isPartly(machine.report) };
  return { at: 'waiting', desired, applied, isOnline };
}

const conditionView = (condition: Condition): ConditionView => ({
  code: condition.code,
  tone: toneOf(condition.severity),
  message: condition.message,
  remedy: condition.remedy,
  since: msOf(condition.since),
  path: condition.path,
});

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
    agent: programView(report?.agent, reportedOn),
    server: programView(report?.server, reportedOn),
    serverState: serverLabel(report?.serverState),
    applied: appliedOf(machine, isOnline),
    received: receivedRevision(report),
    // Another product's agent reports the same state for all slices.
    slices: machine.hasOtherAgent ? [] : sliceViews(report),
    conditions: [...machine.conditions, ...(report?.conditions ?? [])]
      .toSorted((a, b) => b.severity - a.severity)
      .map(conditionView),
    restartRequested: msOf(machine.restartRequestedOn),
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
export function machineBadge({ agent, server, isOnline, conditions }: MachineView): StatusLabel | undefined {
  if (agent.quarantined.length > 0 || server.quarantined.length > 0) return { tone: 'bad', text: 'reverted' };
  if (!isOnline) return undefined;
  if (conditions.some(({ tone }) => tone === 'bad')) return { tone: 'bad', text: 'error' };
  if (agent.trial || server.trial) return { tone: 'busy', text: 'on trial' };
  if (server.isRestartNeeded) return { tone: 'warn', text: 'restart needed' };
  if (conditions.some(({ tone }) => tone === 'warn')) return { tone: 'warn', text: 'warning' };
  return undefined;
}

/** "3 → 4" for lists: applied and desired revision. */
export function revisionText(applied: Applied): string {
  switch (applied.at) {
    case 'unset':
      return 'none';
    case 'applied':
      return String(applied.revision);
    case 'received':
      return `? → ${applied.desired}`;
    case 'waiting':
      return applied.applied >= applied.desired ? `${applied.desired} lags` : `${applied.applied} → ${applied.desired}`;
  }
}

/** The explanation of `revisionText`. */
export function appliedText(applied: Applied): string {
  switch (applied.at) {
    case 'unset':
      return 'Nothing was saved yet';
    case 'applied':
      return applied.isPartly ? 'Partly in effect' : 'In effect';
    case 'received':
      return `Revision ${applied.received} received; the agent of another product does not report what is in effect`;
    case 'waiting':
      return applied.applied >= applied.desired ? 'Not in effect any more' : 'Saved, not in effect on the machine';
  }
}

/** A start time is computed from a report's time and an uptime, so it varies slightly between reports. */
const startSpreadMs = 1500;

/** Whether the program was restarted between two reports. */
export const hasRestarted = (before: number | undefined, now: number | undefined): boolean =>
  now !== undefined && (before === undefined || now > before + startSpreadMs);
