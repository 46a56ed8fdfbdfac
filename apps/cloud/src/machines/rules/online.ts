/** Times in ms. */
export type Online = 'online' | 'offline' | 'awaiting setup';

/** Three missed checks: the machine is offline. */
const missedChecks = 3;
/** A check that is held or slow must not flicker. */
const slackMs = 2_000;

/** @param lastSeen - ms since 1970; undefined: never. */
export function onlineState(lastSeen: number | undefined, now: number, checkMs: number): Online {
  if (lastSeen === undefined) return 'awaiting setup';
  // Seen in the future: by a clock that was wrong since. It says nothing of now.
  return Math.abs(now - lastSeen) <= missedChecks * checkMs + slackMs ? 'online' : 'offline';
}

/** The end of a connection may be noticed after the last report that came by another. */
const lateMs = 5_000;

/** @param uninstalledOn, lastSeen - ms since 1970. @returns whether the agent reported that it was removed, and was not seen since. */
export const isUninstalled = (uninstalledOn: number | null, lastSeen: number | undefined): uninstalledOn is number =>
  uninstalledOn !== null && (lastSeen === undefined || lastSeen <= uninstalledOn + lateMs);

const shortestMs = 5_000;
const longestMs = 60_000;
/** Checks that one server is asked to answer per second at most, until the longest interval is reached. */
const checksPerSecond = 200;

/** How long a machine waits between two checks: the more machines there are, the longer. Whole ms. */
export const checkInterval = (machines: number): number =>
  Math.round(Math.min(longestMs, Math.max(shortestMs, (machines / checksPerSecond) * 1000)));

/** How long a machine waits before it asks again whether a person wants a restart, ms: two seconds until there are many of them. */
export const restartInterval = (checkMs: number): number => Math.round(checkMs * 0.4);
