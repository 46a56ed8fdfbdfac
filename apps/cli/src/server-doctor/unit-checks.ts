import type { UnitSeen } from './observations.ts';
import { type CheckResult, failed, note, ok, warning } from './results.ts';

/**
 * @param units - undefined: the server is not installed as a service.
 * @param isChanging - an upgrade or a restore has stopped the lasting units.
 */
export function serviceResults(units: readonly UnitSeen[] | undefined, isChanging = false): CheckResult[] {
  if (!units) return [note('service', 'This server is not installed as a service: nothing starts it again at boot.')];
  const results = units.flatMap((unit) => unitResults(unit, isChanging));
  return results.some(({ at }) => at !== 'note')
    ? results
    : [...results, ok('service', 'All units are installed and start with the system.')];
}

const install =
  'Run install-service of the installed version again: /opt/platform-management/current/platform admin install-service';

function unitResults(unit: UnitSeen, isChanging: boolean): CheckResult[] {
  const { name, activeState } = unit;
  const why = unit.isLasting
    ? 'What it runs is away.'
    : 'Renewals of certificate and releases, or upgrades, do not happen.';
  const log = `See journalctl -u ${name} -n 50.`;
  if (!unit.isInstalled) return [failed('service', `${name} is not installed.`, { why, remedy: install })];
  const found: CheckResult[] = [];
  if (unit.isReplaced)
    found.push(
      warning('service', `${name} was replaced by a file of your own.`, {
        why: 'Upgrades do not change it, so it may no longer fit the version.',
        remedy: `Put your settings into "systemctl edit ${name}". ${install}; it keeps your file as .old.`,
      }),
    );
  if (unit.dropIns !== '') found.push(note('service', `${name} has settings of your own: ${unit.dropIns}.`));
  if (unit.startsWithSystem && !unit.isEnabled)
    found.push(
      warning('service', `${name} does not start with the system.`, {
        why: 'After a reboot it is away.',
        remedy: `Change that: systemctl enable ${name}`,
      }),
    );
  if (unit.needsReload)
    found.push(
      warning('service', `${name} was changed after systemd had read it.`, {
        why: 'The change has no effect yet.',
        remedy: 'Run: systemctl daemon-reload',
      }),
    );
  if (activeState === 'failed')
    found.push(
      failed('service', `${name} failed: ${unit.result}.`, { why, remedy: `${log} Then: systemctl restart ${name}` }),
    );
  else if (!isChanging && unit.isLasting && activeState !== 'active' && activeState !== 'reloading')
    found.push(
      failed('service', `${name} is ${activeState}.`, { why, remedy: `Start it: systemctl start ${name}. ${log}` }),
    );
  return found;
}
