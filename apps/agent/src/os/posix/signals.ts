import { constants } from 'node:os';

/** Signal names (SIGTERM …) by number; the usual one if several names share a number. */
export const signalNames: Readonly<Record<number, string>> = Object.fromEntries(
  Object.entries(constants.signals)
    .toReversed()
    .map(([name, number]) => [number, name]),
);
