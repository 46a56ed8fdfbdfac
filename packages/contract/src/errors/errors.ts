import type { DescMessage } from '@bufbuild/protobuf';
import { errorSubjects, errorTable } from './error-table.ts';
import type { ErrorRow, RpcCode } from './error-table.ts';

export { errorSubjects, errorTable };
export type { ErrorRow };

/** Code of a row of the error table; never renamed after its release. */
export type ErrorCode = keyof typeof errorTable;

/** Data of an error. It must not contain secrets: it reaches logs, clients and the web app. Keys in camelCase. */
export type ErrorData = Readonly<Record<string, string | number>>;

/** A protobuf message sent with the error, for example ConfigProblems of INVALID_CONFIG. */
export interface ErrorDetail {
  readonly desc: DescMessage;
  readonly value: object;
}

/** The domain of our google.rpc.ErrorInfo: it marks `reason` as a code of this table. */
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
 * A failure that a user or a program may see. Any other failure is a defect and stays a plain Error.
 *
 * @example throw new PlatformError('DATASET_NOT_FOUND', { datasetId })
 */
export class PlatformError extends Error {
  readonly code: ErrorCode;
  readonly data: ErrorData;
  /** What happened, one sentence without the remedy. */
  readonly what: string;
  /** What to do. */
  readonly remedy: string;
  readonly details: readonly ErrorDetail[];

  /**
   * @param code - row of the error table.
   * @param data - values for the row's message; also sent to clients.
   * @param cause - the original error, for logs only; never sent.
   * @param details - additional messages for the wire.
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
 * Fills `{name}` from data. A sentence never ends in two full stops. Omits a part in square brackets if one of its names has no value.
 *
 * @example sentence('There is no dataset[ {datasetId}].', {}) // 'There is no dataset.'
 */
export function sentence(template: string, data: ErrorData): string {
  const parts = template.split(/\[([^\]]*)\]/);
  return parts
    .map((part, i) => {
      const isOptional = i % 2 === 1;
      let isComplete = true;
      const filled = part.replace(placeholder, (match, name: string, at: number) => {
        const value = data[name];
        if (value === undefined || value === '') isComplete = false;
        return valueBefore(part[at + match.length] ?? parts[i + 1]?.[0], value);
      });
      return isOptional && !isComplete ? '' : filled;
    })
    .join('');
}

const placeholder = /\{(\w+)\}/g;

/** A value that is a sentence itself ends before the full stop of its row. */
function valueBefore(next: string | undefined, value: string | number | undefined): string {
  const text = String(value ?? '?');
  return next === '.' && text.endsWith('.') ? text.slice(0, -1) : text;
}

export const isErrorCode = (text: string): text is ErrorCode => Object.hasOwn(errorTable, text);

/**
 * The code of an error: of a PlatformError, or of an RPC error that contains one. An RPC error has it as
 * google.rpc.ErrorInfo set by a client, or at the start of its message. Undefined for all other errors.
 */
export function errorCodeOf(e: unknown): ErrorCode | undefined {
  if (e instanceof PlatformError) return e.code;
  if (typeof e !== 'object' || e === null) return undefined;
  if ('code' in e && typeof e.code === 'string' && isErrorCode(e.code)) return e.code;
  const text =
    'rawMessage' in e && typeof e.rawMessage === 'string' ? e.rawMessage : e instanceof Error ? e.message : '';
  const code = /^(?:\[\w+\] )?([A-Z][A-Z0-9_]+): /.exec(text)?.[1];
  return code !== undefined && isErrorCode(code) ? code : undefined;
}

/** Whether and how soon to retry the same call; undefined for other errors than ours. */
export function retryOf(e: unknown): ErrorRow['retry'] | undefined {
  const code = errorCodeOf(e);
  return code && errorTable[code].retry;
}

/** The HTTP status of a row, for plain HTTP routes. */
export function httpStatusOf(code: ErrorCode): number {
  const row: ErrorRow = errorTable[code];
  return row.http ?? httpStatus[row.rpc];
}

/**
 * Content of google.rpc.ErrorInfo: the code is the reason; the metadata contains the data and the remedy.
 *
 * @param requestId - by which the log of the server names the call.
 */
export function errorInfoOf(
  e: PlatformError,
  requestId?: string,
): { reason: ErrorCode; domain: string; metadata: Record<string, string> } {
  const metadata: Record<string, string> = {};
  for (const [key, value] of Object.entries(e.data)) metadata[key] = String(value);
  if (requestId !== undefined) metadata['request_id'] = requestId;
  return { reason: e.code, domain: errorDomain, metadata: { ...metadata, what: e.what, remedy: e.remedy } };
}
