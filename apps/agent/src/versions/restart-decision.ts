import {
  interruptedServer,
  isStuck,
  mayRestart,
  type MaintenanceRules,
  type RestartDecision,
} from '../state/may-restart.ts';
import type { Actual, Settings, UpdateAttempt, Wanted } from '../state/state.ts';
import type { MaintenanceClock, ProgramVersionParts } from './reconciler-state.ts';

const rulesOf = (
  { maintenanceWindows: windows, longestDeferralHours }: Settings,
  { deviceZone, isTimeKnown }: MaintenanceClock,
): MaintenanceRules => ({ windows, longestDeferralHours, deviceZone: deviceZone(), isTimeKnown: isTimeKnown() });

/** Whether this program may restart now to use the linked version. */
export function restartDecision(
  { program, wanted, actual, clock, attempts, maintenance, interruptsServer }: ProgramVersionParts,
  linked: string | null,
): RestartDecision {
  const { settings } = wanted.get();
  const { server } = actual.get();
  return mayRestart(
    rulesOf(settings, maintenance),
    interruptsServer ? interruptedServer(server) : undefined,
    clock.wall(),
    {
      isAllowedWithoutWindow: program === 'agent' && settings.isAgentRestartAllowed,
      isRepair: program === 'server' && isStuck(server, clock.now()),
      neededSinceWall: stagedSince(attempts.get(program), linked, maintenance),
    },
  );
}

/** Whether the machine may reboot now for upgrades of its operating system, needed since this time. */
export const systemRebootDecision = (
  { settings }: Wanted,
  { server }: Actual,
  maintenance: MaintenanceClock,
  wall: number,
  sinceWall: number,
): RestartDecision =>
  mayRestart(rulesOf(settings, maintenance), interruptedServer(server), wall, {
    isAllowedWithoutWindow: false,
    neededSinceWall: maintenance.sinceOf(sinceWall),
  });

/** When the linked version was stored and began to wait. */
const stagedSince = (
  last: UpdateAttempt | undefined,
  linked: string | null,
  { sinceOf }: MaintenanceClock,
): number | undefined => (last?.at === 'staged' && last.id === linked ? sinceOf(last.sinceWall) : undefined);

/** Why the linked version waits, if time or the machine server ends the wait; undefined: only a user can. */
export function waitOf(parts: ProgramVersionParts, linked: string | null): RestartDecision | undefined {
  const answer = restartDecision(parts, linked);
  const isRestricted = parts.wanted.get().settings.maintenanceWindows.length > 0;
  const isWaiting = isRestricted || parts.actual.get().server.hasMaintenance;
  return answer.is !== 'allowed' && isWaiting ? answer : undefined;
}
