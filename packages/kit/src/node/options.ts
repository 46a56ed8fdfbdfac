import { Secret } from '../log.ts';
import { readTextSync } from './text-file.ts';

interface Described {
  description: string;
  /** One letter: `-c FILE`. */
  short?: string;
  /** A second long name, camelCase; accepted, but not in the usage text. */
  alias?: string;
  /** Environment variable that replaces the one derived from prefix and name; '' for none. */
  env?: string;
}
/** `secret` values become a `Secret` and never appear in a message. `choices` limits a string. */
type OptionSpec = Described &
  (
    | { type: 'string'; default?: string; choices?: readonly string[] }
    /** White space around it is removed, unless it `isVerbatim`: a passphrase that a user chose. */
    | { type: 'secret'; isVerbatim?: true }
    | { type: 'number'; default?: number; min?: number; max?: number }
    | { type: 'boolean'; default?: boolean }
    /** Positional arguments; `words`: their name in the usage text. */
    | { type: 'rest'; words?: string }
  );
export type OptionTable = Record<string, OptionSpec>;

type Value<O extends OptionSpec> = O extends { type: 'rest' }
  ? string[]
  : O extends { type: 'boolean' }
    ? boolean
    : O extends { type: 'secret' }
      ? Secret | undefined
      : O extends { type: 'number' }
        ? O extends { default: number }
          ? number
          : number | undefined
        : O extends { choices: readonly (infer C)[] }
          ? O extends { default: string }
            ? C
            : C | undefined
          : O extends { default: string }
            ? string
            : string | undefined;
export type OptionValues<T extends OptionTable> = { -readonly [K in keyof T]: Value<T[K]> };

/** Thrown for `--help` (exitCode 0) and for invalid options (exitCode 2); `message` is for the user. */
export class Usage extends Error {
  readonly exitCode: 0 | 2;
  constructor(text: string, exitCode: 0 | 2) {
    super(text);
    this.name = 'Usage';
    this.exitCode = exitCode;
  }
}

interface Source {
  program?: string;
  about?: string;
  /** Without the interpreter and the script: `process.argv.slice(2)`. */
  argv: readonly string[];
  env: Record<string, string | undefined>;
  /** Prefix of the environment variables; default `PLATFORM`. */
  envPrefix?: string;
  /** A parsed JSON object with snake_case keys. */
  file?: unknown;
  /** Alternatively the option whose value is the path of such a file. */
  fileFrom?: string;
}

const flagOf = (name: string): string => `--${name.replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`)}`;
const keyOf = (name: string): string => name.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`);

/**
 * Reads the options of a program from its table (camelCase names). Precedence: flag `--max-age 3` or `--max-age=3`,
 * `--no-debug`; environment `PLATFORM_MAX_AGE`; `max_age` of the JSON file; the default. Decision 0154.
 *
 * @throws Usage
 */
export function options<const T extends OptionTable>(table: T, source: Source): OptionValues<T> {
  const prefix = source.envPrefix ?? 'PLATFORM';
  const envOf = (name: string) => table[name]?.env ?? `${prefix}_${keyOf(name).toUpperCase()}`;
  const flags = readFlags(table, source, envOf);

  const valueOf = (name: string, file: Record<string, unknown>, fileName: string): unknown => {
    const spec = table[name]!;
    if (spec.type === 'rest') return flags.rest;
    const flag = flags.named.get(name);
    if (flag !== undefined) return read(spec, flag, `option ${flagOf(name)}`);
    // Files of variables that Windows wrote leave a carriage return at the end.
    const found = envOf(name) === '' ? undefined : source.env[envOf(name)];
    const env = 'isVerbatim' in spec ? found : found?.trimEnd();
    if (env !== undefined && env !== '') return read(spec, env, `environment variable ${envOf(name)}`);
    const inFile = file[keyOf(name)];
    if (inFile !== undefined) return read(spec, inFile, `${keyOf(name)} in ${fileName}`);
    return 'default' in spec ? spec.default : spec.type === 'boolean' ? false : undefined;
  };

  let file: unknown = source.file ?? {};
  let fileName = 'the options file';
  if (source.fileFrom !== undefined) {
    const from = valueOf(source.fileFrom, {}, '');
    if (typeof from === 'string' && from !== '') {
      fileName = from;
      file = readOptionsFile(from, flagOf(source.fileFrom));
    }
  }
  if (typeof file !== 'object' || file === null || Array.isArray(file)) {
    throw new Usage(`${fileName} must hold one JSON object, such as {"debug": true}.`, 2);
  }
  const known = new Map(Object.keys(table).map((name) => [keyOf(name), name]));
  for (const key of Object.keys(file)) {
    if (!known.has(key))
      throw new Usage(`${fileName} has an unknown key ${key}. Known: ${[...known.keys()].join(', ')}.`, 2);
  }
  return Object.fromEntries(
    Object.keys(table).map((name) => [name, valueOf(name, file as Record<string, unknown>, fileName)]),
  ) as OptionValues<T>;
}

function readFlags(
  table: OptionTable,
  source: Source,
  envOf: (name: string) => string,
): { named: Map<string, string | boolean>; rest: string[] } {
  const byFlag = new Map(
    Object.entries(table).flatMap(([name, { short, alias }]) => [
      [flagOf(name), name] as const,
      ...(short === undefined ? [] : [[`-${short}`, name] as const]),
      ...(alias === undefined ? [] : [[flagOf(alias), name] as const]),
    ]),
  );
  const restName = Object.keys(table).find((name) => table[name]?.type === 'rest');
  const named = new Map<string, string | boolean>();
  const rest: string[] = [];
  const argv = [...source.argv];
  for (let word = argv.shift(); word !== undefined; word = argv.shift()) {
    if (word === '--help' || word === '-h') throw new Usage(helpText(table, source, envOf), 0);
    if (word === '--') {
      rest.push(...argv.splice(0));
    } else if (!word.startsWith('-') || word === '-') {
      rest.push(word);
    } else {
      const equals = word.indexOf('=');
      const flag = equals < 0 ? word : word.slice(0, equals);
      const off = flag.startsWith('--no-') ? byFlag.get(`--${flag.slice(5)}`) : undefined;
      const name = byFlag.get(flag) ?? off;
      const spec = name === undefined ? undefined : table[name];
      if (!name || !spec || spec.type === 'rest' || (off === name && spec.type !== 'boolean')) {
        throw new Usage(`Unknown option ${flag}. See ${source.program ?? 'the program'} --help.`, 2);
      }
      if (spec.type === 'boolean') {
        if (off === name && equals >= 0) throw new Usage(`Option ${flag} takes no value.`, 2);
        named.set(name, equals < 0 ? off !== name : word.slice(equals + 1));
      } else {
        const value = equals < 0 ? argv.shift() : word.slice(equals + 1);
        if (value === undefined) throw new Usage(`Option ${flag} needs a value: ${flag} <${spec.type}>.`, 2);
        named.set(name, value);
      }
    }
  }
  if (rest.length > 0 && restName === undefined) {
    throw new Usage(`Unexpected word "${rest[0]}". See ${source.program ?? 'the program'} --help.`, 2);
  }
  return { named, rest };
}

function read(spec: OptionSpec, raw: unknown, where: string): unknown {
  const wrong = (limit: string): Usage =>
    new Usage(`${where} must be ${limit}${spec.type === 'secret' ? '' : `, not ${JSON.stringify(raw)}`}.`, 2);
  switch (spec.type) {
    case 'boolean':
      if (typeof raw === 'boolean') return raw;
      if (raw === 'true' || raw === '1') return true;
      if (raw === 'false' || raw === '0') return false;
      throw wrong('true or false');
    case 'number': {
      const value = typeof raw === 'string' && raw.trim() !== '' ? Number(raw) : raw;
      const { min = -Infinity, max = Infinity } = spec;
      if (typeof value === 'number' && Number.isFinite(value) && value >= min && value <= max) return value;
      if (min > -Infinity && max < Infinity) throw wrong(`a number from ${min} to ${max}`);
      throw wrong(
        min > -Infinity ? `a number of at least ${min}` : max < Infinity ? `a number of at most ${max}` : 'a number',
      );
    }
    case 'secret':
      if (typeof raw !== 'string') throw wrong('a string');
      return new Secret(spec.isVerbatim ? raw : raw.trim()); // files with one secret end with a line end
    case 'string':
      if (typeof raw !== 'string') throw wrong('a string');
      if (spec.choices && !spec.choices.includes(raw)) throw wrong(`one of ${spec.choices.join(', ')}`);
      return raw;
    case 'rest':
      throw wrong('given as words after the options');
  }
}

function readOptionsFile(file: string, flag: string): unknown {
  try {
    return JSON.parse(readTextSync(file)) as unknown;
  } catch (error) {
    const why = error instanceof SyntaxError ? 'is not valid JSON' : 'cannot be read';
    throw new Usage(`${file}, given by ${flag}, ${why}: ${error instanceof Error ? error.message : String(error)}.`, 2);
  }
}

function helpText(table: OptionTable, source: Source, envOf: (name: string) => string): string {
  const rows = Object.entries(table)
    .filter(([, spec]) => spec.type !== 'rest')
    .map(([name, spec]) => {
      const value =
        spec.type === 'boolean' ? '' : ` <${'choices' in spec && spec.choices ? spec.choices.join('|') : spec.type}>`;
      const standard = 'default' in spec && spec.default !== undefined ? ` [default: ${String(spec.default)}]` : '';
      const short = spec.short === undefined ? '' : `-${spec.short}, `;
      const env = envOf(name) === '' ? '' : ` [env: ${envOf(name)}]`;
      return [`  ${short}${flagOf(name)}${value}`, `${spec.description}${standard}${env}`] as const;
    });
  const width = Math.max(8, ...rows.map(([left]) => left.length)) + 2;
  const rest = Object.entries(table).map(([name, spec]) =>
    spec.type === 'rest' ? ` ${spec.words ?? `[${name}…]`}` : '',
  );
  const usage = `Usage: ${source.program ?? 'program'} [options]${rest.join('')}`;
  return [
    ...(source.about === undefined ? [] : [source.about, '']),
    usage,
    '',
    ...rows.map(([left, right]) => left.padEnd(width) + hanging(right, width)),
    '  --help'.padEnd(width) + 'Show this text.',
  ].join('\n');
}

const helpColumns = 100;

/** Wraps the text at spaces with a hanging indent. */
function hanging(text: string, indent: number): string {
  const room = Math.max(30, helpColumns - indent);
  const lines: string[] = [];
  for (const word of text.split(/ (?![^[]*\])/)) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > room) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines.join(`\n${' '.repeat(indent)}`);
}
