import { existsSync, lstatSync, renameSync } from 'node:fs';
import path from 'node:path';
import { enabledUnits, places, units } from './places.ts';
import { currentLink } from './state.ts';
import { attempt, switchLink, systemctl, targetOf } from './system.ts';

const source = (unit: string): string => path.join(currentLink, 'systemd', unit);

/** Whether the unit is that of the version in use, not a file that a user put in its place. */
export const isOwnUnit = (unit: string): boolean => targetOf(path.join(places.units, unit)) === source(unit);

/**
 * Links the units to those of the version in use: a switch of `current` switches them, too. A unit that a user
 * replaced is kept beside as `.old`.
 *
 * @returns the units that were new or replaced, and the copies of replaced ones.
 */
export function linkUnits(): { changed: string[]; kept: string[] } {
  const changed: string[] = [];
  const kept: string[] = [];
  for (const unit of Object.values(units)) {
    const link = path.join(places.units, unit);
    if (isOwnUnit(unit)) continue;
    if (lstatSync(link, { throwIfNoEntry: false })) {
      const copy = freeName(`${link}.old`);
      renameSync(link, copy);
      kept.push(copy);
    }
    switchLink(link, source(unit));
    changed.push(unit);
  }
  return { changed, kept };
}

function freeName(file: string): string {
  for (let n = 0; ; n++) {
    const name = n === 0 ? file : `${file}.${n}`;
    if (!existsSync(name)) return name;
  }
}

/** @returns whether one was not enabled. */
export function enableUnits(): boolean {
  systemctl('daemon-reload');
  const isMissing = enabledUnits.some((unit) => !isEnabled(unit));
  if (isMissing) systemctl('enable', '--quiet', ...enabledUnits);
  return isMissing;
}

export const isEnabled = (unit: string): boolean => {
  const target = unit.endsWith('.timer') ? 'timers' : 'multi-user';
  return targetOf(path.join(places.units, `${target}.target.wants`, unit)) !== undefined;
};

/** Stops and forgets all units. Settings that a user added to a unit stay. */
export function removeUnits(): void {
  const all = Object.values(units);
  attempt('systemctl', 'disable', '--quiet', ...enabledUnits);
  attempt('systemctl', 'stop', ...all);
  for (const unit of all) attempt('rm', '-f', path.join(places.units, unit));
  attempt('systemctl', 'daemon-reload');
  attempt('systemctl', 'reset-failed', ...all);
}
