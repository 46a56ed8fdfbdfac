/**
 * A requested restart is for the machine server that runs at that moment, so the request expires after an hour. The
 * machine itself discards one that is older than its server's start.
 */
export const restartLifeMs = 3_600_000;

/** @param requestedOn - ms since 1970; null: no request. */
export const isRestartWaiting = (requestedOn: number | null, now: number): requestedOn is number =>
  requestedOn !== null && now - requestedOn < restartLifeMs;
