import { randomUUID } from 'node:crypto';
import { Code, ConnectError, type Interceptor } from '@connectrpc/connect';
import { connectCode, errorInfoOf, errorTable, PlatformError } from '@platform/contract/errors/errors';
import { ErrorInfoSchema } from '@platform/contract/gen/google/rpc/error_details_pb';
import { errorText, isAbort, type Log } from '@platform/kit';
import { isDatabaseAway, sqlState } from '../database/database.ts';
import { largestMessage } from './message-limits.ts';

/**
 * The error for a client: a row of the error table, or INTERNAL with an incident ID for the log. It never contains a
 * stack.
 */
export function publicError(error: unknown, log: Log, where: string): PlatformError {
  if (error instanceof PlatformError) return shortened(error);
  const code = String((error as { code?: unknown } | undefined)?.code);
  if (code === 'EMFILE' || code === 'ENFILE') {
    log.error('no file descriptor is left', { where, error: errorText(error) });
    return new PlatformError('OUT_OF_FILES', { what: code === 'EMFILE' ? 'this process' : 'the whole host' }, error);
  }
  if (isDatabaseAway(error)) {
    log.warn('a call failed: the database is away', { where, error: errorText(error) });
    return new PlatformError('DATABASE_UNAVAILABLE', {}, error);
  }
  if (isBadValue(error)) {
    log.info('a value was refused by the database', { where, error: errorText(error) });
    const limit = 'texts without NUL characters, numbers and times within their range, ids of the documented form';
    return new PlatformError('INVALID_ARGUMENT', { field: 'a value of the request', limit }, error);
  }
  if (sqlState(error) === '53100' || code === 'ENOSPC' || code === 'EDQUOT') {
    log.error('the disk is full', { where, error: errorText(error) });
    return new PlatformError('DISK_FULL', {}, error);
  }
  const incident = randomUUID();
  log.error('a call failed unexpectedly', {
    where,
    incident,
    error: errorText(error),
    stack: error instanceof Error ? error.stack : undefined,
  });
  return new PlatformError('INTERNAL', { incident }, error);
}

/** Errors travel in headers, which clients limit in size. The caller knows the value that it sent. */
const longestValue = 200;

function shortened(error: PlatformError): PlatformError {
  const isLong = (value: string | number): value is string => typeof value === 'string' && value.length > longestValue;
  if (!Object.values(error.data).some(isLong)) return error;
  const data = Object.entries(error.data).map(([key, value]) => [
    key,
    isLong(value) ? `${value.slice(0, longestValue).toWellFormed()}…` : value,
  ]);
  return new PlatformError(error.code, Object.fromEntries(data) as typeof error.data, error.cause, error.details);
}

/** A value out of range, malformed, or with a character that PostgreSQL's text does not allow. */
const isBadValue = (error: unknown): boolean => /^22(003|007|008|021|P02|P05)$/.test(sqlState(error) ?? '');

/** Machines add a random delay of their own, so that they do not all retry at once. */
const retrySeconds = '2';

/** @param requestId - of the call that failed. */
export function toConnectError(error: PlatformError, requestId?: string): ConnectError {
  const { rpc, retry } = errorTable[error.code];
  const isBusy = rpc === 'unavailable' || (rpc === 'resource_exhausted' && retry === 'later');
  return new ConnectError(
    error.message,
    connectCode[rpc],
    isBusy ? { 'retry-after': String(error.data['retryAfterS'] ?? retrySeconds) } : undefined,
    [
      { desc: ErrorInfoSchema, value: errorInfoOf(error, requestId) },
      ...error.details.map(({ desc, value }) => ({ desc, value: value as never })),
    ],
  );
}

/** Replaces the library's own errors (unreadable message, unknown method) by the matching row of the error table. */
export function explained(error: ConnectError, where: string): ConnectError {
  if (error.details.length > 0) return error;
  const found = rowOf(error, where);
  return found ? toConnectError(found) : error;
}

/** The library's message contains the limit that was exceeded. */
function limitIn(problem: string): number | undefined {
  const found = /readMaxBytes (\d+)/.exec(problem)?.[1];
  return found === undefined ? undefined : Number(found);
}

function rowOf(error: ConnectError, where: string): PlatformError | undefined {
  const problem = error.rawMessage.slice(0, longestValue).toWellFormed();
  switch (error.code) {
    case Code.ResourceExhausted:
      return new PlatformError('MESSAGE_TOO_LARGE', { limitBytes: limitIn(problem) ?? largestMessage }, error);
    case Code.Unimplemented:
      return new PlatformError('CALL_NOT_OFFERED', { what: `the call ${where}` }, error);
    case Code.DeadlineExceeded:
      return new PlatformError('CALL_TIMED_OUT', {}, error);
    case Code.InvalidArgument:
      return new PlatformError('INVALID_MESSAGE', { problem }, error);
    default:
      return problem.startsWith('parse binary: ')
        ? new PlatformError('INVALID_MESSAGE', { problem }, error)
        : undefined;
  }
}

/** Codes become gRPC statuses only here. */
export const errorInterceptor = (log: Log, requestId: () => string | undefined): Interceptor => {
  const turned = (error: unknown, where: string, { aborted, reason }: AbortSignal): ConnectError => {
    if (error instanceof ConnectError) return explained(error, where);
    // Errors that result from a canceled call are not failures of the server.
    if (aborted && !(error instanceof PlatformError))
      return reason instanceof ConnectError
        ? explained(reason, where)
        : new ConnectError('the call was canceled', Code.Canceled);
    if (isAbort(error)) return new ConnectError('the call was canceled', Code.Canceled);
    return toConnectError(publicError(error, log, where), requestId());
  };
  return (next) => async (request) => {
    const where = `${request.service.typeName}/${request.method.name}`;
    try {
      const response = await next(request);
      if (!response.stream) return response;
      return { ...response, message: guarded(response.message, (error) => turned(error, where, request.signal)) };
    } catch (error) {
      throw turned(error, where, request.signal);
    }
  };
};

async function* guarded<T>(messages: AsyncIterable<T>, turned: (error: unknown) => ConnectError): AsyncGenerator<T> {
  try {
    yield* messages;
  } catch (error) {
    throw turned(error);
  }
}
