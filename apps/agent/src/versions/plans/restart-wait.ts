import { isInWindow, windowOpening } from '@platform/contract/maintenance-window';
import type { Actual, Wanted } from '../../state/state.ts';

/**
 * Whether a restart may be made for the sake of a new version. Of the server (spec, Versioning 2): only while maintenance is
 * allowed and it is not busy; without a window never. Of the agent, which leaves the server running: if it may at all.
 */
export function mayRestart(
  program: 'agent' | 'server',
  { settings }: Wanted,
  { server }: Actual,
  wall: number,
): boolean {
  const window = settings.maintenanceWindow;
  const isOpen = window ? isInWindow(window, wall) : undefined;
  if (program === 'agent') return isOpen ?? settings.isAgentRestartAllowed;
  if (server.at !== 'running' || server.isRestartAllowed !== true) return false;
  return isOpen ?? server.hasMaintenance;
}

/** What keeps a restart for a new version from being made by itself, as a clause; empty: nothing that would pass by itself. */
export function restartWait(
  program: 'agent' | 'server',
  { settings }: Wanted,
  { server }: Actual,
  wall: number,
): string {
  const window = settings.maintenanceWindow;
  if (window && !isInWindow(window, wall)) {
    const opening = windowOpening(window, wall);
    return `the maintenance window is closed and ${opening === undefined ? 'does not open within eight days' : `opens on ${opening}`}`;
  }
  if (program === 'agent' || server.at !== 'running' || !(window ?? server.hasMaintenance)) return '';
  if (server.isRestartAllowed === false) return 'the machine server says that it is busy';
  return server.isRestartAllowed === undefined ? 'the machine server does not say whether it is busy' : '';
}
