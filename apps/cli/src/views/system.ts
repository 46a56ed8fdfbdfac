import type {
  Machine,
  SystemReport,
  SystemUpgrade,
  SystemUpgradeRun,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { ago, isoTime } from '../output.ts';

const upgradeJson = ({
  package: name,
  fromVersion,
  toVersion,
  isSecurity,
}: SystemUpgrade): Record<string, unknown> => ({
  package: name,
  from_version: fromVersion,
  to_version: toVersion,
  is_security: isSecurity,
});

const runJson = (run: SystemUpgradeRun | undefined): Record<string, unknown> | null =>
  run
    ? {
        started: isoTime(run.started),
        ended: isoTime(run.ended),
        command: run.command,
        packages: run.packages.map(upgradeJson),
        package_count: run.packageCount,
        problem: run.problem,
      }
    : null;

/** The operating system of a machine with its wire names; null: not reported. */
export function systemJson({ report, systemUpgradeRequestedOn }: Machine): Record<string, unknown> | null {
  const system = report?.system;
  if (!system) return null;
  return {
    waiting_count: system.waitingCount,
    security_count: system.securityCount,
    waiting: system.waiting.map(upgradeJson),
    last_run: runJson(system.lastRun),
    reboot_needed: system.rebootNeeded,
    reboot_needed_since: isoTime(system.rebootNeededSince),
    reboot_causes: system.rebootCauses,
    reboot_wait: system.rebootWait,
    task: system.task,
    why: system.why,
    has_apt: !system.withoutApt,
    upgrade_requested_on: isoTime(systemUpgradeRequestedOn),
  };
}

/** "3 upgrades wait, 1 for security". */
const waitingText = ({ waitingCount, securityCount }: SystemReport): string => {
  if (waitingCount === 0) return 'no upgrade waits';
  const security = securityCount > 0 ? `, ${securityCount} for security` : '';
  return `${waitingCount} ${waitingCount === 1 ? 'upgrade waits' : 'upgrades wait'}${security}`;
};

/** Upgrades that wait, the last run, and the reboot that is needed. Empty: not reported. */
export function systemText({ report, systemUpgradeRequestedOn }: Machine, nowMs: number): string {
  const system = report?.system;
  if (!system) return '';
  const { lastRun: run } = system;
  const names = run?.packages.slice(0, 5).map((one) => `${one.package} ${one.toVersion}`) ?? [];
  const more = (run?.packageCount ?? 0) - names.length;
  return [
    ...(system.why === '' ? [] : [`not managed by the agent: ${system.why}`]),
    ...(system.withoutApt ? [] : [waitingText(system)]),
    ...(system.task === '' ? [] : [`now: ${system.task}`]),
    ...(systemUpgradeRequestedOn ? [`upgrade requested ${ago(systemUpgradeRequestedOn, nowMs)}`] : []),
    ...(run
      ? [
          `last upgraded ${ago(run.started, nowMs)}: ${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}${run.problem === '' ? '' : `; ${run.problem}`}`,
        ]
      : []),
    ...(system.rebootNeeded
      ? [
          `reboot needed since ${ago(system.rebootNeededSince, nowMs)} because of ${system.rebootCauses.slice(0, 5).join(', ') || 'an upgrade'}: ${system.rebootWait}`,
        ]
      : []),
  ].join('\n');
}
