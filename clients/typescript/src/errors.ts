import { Code, ConnectError } from '@connectrpc/connect';
import {
  type ErrorRow,
  connectCode,
  errorCodeOf,
  errorDomain,
  errorTable,
  isErrorCode,
} from '@platform/contract/errors/errors';
import { ErrorInfoSchema } from '@platform/contract/gen/google/rpc/error_details_pb';

/** The error of every failed call. `code` is stable: branch on it, never on the message. */
export class PlatformApiError extends Error {
  /** Row of the error table (docs/generated/errors.md), or the name of the RPC status if the server sent no row. */
  readonly code: string;
  /** Name of the RPC status, for example not_found. */
  readonly status: string;
  /** What happened, one sentence. */
  readonly what: string;
  /** What to do about it; empty if unknown. */
  readonly remedy: string;
  /** Values of the error, for example { datasetId }. */
  readonly data: Readonly<Record<string, string>>;
  /** Whether to repeat the same call: never, later (with backoff), now (once, immediately). */
  readonly retry: ErrorRow['retry'];

  constructor(
    fields: Pick<PlatformApiError, 'code' | 'status' | 'what' | 'remedy' | 'data' | 'retry'>,
    cause?: unknown,
  ) {
    super([`${fields.code}: ${fields.what}`, fields.remedy].filter((text) => text !== '').join(' '), { cause });
    this.name = 'PlatformApiError';
    this.code = fields.code;
    this.status = fields.status;
    this.what = fields.what;
    this.remedy = fields.remedy;
    this.data = fields.data;
    this.retry = fields.retry;
  }
}

const statusNames = new Map<number, string>(Object.entries(connectCode).map(([name, number]) => [number, name]));
const statusName = (code: Code): string => statusNames.get(code) ?? 'unknown';

const transient: ReadonlySet<Code> = new Set([Code.Unavailable, Code.DeadlineExceeded, Code.Aborted]);

const known = (code: string): ErrorRow | undefined => (isErrorCode(code) ? errorTable[code] : undefined);

/** Creates the error of a table row on the client's side. */
export const localError = (
  code: keyof typeof errorTable,
  what: string,
  data: Readonly<Record<string, string>>,
  cause?: unknown,
): PlatformApiError => {
  const { rpc, retry, remedy } = errorTable[code];
  return new PlatformApiError({ code, status: rpc, what, remedy, data, retry }, cause);
};

/** Converts the error of a failed call. An aborted call rejects with the reason of its signal instead. */
export function apiError(error: unknown, url: string, signal?: AbortSignal): unknown {
  if (signal?.aborted) return signal.reason;
  if (error instanceof PlatformApiError) return error;
  const connect = ConnectError.from(error);
  const info = connect.findDetails(ErrorInfoSchema).find((detail) => detail.domain === errorDomain);
  if (!info && connect.cause instanceof TypeError) {
    return localError(
      'OFFLINE',
      `The server ${url} cannot be reached: ${networkCause(connect.cause)}.`,
      { url },
      error,
    );
  }
  if (!info && connect.code === Code.DeadlineExceeded)
    return localError('CALL_TIMED_OUT', `The server ${url} did not answer in time.`, { url }, error);
  const status = statusName(connect.code);
  const code = info?.reason ?? errorCodeOf(connect) ?? status.toUpperCase();
  const row = known(code);
  const { what = withoutCode(connect.rawMessage, code), remedy = row?.remedy ?? '', ...data } = info?.metadata ?? {};
  return new PlatformApiError(
    { code, status, what, remedy, data, retry: row?.retry ?? (transient.has(connect.code) ? 'later' : 'never') },
    error,
  );
}

const withoutCode = (message: string, code: string): string =>
  message.startsWith(`${code}: `) ? message.slice(code.length + 2) : message;

/** fetch reports only "fetch failed"; Node keeps the reason in the cause. */
function networkCause(error: TypeError): string {
  const cause = error.cause instanceof Error ? error.cause : error;
  const first = cause instanceof AggregateError ? cause.errors[0] : cause;
  return first instanceof Error ? first.message : error.message;
}

/** Converts a plain HTTP error response. */
export async function httpError(response: Response, url: string): Promise<PlatformApiError> {
  const text = await response.text();
  const body = readBody(text);
  const row = known(body.code ?? '');
  return new PlatformApiError({
    code: body.code ?? `HTTP_${response.status}`,
    status: row?.rpc ?? 'unknown',
    what: body.message ?? `${url} answered ${response.status}${text === '' ? '' : `: ${text.slice(0, 200)}`}`,
    remedy: body.remedy ?? row?.remedy ?? '',
    data: { url },
    retry: row?.retry ?? (response.status >= 500 ? 'later' : 'never'),
  });
}

function readBody(text: string): { code?: string; message?: string; remedy?: string } {
  try {
    const json: unknown = JSON.parse(text);
    return typeof json === 'object' && json !== null ? json : {};
  } catch {
    // A proxy in between may answer without JSON.
    return {};
  }
}
