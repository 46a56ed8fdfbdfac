import { constants } from 'node:os';

/** SIGTERM … by number; where several names share one, the usual. */
export const signalNames: Readonly<Record<number, string>> = Object.fromEntries(
  Object.entries(constants.signals)
    .toReversed()
    .map(([name, number]) => [number, name]),
);
