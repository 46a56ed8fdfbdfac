import type { Cell } from './cell.ts';
import type { Clock } from './clock.ts';
import { errorText } from './errors.ts';

export const levels = ['debug', 'info', 'warn', 'error'] as const;
export type Level = (typeof levels)[number];

/**
 * `time` in ms since 1970. `message` is constant text; variable values are in `fields`, with secrets already masked.
 */
export interface LogLine {
  time: number;
  level: Level;
  logger: string;
  message: string;
  fields: Record<string, unknown>;
  /** Set by programs that report the source location of a line. */
  caller?: Record<string, unknown>;
  stack?: string;
}
export type Sink = (line: LogLine) => void;

type Write = (message: string, fields?: Record<string, unknown>) => void;
export interface Log {
  debug: Write;
  info: Write;
  warn: Write;
  error: Write;
  /** A log named `<this>.<name>`; adds `fields` to each of its lines. */
  child(name: string, fields?: Record<string, unknown>): Log;
}

export function createLog(of: { name: string; clock: Clock; level: Cell<Level> | Level; sink: Sink }): Log {
  return named(of.name, {}, of);
}

function named(
  name: string,
  always: Record<string, unknown>,
  of: { clock: Clock; level: Cell<Level> | Level; sink: Sink },
): Log {
  const write =
    (level: Level): Write =>
    (message, fields = {}) => {
      const least = typeof of.level === 'string' ? of.level : of.level.get();
      if (levels.indexOf(level) < levels.indexOf(least)) return;
      of.sink({ time: of.clock.wall(), level, logger: name, message, fields: masked({ ...always, ...fields }) });
    };
  return {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    child: (part, fields = {}) => named(`${name}.${part}`, { ...always, ...fields }, of),
  };
}

const mask = '***';

/** A value that only `reveal()` returns: logs, JSON and templates get `***`. */
export class Secret {
  readonly #value: string;
  constructor(value: string) {
    this.#value = value;
  }
  reveal(): string {
    return this.#value;
  }
  toString(): string {
    return mask;
  }
  toJSON(): string {
    return mask;
  }
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return mask;
  }
}

const secretName = /secret|passw|token|psk$|payload|authorization|cookie|credential|private_?key|api_?key$/i;
const inText: readonly [RegExp, string][] = [
  [/([?&](?:[\w-]*-)?(?:token|key|secret|password|signature|sig)=)[^&\s"']+/gi, `$1${mask}`],
  [/(:\/\/[^/\s:@]*:)[^@/\s]+@/g, `$1${mask}@`],
  [/\b(Bearer )[\w.~+/=-]+/gi, `$1${mask}`],
];

/** `fields` as plain JSON values. Masks what is secret by class, by name or by its position in a URL. */
export function masked(fields: Record<string, unknown>, mostDepth = 6): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, plain(name, value, mostDepth)]));
}

/** @param depth - remaining depth: objects can contain themselves. */
function plain(name: string, value: unknown, depth: number): unknown {
  if (value instanceof Secret) return mask;
  if (secretName.test(name) && value && (typeof value === 'string' || typeof value === 'object')) return mask;
  switch (typeof value) {
    case 'string':
      return inText.reduce((text, [pattern, to]) => text.replace(pattern, to), value);
    case 'bigint':
      return String(value);
    case 'object':
      if (value === null) return null;
      if (value instanceof Error) return plain('', errorText(value), depth);
      if (ArrayBuffer.isView(value)) return `${value.byteLength} bytes`;
      if (depth <= 0) return '…';
      if (Array.isArray(value)) return value.map((item) => plain('', item, depth - 1));
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(key, item, depth - 1)]));
    case 'function':
    case 'symbol':
      return undefined;
    default:
      return value;
  }
}
