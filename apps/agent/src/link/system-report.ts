// The operating system of this machine as the management server gets it.
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { SystemReportSchema } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { PackageUpgrade, SystemStatus } from '../system/system-status.ts';

const mostPackages = 50;
const mostCauses = 20;

const time = (wall: number | undefined) => (wall === undefined ? undefined : timestampFromMs(Math.round(wall)));

const upgradeOf = ({ name, from, to, isSecurity }: PackageUpgrade) => ({
  package: name,
  fromVersion: from,
  toVersion: to,
  isSecurity,
});

export function systemReport(status: SystemStatus): MessageInitShape<typeof SystemReportSchema> {
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
