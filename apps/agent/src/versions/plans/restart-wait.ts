import { isInWindow, windowOpening } from '@platform/contract/maintenance-window';
import type { Actual, Wanted } from '../../state/state.ts';

/**
 * Whether a restart for a new version is allowed. The server (spec, Versioning 2) must be running and allow it. The
 * maintenance window must also be open or, without a window, the server must have a maintenance sensor. The agent
 * leaves the server running: its window must be open or, without a window, agent_auto_restart must be set.
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

/** Why a restart for a new version waits, as a clause. Empty: it does not wait, or only a user can end the wait. */
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
