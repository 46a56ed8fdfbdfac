import { type ErrorCode, errorTable } from '../errors/errors.ts';

/** Exit status of a server that did not start for a reason that may pass by itself: EX_TEMPFAIL of sysexits.h. */
export const temporaryFailure = 75;

/** What another process or the host causes, and not the version or its settings. */
const ofOthers: readonly ErrorCode[] = ['PORT_IN_USE', 'DATA_DIR_IN_USE', 'DATABASE_IN_USE', 'BLOBS_NOT_MOUNTED'];

/** The exit status of a start that failed with this error. */
export const startFailureStatus = (code: ErrorCode): number =>
  errorTable[code].retry === 'later' || ofOthers.includes(code) ? temporaryFailure : 1;
