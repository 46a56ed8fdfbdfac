// A machine with apt, whose package managers and programs are simulated.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { originsFile, periodicFile } from '../src/system/apt-files.ts';
import type { SystemGoal } from '../src/system/system-goal.ts';
import { applyUpgrades } from '../src/system/upgrades.ts';
import { systemMachine } from './system-machine.ts';

/** Output of `apt-cache policy` on a real system. */
export const recordedPolicy = (name: string): string =>
  readFileSync(path.join(import.meta.dirname, 'apt-policy', `${name}.txt`), 'utf8');

/** The lists that apt reads, as `apt-config dump` prints them. */
function aptConfig(folder: string): string {
  const lines: string[] = [];
  for (const name of readdirSync(folder).toSorted()) {
    if (!/^[\w-]+$/.test(name)) continue;
    const text = readFileSync(path.join(folder, name), 'utf8');
    for (const [, clear, list, key, value] of text.matchAll(
      /^#clear (\S+);|^(\S+) \{|^(APT::\S+) "(.*)";|^ {2}"(?:.*)";/gm,
    )) {
      void list;
      if (clear) lines.splice(0, lines.length, ...lines.filter((line) => !line.startsWith(clear)));
      if (key) lines.push(`${key} "${value}";`);
    }
    for (const [, origin] of text.matchAll(/^ {2}"(.*)";/gm))
      lines.push(`Unattended-Upgrade::Origins-Pattern:: "${origin}";`);
  }
  return lines.join('\n');
}

export async function aptMachine(
  policy = recordedPolicy('debian-12'),
  places: Parameters<typeof systemMachine>[1] = {},
) {
  const world = { policy, isInstalled: false, hasApt: true, timer: 'active' };
  const at = await systemMachine((command) => {
    if (!world.hasApt && /^(?:apt|dpkg)/.test(command)) return undefined;
    if (command === 'apt-cache policy') return { code: 0, text: world.policy };
    if (command === 'apt-config dump') return { code: 0, text: aptConfig(path.join(at.prefix, 'etc/apt/apt.conf.d')) };
    if (command.startsWith('dpkg-query'))
      return world.isInstalled ? { code: 0, text: 'install ok installed' } : { code: 1, text: 'no packages found' };
    if (command.startsWith('systemctl is-active')) return { code: 0, text: world.timer };
    return { code: 0, text: 'apt 2.6.1' };
  }, places);
  at.packages.next = async (name) => {
    if (name === 'install unattended-upgrades') world.isInstalled = true;
    return { code: 0 };
  };
  await at.put('/var/lib/dpkg/lock-frontend', '');
  const signal = new AbortController().signal;
  return Object.assign(at, {
    world,
    codes: () => at.conditions.get().map(({ code }) => code),
    apply: (goal: SystemGoal) => applyUpgrades(goal, at.parts(), signal),
  });
}
/** Files of apt that stood there before the agent. */
export const owners = { [periodicFile]: 'APT::Periodic::Unattended-Upgrade "1";\n', [originsFile]: '// mine\n' };
