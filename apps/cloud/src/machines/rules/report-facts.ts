import type { AgentReport } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { FactName } from '@platform/contract/machine/fields';
import { bootReasons } from '@platform/contract/machine/program-states';

/** PostgreSQL's JSON cannot contain NUL. */
const clean = (text: string | undefined): string | undefined =>
  text === undefined || text === '' ? undefined : text.replaceAll('\0', '').slice(0, 500).toWellFormed();
const count = (bytes: bigint | undefined): number | undefined => (bytes === undefined ? undefined : Number(bytes));
const mostConditions = 20;
/** A line each, as queries compare them. */
const conditionText = (conditions: AgentReport['conditions']): string =>
  conditions
    .slice(0, mostConditions)
    .map(({ code, message }) => `${code}: ${message}`.replaceAll(/[\0\n\r]/g, ' ').slice(0, 300))
    .join('\n')
    .toWellFormed();
/** JSON has no other numbers. */
const finite = (value: number | undefined): number | undefined => (Number.isFinite(value) ? value : undefined);

/** What filters compare, by their names; what the machine does not report is left out. */
export function reportFacts({ facts, system, ...report }: AgentReport): Record<string, string | number | boolean> {
  const disk = facts?.disk;
  const reason = Object.entries(bootReasons).find(([, { wire }]) => wire === facts?.bootReason)?.[0];
  const found: Record<Exclude<FactName, 'name'>, string | number | boolean | undefined> = {
    platform: clean(report.platform),
    os: clean(report.os),
    hostname: clean(report.hostname),
    model: clean(facts?.model),
    serial: clean(facts?.serial),
    architecture: clean(facts?.architecture),
    distribution: clean(facts?.distribution),
    kernel: clean(facts?.kernel),
    agent_version: clean(report.agent?.runningVersion),
    server_version: clean(report.server?.runningVersion),
    boot_reason: reason,
    condition: conditionText(report.conditions) || undefined,
    memory: count(facts?.memoryBytes),
    disk_size: count(disk?.sizeBytes),
    disk_free: count(disk?.freeBytes),
    disk_free_percent:
      disk && disk.sizeBytes > 0n ? (Number(disk.freeBytes) / Number(disk.sizeBytes)) * 100 : undefined,
    wear_percent: disk?.wearPercent,
    temperature: finite(facts?.temperatureCelsius),
    reboot_needed: system?.rebootNeeded,
    upgrades_waiting: system?.waitingCount,
    security_upgrades_waiting: system?.securityCount,
  };
  return Object.fromEntries(
    Object.entries(found).filter((entry): entry is [string, string | number | boolean] => entry[1] !== undefined),
  );
}
