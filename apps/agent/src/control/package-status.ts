import type { PackageStatus, PackageUpgradeReport } from '@platform/contract/machine/agent-status';
import type { PackageUpgrade, SystemStatus } from '../system/system-status.ts';

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
