import { isRoot } from '../data-folder.ts';
import { PlatformError } from '@platform/contract/errors/errors';
import { existsSync } from 'node:fs';

/** Folders of an installed server. */
export const places = {
  /** One folder for each version, and the links `current` and `proven`. */
  programs: '/opt/platform-management',
  settings: '/etc/platform-management',
  data: '/var/lib/platform-management',
  /** What the installation knows of itself: versions, a switch in progress, snapshots. */
  state: '/var/lib/platform-management/installation',
  units: '/etc/systemd/system',
  command: '/usr/local/bin/platform',
} as const;

export const users = { server: 'platform-management', runner: 'platform-runner' } as const;

export const units = {
  server: 'platform-management.service',
  runner: 'platform-management-runner.service',
  maintenance: 'platform-management-maintenance.service',
  timer: 'platform-management-maintenance.timer',
  switch: 'platform-management-switch.service',
  backup: 'platform-management-backup.service',
  backupTimer: 'platform-management-backup.timer',
} as const;

/** Units that start with the system. */
export const enabledUnits = [units.server, units.runner, units.timer, units.switch, units.backupTimer];

/** @throws PlatformError NEEDS_ROOT, NEEDS_SYSTEMD */
export function requireHost(): void {
  if (!isRoot()) throw new PlatformError('NEEDS_ROOT', {});
  if (!existsSync('/run/systemd/system')) throw new PlatformError('NEEDS_SYSTEMD', {});
}
