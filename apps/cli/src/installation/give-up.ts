// Whether a version on trial that ends again and again is still worth waiting for. Pure.
import { temporaryFailure } from '@platform/contract/releases/start-failure';

/** A start that fails in the same way twice fails always: no user waits for a third. */
const certainEnds = 2;
/** Failures that may pass: another process with the port, a database that starts, memory that another program took. */
const possibleEnds = 5;

export interface Ends {
  /** How often the processes of the version ended by themselves. */
  readonly count: number;
  /** Exit status of the last one; undefined: a signal ended it. 0: it was not seen, or that of the version before. */
  readonly status: number | undefined;
}

/** @param ends - of a version that was never ready. */
export const isHopeless = ({ count, status }: Ends): boolean =>
  count >= (status === undefined || status === 0 || status === temporaryFailure ? possibleEnds : certainEnds);
