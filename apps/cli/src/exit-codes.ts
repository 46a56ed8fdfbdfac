import { Code, ConnectError } from '@connectrpc/connect';
import { PlatformApiError } from '@platform/client';
import { errorCodeOf, errorDomain, errorTable, PlatformError } from '@platform/contract/errors/errors';
import { ErrorInfoSchema } from '@platform/contract/gen/google/rpc/error_details_pb';
import { isNotText } from '@platform/kit';
import { Usage } from '@platform/kit/node';
import { CommanderError } from 'commander';

/** Exit codes of the program; `platform help exit-codes` shows them. */
export const exitCodes = {
  done: 0,
  failed: 1,
  usage: 2,
  notAllowed: 3,
  notFound: 4,
  jobFailed: 5,
  jobCanceled: 6,
  later: 7,
  savedWithWarnings: 8,
  leftOut: 9,
  stopped: 130,
} as const;

export const exitCodesHelp = `Exit codes of platform

    0  done
    1  it failed, for a reason that is printed
    2  the command line cannot be understood
    3  not signed in, or not allowed
    4  not found
    5  the training job that was waited for has failed, or the script of test-local
    6  the training job that was waited for was canceled
    7  the server cannot be reached or is busy: the same command may work later
    8  saved, but a part of it cannot work: see the warnings
    9  done, but some files, annotations, images or machines were left out: see the lines that say which
  130  stopped by Ctrl-C or a signal

Results go to stdout, everything else to stderr. With --json stdout holds one JSON document
(with logs: one JSON object per line), and an error is one JSON object on stderr.`;

/** Ends the program with a specific exit code; the message goes to stderr. */
export class Ended extends Error {
  readonly exitCode: number;
  constructor(exitCode: number, text: string) {
    super(text);
    this.name = 'Ended';
    this.exitCode = exitCode;
  }
}

export interface Complaint {
  readonly code: string;
  readonly what: string;
  readonly remedy: string;
  /** By which the log of the server names the call. */
  readonly requestId?: string | undefined;
}

/** Code, message and remedy of a failure from the error table. */
export function complaintOf(error: unknown): Complaint | undefined {
  if (error instanceof PlatformError || error instanceof PlatformApiError) {
    const requestId = error.data['request_id'];
    return { code: error.code, what: error.what, remedy: error.remedy, requestId: requestId?.toString() };
  }
  if (isNotText(error)) {
    const { code, what, remedy } = new PlatformError('NOT_TEXT', { source: error.source, problem: error.message });
    return { code, what, remedy };
  }
  if (!(error instanceof ConnectError)) return ofFile(error);
  const info = error.findDetails(ErrorInfoSchema).find((detail) => detail.domain === errorDomain);
  const code = errorCodeOf(error) ?? info?.reason;
  if (code === undefined) return isAway(error) ? offline(error) : undefined;
  const { what = error.rawMessage, remedy = '', request_id: requestId } = info?.metadata ?? {};
  return { code, what, remedy, requestId };
}

const fileProblems: Readonly<Record<string, Complaint>> = {
  ENOENT: {
    code: 'FILE_MISSING',
    what: 'does not exist',
    remedy: 'Check the path; it counts from the folder that you are in.',
  },
  EACCES: {
    code: 'FILE_CLOSED',
    what: 'is closed to you',
    remedy: 'Change its rights, or run the command as its owner.',
  },
  EPERM: {
    code: 'FILE_CLOSED',
    what: 'is closed to you',
    remedy: 'Change its rights, or run the command as its owner.',
  },
  EISDIR: { code: 'FILE_IS_FOLDER', what: 'is a folder', remedy: 'Name a file in it.' },
  ENOTDIR: {
    code: 'FILE_MISSING',
    what: 'leads through a file',
    remedy: 'Check the path: each part but the last must be a folder.',
  },
  EROFS: { code: 'DISK_READ_ONLY', what: 'lies on a disk that is read-only', remedy: 'Name another place.' },
  ENOSPC: {
    code: 'DISK_FULL',
    what: 'has no room: the disk is full',
    remedy: 'Make room, or name another place.',
  },
};

/** The operating system's error about a given file. */
function ofFile(error: unknown): Complaint | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code = '', path } = error as NodeJS.ErrnoException;
  const problem = fileProblems[code];
  return problem && path !== undefined ? { ...problem, what: `${path} ${problem.what}.` } : undefined;
}

const isAway = (error: ConnectError): boolean =>
  error.code === Code.Unavailable || error.code === Code.DeadlineExceeded;
const offline = (error: ConnectError): Complaint => {
  const { code, what, remedy } = new PlatformError('OFFLINE', { problem: error.rawMessage });
  return { code, what, remedy };
};

const mayWorkLater = (error: unknown): boolean => {
  if (error instanceof ConnectError) return isAway(error);
  if (error instanceof PlatformApiError) return error.retry === 'later' && error.code !== 'INTERNAL';
  return error instanceof PlatformError && errorTable[error.code].retry === 'later';
};

/**
 * Whether the program itself refused an option or argument. The server's refusals are PlatformApiError; those of a file's
 * content name the file.
 */
const isOfCommandLine = (error: unknown): boolean =>
  error instanceof PlatformError &&
  error.code === 'INVALID_ARGUMENT' &&
  /^-{0,2}[\w-]+$/.test(String(error.data['field']));

export function exitCodeOf(error: unknown): number {
  if (error instanceof Ended || error instanceof Usage) return error.exitCode;
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
  if (isOfCommandLine(error)) return exitCodes.usage;
  const code = complaintOf(error)?.code ?? '';
  if (/AUTHENTICATED|CREDENTIALS|PERMISSION|NOT_OWNER|TOKEN/.test(code)) return exitCodes.notAllowed;
  if (code.endsWith('NOT_FOUND')) return exitCodes.notFound;
  return mayWorkLater(error) ? exitCodes.later : exitCodes.failed;
}
