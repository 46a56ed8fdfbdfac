/** All times below are in ms. */
export type Online = 'online' | 'offline' | 'awaiting setup';

/** A machine is offline after three missed checks. */
const missedChecks = 3;
/** Tolerance for slow or held checks, so that the state does not flicker. */
const slackMs = 2_000;

/** How long a machine counts as online after its last check. */
export const onlineForMs = (checkMs: number): number => missedChecks * checkMs + slackMs;

/** @param lastSeen - ms since 1970; undefined: never. */
export function onlineState(lastSeen: number | undefined, now: number, checkMs: number): Online {
  if (lastSeen === undefined) return 'awaiting setup';
  // A time in the future comes from a clock that was wrong, so it proves nothing about now.
  return Math.abs(now - lastSeen) <= onlineForMs(checkMs) ? 'online' : 'offline';
}

/** A machine that is away for less may be restarting: only a longer absence is a condition and a fact of its history. */
export const absentAfterMs = 5 * 60_000;

/** The server may notice the end of a connection after the last report on another connection. */
export const uninstallLateMs = 5_000;

/**
 * @param uninstalledOn, lastSeen - ms since 1970. @returns whether the agent reported its removal and was not seen
 * since.
 */
export const isUninstalled = (uninstalledOn: number | null, lastSeen: number | undefined): uninstalledOn is number =>
  uninstalledOn !== null && (lastSeen === undefined || lastSeen <= uninstalledOn + uninstallLateMs);

const shortestMs = 5_000;
const longestMs = 60_000;
/** Highest rate of checks for one server, until machines reach the longest interval. */
const checksPerSecond = 200;

/** Interval between two checks of a machine; it grows with the number of machines. Whole ms. */
export const checkInterval = (machines: number): number =>
  Math.round(Math.min(longestMs, Math.max(shortestMs, (machines / checksPerSecond) * 1000)));

/** Interval at which a machine polls for a requested restart, ms: 2 s for small numbers of machines. */
export const restartInterval = (checkMs: number): number => Math.round(checkMs * 0.4);
