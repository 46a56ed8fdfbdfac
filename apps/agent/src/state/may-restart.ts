// Decides when a restart may interrupt a machine: specification, Versioning 2. Pure: the time is a parameter.
import type { MaintenanceWindow } from '@platform/contract/config/agent-config';
import { windowState, windowTimeText } from '@platform/contract/config/maintenance-window';
import type { ServerStatus } from './state.ts';

const hourMs = 3_600_000;
/** A server that says nothing for this long does not forbid a restart any more. */
export const longestSilenceMs = 10 * 60_000;
/** A server that needs longer than this to get ready may be replaced at once. */
const usualStartMs = 60_000;

export interface MaintenanceRules {
  /** Empty: none is configured. */
  windows: readonly MaintenanceWindow[];
  /** 0: never. */
  longestDeferralHours: number;
  /** Time zone of this machine, for windows that use it. */
  deviceZone: string;
  /** False: the clock of this machine may be wrong by any amount. */
  isTimeKnown: boolean;
}

/** The state of the machine server that a restart interrupts. */
export interface InterruptedServer extends Pick<
  ServerStatus,
  'at' | 'isRestartAllowed' | 'hasMaintenance' | 'maintenanceDenial' | 'silentSinceWall'
> {
  isChanging: boolean;
}

/** What is to be restarted. */
export interface RestartRequest {
  /** The answer if neither a window nor a maintenance sensor is configured. */
  isAllowedWithoutWindow: boolean;
  /** The restart ends a failure and interrupts nothing. */
  isRepair?: boolean;
  /** Since when the restart is needed, ms since 1970; undefined: unknown. */
  neededSinceWall?: number | undefined;
}

export interface RestartDecision {
  is: 'allowed' | 'denied' | 'unknown';
  /** A clause: "it waits for the window Sat 22:00 Europe/Berlin". */
  reason: string;
  /** When the answer may change, ms since 1970; undefined: unknown. */
  untilWall: number | undefined;
}

/**
 * Whether a restart is allowed now. A window must be open, and the machine server must not object; without a window,
 * its maintenance sensor decides.
 *
 * @param server - undefined: the restart does not interrupt the machine server.
 */
export function mayRestart(
  rules: MaintenanceRules,
  server: InterruptedServer | undefined,
  wall: number,
  { isAllowedWithoutWindow, isRepair = false, neededSinceWall }: RestartRequest,
): RestartDecision {
  if (isRepair) return decision('allowed', 'the machine server does not get ready, so a restart interrupts nothing');
  const { windows, deviceZone } = rules;
  const isRestricted = windows.length > 0 || server?.hasMaintenance === true;
  if (windows.length > 0 && !rules.isTimeKnown)
    return decision('unknown', 'it waits for a maintenance window, and the time of this machine is not known');
  const overdueAt = isRestricted ? overdueWall(rules, neededSinceWall) : Infinity;
  const isOverdue = wall >= overdueAt;
  const window = windows.length > 0 ? windowState(windows, wall, deviceZone) : undefined;
  if (window?.isOpen === false && !isOverdue) return closedDecision(window, overdueAt, wall);
  const objection = server && objectionOf(server, isOverdue, wall);
  if (objection) return objection;
  if (isOverdue) return decision('allowed', 'it has waited for the longest deferral');
  if (window) return decision('allowed', 'the maintenance window is open', window.until);
  if (server?.hasMaintenance) return decision('allowed', 'the maintenance sensor allows it');
  return decision(isAllowedWithoutWindow ? 'allowed' : 'denied', 'no maintenance window is configured');
}

const decision = (is: RestartDecision['is'], reason: string, untilWall?: number): RestartDecision => ({
  is,
  reason,
  untilWall,
});

const overdueWall = ({ longestDeferralHours: hours }: MaintenanceRules, neededSinceWall: number | undefined): number =>
  hours === 0 || neededSinceWall === undefined ? Infinity : neededSinceWall + hours * hourMs;

function closedDecision(
  { until = Infinity, zone }: ReturnType<typeof windowState>,
  overdueAt: number,
  wall: number,
): RestartDecision {
  const opens = until === Infinity ? '' : ` ${windowTimeText(until, zone, wall)}`;
  const reason =
    opens === '' ? 'it waits for a window that does not open within two weeks' : `it waits for the window${opens}`;
  return overdueAt < until
    ? decision('denied', `${reason}, at most until ${windowTimeText(overdueAt, zone, wall)}`, overdueAt)
    : decision('denied', reason, until === Infinity ? undefined : until);
}

/** Why the machine server must not be interrupted now; undefined: it may be. */
function objectionOf(server: InterruptedServer, isOverdue: boolean, wall: number): RestartDecision | undefined {
  if (server.at === 'starting' || server.at === 'stopping')
    return decision('denied', `the machine server is ${server.at}`);
  if (server.at !== 'running' || server.isRestartAllowed === true) return undefined;
  if (server.isRestartAllowed === false) {
    if (server.maintenanceDenial === '' || server.isChanging)
      return decision('denied', 'the machine server says that it is busy');
    return isOverdue
      ? undefined
      : decision('denied', `it waits for the maintenance sensor (${server.maintenanceDenial})`);
  }
  const silentUntil = (server.silentSinceWall ?? wall) + longestSilenceMs;
  return wall >= silentUntil
    ? undefined
    : decision('unknown', 'the machine server does not say whether it is busy', silentUntil);
}

export const interruptedServer = (server: ServerStatus): InterruptedServer => ({
  ...server,
  isChanging: server.config?.isChanging ?? false,
});

/**
 * Whether the machine server runs without getting ready. Such a server answers no question, and would block the version
 * that repairs it.
 *
 * @param now - monotonic ms.
 */
export const isStuck = ({ at, failures, since }: ServerStatus, now: number): boolean =>
  at === 'starting' && (failures > 0 || (since !== null && now - since >= usualStartMs));
