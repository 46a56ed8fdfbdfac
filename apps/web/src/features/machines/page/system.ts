import type { Machine, SystemUpgrade } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { isReportPast } from '@platform/contract/machine/report-age';
import { msOf } from '../../../ui/times.ts';

export interface UpgradeView {
  name: string;
  /** "1.0 → 1.1". */
  versions: string;
  isSecurity: boolean;
}

/** The operating system of a machine. */
export interface SystemView {
  /** Why the agent does not manage it, and what it restored and left; empty: it manages it. */
  why: string;
  /** False: there is nothing about packages. */
  hasApt: boolean;
  /** "3 upgrades wait, 1 for security". */
  summary: string;
  waiting: readonly UpgradeView[];
  /** Waiting upgrades that the machine counts, but does not list. */
  more: number;
  lastRun:
    | { started: number | undefined; packages: readonly UpgradeView[]; count: number; problem: string }
    | undefined;
  reboot: { since: number | undefined; causes: string; wait: string } | undefined;
  task: string;
  requested: number | undefined;
}

const upgradeView = ({ package: name, fromVersion, toVersion, isSecurity }: SystemUpgrade): UpgradeView => ({
  name,
  versions: fromVersion === '' ? toVersion : `${fromVersion} → ${toVersion}`,
  isSecurity,
});

/** Undefined: the machine does not report it. */
export function systemView(machine: Machine): SystemView | undefined {
  const { report, systemUpgradeRequestedOn } = machine;
  const system = report?.system;
  if (!system) return undefined;
  const { waitingCount: count, securityCount: security, waiting, lastRun } = system;
  const waits = count === 0 ? 'No upgrade waits' : count === 1 ? '1 upgrade waits' : `${count} upgrades wait`;
  return {
    why: system.why,
    hasApt: !system.withoutApt,
    summary: security > 0 ? `${waits}, ${security} for security` : waits,
    waiting: waiting.map(upgradeView),
    more: Math.max(0, count - waiting.length),
    lastRun: lastRun && {
      started: msOf(lastRun.started),
      packages: lastRun.packages.map(upgradeView),
      count: lastRun.packageCount,
      problem: lastRun.problem,
    },
    reboot: system.rebootNeeded
      ? {
          since: msOf(system.rebootNeededSince),
          causes: system.rebootCauses.join(', ') || 'an upgrade',
          wait: system.rebootWait,
        }
      : undefined,
    // It may have ended since.
    task: isReportPast(machine) ? '' : system.task,
    requested: msOf(systemUpgradeRequestedOn),
  };
}
