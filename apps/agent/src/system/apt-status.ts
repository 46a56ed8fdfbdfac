// What apt reports about upgrades. Pure.
import type { PackageUpgrade, UpgradeRun } from './system-status.ts';

/**
 * The upgrades that wait, those for security first.
 *
 * @param text - of `apt-get --simulate upgrade`: `Inst curl [7.88.1-10] (7.88.1-11 Debian-Security:12/stable-security
 *   [amd64])`
 */
export function readWaiting(text: string): readonly PackageUpgrade[] {
  const upgrades = [...text.matchAll(/^Inst (\S+)(?: \[(\S+)\])? \((\S+) (.*) \[\S+\]\)/gm)].map(
    ([, name = '', from = '', to = '', origins = '']): PackageUpgrade => ({
      name,
      from,
      to,
      isSecurity: /security/i.test(origins),
    }),
  );
  return upgrades.toSorted((a, b) => Number(b.isSecurity) - Number(a.isSecurity));
}

/** unattended-upgrades upgrades in small steps; apt records each as a run of its own. */
const stepMs = 10 * 60_000;

/** The last run that upgraded packages, by apt's history.log; undefined: none. */
export function readLastRun(history: string): UpgradeRun | undefined {
  const runs = history.split(/\n\s*\n/).flatMap((block) => {
    const value = (name: string): string => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1]?.trim() ?? '';
    const startedWall = wallOf(value('Start-Date'));
    const upgraded = value('Upgrade');
    if (startedWall === undefined || upgraded === '') return [];
    const packages = [...upgraded.matchAll(/([^ ,:]+):\S+ \(([^,()]+), ([^,()]+)\)/g)].map(
      ([, name = '', from = '', to = '']): PackageUpgrade => ({ name, from, to, isSecurity: false }),
    );
    const run: UpgradeRun = {
      startedWall,
      endedWall: wallOf(value('End-Date')),
      command: value('Commandline'),
      packages,
      problem: value('Error'),
    };
    return [run];
  });
  return runs.reduce<UpgradeRun | undefined>(
    (last, run) => (last && isNextStep(last, run) ? joined(last, run) : run),
    undefined,
  );
}

const isNextStep = (last: UpgradeRun, next: UpgradeRun): boolean =>
  last.command === next.command && next.startedWall - (last.endedWall ?? last.startedWall) <= stepMs;

const joined = (last: UpgradeRun, next: UpgradeRun): UpgradeRun => ({
  ...next,
  startedWall: last.startedWall,
  packages: [...last.packages, ...next.packages],
  problem: next.problem || last.problem,
});

/** Apt writes local time: `2026-11-24  00:03:01`. */
function wallOf(text: string): number | undefined {
  const wall = new Date(text.replace(/ +/, 'T')).getTime();
  return Number.isNaN(wall) ? undefined : wall;
}
