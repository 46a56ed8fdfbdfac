// The configuration files of unattended-upgrades. Pure.
import type { FileGoal } from './system-plan.ts';

export const periodicFile = '/etc/apt/apt.conf.d/20auto-upgrades';
export const originsFile = '/etc/apt/apt.conf.d/50unattended-upgrades';

export type UpgradeType = 'all' | 'security' | 'disable';

const head = '// Written by platform-agent from agent.system_configuration, which overwrites changes.';

/** @param type - empty: the files are as they were before this agent */
export const aptGoals = (type: UpgradeType | '', origins: readonly string[]): readonly FileGoal[] => [
  // In this order, so that the switch is never on without the list.
  { file: originsFile, text: type === 'all' || type === 'security' ? originsText(origins) : undefined },
  { file: periodicFile, text: type === '' ? undefined : periodicText(type) },
];

/** The lists are updated with "disable", too: the management app shows which upgrades wait. */
const periodicText = (type: UpgradeType): string =>
  [
    head,
    'APT::Periodic::Update-Package-Lists "1";',
    `APT::Periodic::Unattended-Upgrade "${type === 'disable' ? 0 : 1}";`,
    '',
  ].join('\n');

/** The agent itself reboots, in the maintenance window. */
const originsText = (origins: readonly string[]): string =>
  [
    head,
    '#clear Unattended-Upgrade::Allowed-Origins;',
    '#clear Unattended-Upgrade::Origins-Pattern;',
    'Unattended-Upgrade::Origins-Pattern {',
    ...origins.map((origin) => `  "${origin}";`),
    '};',
    'Unattended-Upgrade::Automatic-Reboot "false";',
    '',
  ].join('\n');

/**
 * What of the effective configuration differs from the desired one, as a clause; empty: nothing.
 *
 * @param dump - output of `apt-config dump`
 */
export function differenceOf(type: UpgradeType, origins: readonly string[], dump: string): string {
  const values = (name: string): string[] =>
    [...dump.matchAll(new RegExp(`^${name}(?:::)? "(.*)";$`, 'gm'))].map(([, value = '']) => value).filter(Boolean);
  const isOn = values('APT::Periodic::Unattended-Upgrade').at(-1) ?? '0';
  if ((isOn === '0') !== (type === 'disable')) return `APT::Periodic::Unattended-Upgrade is "${isOn}"`;
  if (type === 'disable') return '';
  const found = [
    ...values('Unattended-Upgrade::Allowed-Origins'),
    ...values('Unattended-Upgrade::Origins-Pattern'),
  ].toSorted();
  const more = found.filter((origin) => !origins.includes(origin));
  if (more.length > 0)
    return `another file adds ${more
      .slice(0, 3)
      .map((one) => `"${one}"`)
      .join(', ')}`;
  const less = origins.filter((origin) => !found.includes(origin));
  return less.length > 0 ? `"${less[0]}" is not in effect` : '';
}
