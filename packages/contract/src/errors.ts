import type { DescMessage } from '@bufbuild/protobuf';
import { errorSubjects, errorTable } from './error-table.ts';
import type { ErrorRow, RpcCode } from './error-table.ts';

export { errorSubjects, errorTable };
export type { ErrorRow };

/** Name of one row of the error table; never renamed once it was released. */
export type ErrorCode = keyof typeof errorTable;

/** What an error is about. Secrets never go in here: data reaches logs, clients and the web app. Keys in camelCase. */
export type ErrorData = Readonly<Record<string, string | number>>;

/** A protobuf message that travels beside the error, for example ConfigProblems of INVALID_CONFIG. */
export interface ErrorDetail {
  readonly desc: DescMessage;
  readonly value: object;
}

/** The domain of our google.rpc.ErrorInfo: tells a client that `reason` is a row of this table. */
export const errorDomain = 'platform';

/** gRPC status numbers by their lower-case names (Connect uses the same names and numbers). */
export const connectCode: Readonly<Record<RpcCode, number>> = {
  canceled: 1,
  unknown: 2,
  invalid_argument: 3,
  deadline_exceeded: 4,
  not_found: 5,
  already_exists: 6,
  permission_denied: 7,
  resource_exhausted: 8,
  failed_precondition: 9,
  aborted: 10,
  out_of_range: 11,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  data_loss: 15,
  unauthenticated: 16,
};

const httpStatus: Readonly<Record<RpcCode, number>> = {
  canceled: 499,
  unknown: 500,
  invalid_argument: 400,
  deadline_exceeded: 504,
  not_found: 404,
  already_exists: 409,
  permission_denied: 403,
  resource_exhausted: 429,
  failed_precondition: 412,
  aborted: 409,
  out_of_range: 416,
  unimplemented: 501,
  internal: 500,
  unavailable: 503,
  data_loss: 422,
  unauthenticated: 401,
};

/**
 * A failure that a person or a program may see. Everything else is a bug and stays a plain Error.
 *
 * @example throw new PlatformError('DATASET_NOT_FOUND', { datasetId })
 */
export class PlatformError extends Error {
  readonly code: ErrorCode;
  readonly data: ErrorData;
  /** What happened, one sentence without the remedy. */
  readonly what: string;
  /** What to do about it. */
  readonly remedy: string;
  readonly details: readonly ErrorDetail[];

  /**
   * @param code - row of the error table.
   * @param data - fills the row's sentence; also sent to clients.
   * @param cause - what was caught, for logs only; never sent.
   * @param details - more messages for the wire.
   */
  constructor(code: ErrorCode, data: ErrorData = {}, cause?: unknown, details: readonly ErrorDetail[] = []) {
    const row: ErrorRow = errorTable[code];
    const what = sentence(row.message, data);
    const remedy = sentence(row.remedy, data);
    super(`${code}: ${what} ${remedy}`, cause === undefined ? undefined : { cause });
    this.name = 'PlatformError';
    this.code = code;
    this.data = data;
    this.what = what;
    this.remedy = remedy;
    this.details = details;
  }
}

/**
 * Fills `{name}` from data. A part in square brackets is left out when one of its names has no value.
 *
 * @example sentence('There is no dataset[ {datasetId}].', {}) // 'There is no dataset.'
 */
export function sentence(template: string, data: ErrorData): string {
  const fill = (text: string): string | undefined => {
    let complete = true;
    const filled = text.replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = data[name];
      if (value === undefined || value === '') complete = false;
      return String(value ?? '?');
    });
    return complete ? filled : undefined;
  };
  const parts = template.split(/\[([^\]]*)\]/);
  return parts
    .map((part, i) =>
      i % 2 === 1 ? (fill(part) ?? '') : part.replace(/\{(\w+)\}/g, (_, name: string) => String(data[name] ?? '?')),
    )
    .join('');
}

export const isErrorCode = (text: string): text is ErrorCode => Object.hasOwn(errorTable, text);

/**
 * The row that an error belongs to: of a PlatformError, or of an RPC error that carries one
 * (as google.rpc.ErrorInfo set by a client, or as the start of its message). Undefined for everything else.
 */
export function errorCodeOf(e: unknown): ErrorCode | undefined {
  if (e instanceof PlatformError) return e.code;
  if (typeof e !== 'object' || e === null) return undefined;
  if ('code' in e && typeof e.code === 'string' && isErrorCode(e.code)) return e.code;
  const text =
    'rawMessage' in e && typeof e.rawMessage === 'string' ? e.rawMessage : e instanceof Error ? e.message : '';
  const found = /^(?:\[\w+\] )?([A-Z][A-Z0-9_]+): /.exec(text)?.[1];
  return found !== undefined && isErrorCode(found) ? found : undefined;
}

/** Whether, and how soon, the same call may be tried again; undefined when the error is none of ours. */
export function retryOf(e: unknown): ErrorRow['retry'] | undefined {
  const code = errorCodeOf(e);
  return code && errorTable[code].retry;
}

/** The HTTP status of a row, for plain HTTP routes. */
export function httpStatusOf(code: ErrorCode): number {
  const row: ErrorRow = errorTable[code];
  return row.http ?? httpStatus[row.rpc];
}

/** Content of google.rpc.ErrorInfo for an error: reason = code; the remedy travels in the metadata beside the data. */
export function errorInfoOf(e: PlatformError): { reason: ErrorCode; domain: string; metadata: Record<string, string> } {
  const metadata: Record<string, string> = {};
  for (const [key, value] of Object.entries(e.data)) metadata[key] = String(value);
  return { reason: e.code, domain: errorDomain, metadata: { ...metadata, what: e.what, remedy: e.remedy } };
}
