/**
 * The socket through which a machine server sends its log lines to the agent: a Unix stream socket, JSON lines in both
 * directions. The environment variable `machineEnvironment.logSocket` contains its path. docs/machine-server.md
 * describes it in prose.
 *
 * The server starts with a hello; the answer contains the number of its lines that are already stored. Then it sends
 * lines, numbered from 1; each answer contains the number up to which they are stored. The server resends all others on
 * the next connection.
 */
import { isObject, parseObject } from '../text/json-object.ts';
export const logSocketVersion = 1;
/** Limit of one JSON line on the socket. */
export const longestSocketLine = 2 ** 20;

const levels = ['debug', 'info', 'warn', 'error'] as const;

/** First line from the server. */
export interface LogHello {
  readonly log_socket: number;
  /** Unique per start of the server; it scopes the line numbers. */
  readonly boot_id: string;
}

/** A log line on the socket. */
export interface SocketLine {
  /** 1, 2, … */
  readonly sequence: number;
  /** ms since 1970. */
  readonly time: number;
  readonly level: (typeof levels)[number];
  readonly logger: string;
  readonly message: string;
  readonly fields?: Readonly<Record<string, unknown>>;
  /** {Defined, File, Line, Function}. */
  readonly caller?: Readonly<Record<string, unknown>>;
  readonly stack?: string;
}

/** Every answer from the agent; `error`: why it closes the connection. */
export interface LogAnswer {
  readonly log_socket: number;
  /** All lines up to this number are stored. */
  readonly taken: number;
  readonly error?: string;
}

/** Undefined if it is not a hello of a supported version. */
export function parseLogHello(text: string): LogHello | undefined {
  const json = parseObject(text);
  const bootId = json?.['boot_id'];
  if (json?.['log_socket'] !== logSocketVersion || typeof bootId !== 'string') return undefined;
  return bootId === '' || bootId.length > 100 ? undefined : { log_socket: logSocketVersion, boot_id: bootId };
}

/** Undefined if the line cannot be stored. */
export function parseSocketLine(text: string): SocketLine | undefined {
  const json = parseObject(text);
  if (!json) return undefined;
  const { sequence, time, level, logger, message, fields, caller, stack } = json;
  if (!Number.isSafeInteger(sequence) || (sequence as number) < 1 || typeof message !== 'string') return undefined;
  if (typeof time !== 'number' || typeof logger !== 'string') return undefined;
  return {
    sequence: sequence as number,
    time,
    level: levels.find((one) => one === level) ?? 'info',
    logger,
    message,
    ...(isObject(fields) && { fields }),
    ...(isObject(caller) && { caller }),
    ...(typeof stack === 'string' && stack !== '' && { stack }),
  };
}

/** Undefined if it is not an answer of a supported version. */
export function parseLogAnswer(text: string): LogAnswer | undefined {
  const json = parseObject(text);
  const taken = json?.['taken'];
  if (json?.['log_socket'] !== logSocketVersion || !Number.isSafeInteger(taken)) return undefined;
  const error = json['error'];
  return { log_socket: logSocketVersion, taken: taken as number, ...(typeof error === 'string' && { error }) };
}
