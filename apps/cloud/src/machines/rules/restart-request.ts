/**
 * A restart that a person asks for is for the machine server of that moment. An hour later nobody waits for it any more; the machine
 * itself lets go of one that a later start has made good.
 */
export const restartLifeMs = 3_600_000;

/** @param requestedOn - ms since 1970; null: none was asked for. */
export const isRestartWaiting = (requestedOn: number | null, now: number): requestedOn is number =>
  requestedOn !== null && now - requestedOn < restartLifeMs;
