// The fields of machines that queries and filters compare, and how their values are written.
import { normalizeTagText } from './tags.ts';

/** Number: in its unit. Span: ms. Version: see `versionNumbers`. */
export type FieldKind = 'text' | 'flag' | 'number' | 'bytes' | 'span' | 'version' | 'state' | 'tag' | 'operation';
interface QueryField {
  readonly kind: FieldKind;
  /** For users, with an example. */
  readonly description: string;
}

/** What machines report, by the names under which the server stores it; `name`: the machine's own. */
export const factFields = {
  name: { kind: 'text', description: 'name of the machine: name~pump' },
  platform: { kind: 'text', description: 'platform=linux/arm64' },
  os: { kind: 'text', description: 'os=debian:12' },
  hostname: { kind: 'text', description: 'hostname~raspberrypi' },
  model: { kind: 'text', description: 'model~"Raspberry Pi 4"' },
  serial: { kind: 'text', description: 'serial=10000000a3b4c5d6' },
  architecture: { kind: 'text', description: 'architecture=aarch64' },
  distribution: { kind: 'text', description: 'distribution~bookworm' },
  kernel: { kind: 'text', description: 'kernel~6.1' },
  agent_version: { kind: 'text', description: 'agent_version!=1.4.0' },
  server_version: { kind: 'text', description: 'server_version=1.4.0' },
  boot_reason: { kind: 'text', description: 'why it started: ordered, power-lost, watchdog, kernel-panic' },
  condition: { kind: 'text', description: 'code or message of a condition that it reports: condition:disk' },
  memory: { kind: 'bytes', description: 'memory<1GB' },
  disk_size: { kind: 'bytes', description: 'disk_size>=32GB' },
  disk_free: { kind: 'bytes', description: 'disk_free<2GB' },
  disk_free_percent: { kind: 'number', description: 'disk_free_percent<10' },
  wear_percent: { kind: 'number', description: 'used share of the life of the disk: wear_percent>=80' },
  temperature: { kind: 'number', description: 'degrees Celsius: temperature>70' },
  reboot_needed: { kind: 'flag', description: 'reboot_needed, reboot_needed=false' },
  upgrades_waiting: { kind: 'number', description: 'upgrades_waiting>0' },
  security_upgrades_waiting: { kind: 'number', description: 'security_upgrades_waiting>0' },
} as const satisfies Record<string, QueryField>;
export type FactName = keyof typeof factFields;

export const queryFields = {
  state: { kind: 'state', description: 'state:offline, state:online, state:awaiting, state:uninstalled' },
  seen: { kind: 'span', description: 'time since its last contact, in s, min, h, d or w: seen>7d' },
  server: { kind: 'version', description: 'version of the machine server: server<1.2, server:1.4' },
  agent: { kind: 'version', description: 'version of the agent: agent>=0.2' },
  tag: { kind: 'tag', description: 'one of its tags: tag:barn, -tag:barn; tag~ba finds a part of one' },
  location: { kind: 'text', description: 'name or ID of the location: location:"Hof Lindau"' },
  operation: {
    kind: 'operation',
    description: 'the machines of a bulk operation: operation:12, or of one result of it: operation:12/failed',
  },
  id: { kind: 'text', description: 'ID of the machine or of its main part: id:3f2a' },
  host: { kind: 'text', description: 'the same as hostname: host:pi' },
  ...factFields,
} as const satisfies Record<string, QueryField>;
export type FieldName = keyof typeof queryFields;
export const isFieldName = (name: string): name is FieldName => Object.hasOwn(queryFields, name);

const bulkResults = ['waiting', 'done', 'unchanged', 'refused', 'failed'] as const;
const machineStates = ['online', 'offline', 'awaiting', 'uninstalled'] as const;

export type Operator = '=' | '!=' | '<' | '<=' | '>' | '>=' | '~';
/** As written, the long ones first. A colon is the usual comparison of the field: `~` of a text, otherwise `=`. */
export const writtenOperators = ['!=', '<=', '>=', '=', '<', '>', '~', ':'] as const;
export type WrittenOperator = (typeof writtenOperators)[number];

const order: readonly Operator[] = ['<', '<=', '>', '>='];
const allowed: Readonly<Record<FieldKind, readonly Operator[]>> = {
  text: ['=', '!=', '~'],
  flag: ['=', '!='],
  number: ['=', '!=', ...order],
  bytes: ['=', '!=', ...order],
  version: ['=', '!=', ...order, '~'],
  state: ['=', '!='],
  tag: ['=', '!=', '~'],
  operation: ['=', '!='],
  span: order,
};
const expected: Readonly<Record<FieldKind, string>> = {
  text: 'a text without NUL',
  flag: 'true or false',
  number: 'a number',
  bytes: 'a size, for example 500MB or 2GiB',
  version: 'a version, for example 1.4 or 1.4.0',
  state: machineStates.join(', '),
  operation: `a number, also with a result: 12/${bulkResults.join(', 12/')}`,
  tag: 'a tag of letters, digits and . _ : / -',
  span: 'a time, for example 30min, 12h or 7d',
};

const sizes: Readonly<Record<string, number>> = {
  '': 1,
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
  tib: 2 ** 40,
};
const spans: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** Whether a word can be the unit of the number before it. */
export const isUnitOf = (kind: FieldKind, word: string): boolean =>
  word !== '' && Object.hasOwn(kind === 'bytes' ? sizes : kind === 'span' ? spans : {}, word.toLowerCase());

export interface Comparison {
  readonly field: FieldName;
  readonly operator: Operator;
  readonly value: string | number | boolean;
}

/** @returns the comparison, or why there is none, to follow after "…: ". */
export function readComparison(
  field: FieldName,
  written: WrittenOperator,
  text: string,
): { comparison: Comparison } | { problem: string } {
  const { kind } = queryFields[field];
  const value = valueOf(kind, text);
  if (value === undefined) return { problem: `the value of ${field} must be ${expected[kind]}` };
  const operator = operatorOf(kind, written);
  if (!allowed[kind].includes(operator))
    return { problem: `${field} can be compared by ${allowed[kind].join(' ')} only` };
  if (kind === 'version' && order.includes(operator) && !versionNumbers(text))
    return { problem: `the value of ${field} must be ${expected.version}` };
  return { comparison: { field, operator, value } };
}

const operatorOf = (kind: FieldKind, written: WrittenOperator): Operator =>
  written === ':' ? (kind === 'text' ? '~' : '=') : written;

function valueOf(kind: FieldKind, text: string): Comparison['value'] | undefined {
  if (kind === 'text' || kind === 'version') return text === '' || text.includes('\0') ? undefined : text;
  if (kind === 'tag') return normalizeTagText(text);
  if (kind === 'operation') return isOperation(text.toLowerCase()) ? text.toLowerCase() : undefined;
  if (kind === 'flag') return text === 'true' || text === 'false' ? text === 'true' : undefined;
  if (kind === 'state') return machineStates.find((state) => state === text.toLowerCase());
  const [, digits, unit = ''] = /^(-?\d{1,15}(?:\.\d{1,9})?)\s*([a-z]{0,3})$/i.exec(text) ?? [];
  const units = kind === 'bytes' ? sizes : kind === 'span' ? spans : { '': 1 };
  const scale = Object.hasOwn(units, unit.toLowerCase()) ? units[unit.toLowerCase()] : undefined;
  return digits === undefined || scale === undefined ? undefined : Number(digits) * scale;
}

function isOperation(text: string): boolean {
  const [number = '', result, ...more] = text.split('/');
  const isResult = result === undefined || bulkResults.some((one) => one === result);
  return /^\d{1,9}$/.test(number) && isResult && more.length === 0;
}

/**
 * The numbers of a version as it is written in a query, which may leave out the last ones: 1.4 stands for each 1.4.x. A
 * fourth number, 0 or 1, says whether a whole version is a release: 1.4.0-rc.1 comes before 1.4.0.
 */
export function versionNumbers(text: string): number[] | undefined {
  const [, major, minor, patch, rest] =
    /^v?(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?([-+][0-9A-Za-z.+-]{1,100})?$/.exec(text) ?? [];
  if (major === undefined) return undefined;
  const numbers = [major, minor, patch].filter((part) => part !== undefined).map(Number);
  if (patch === undefined) return rest === undefined ? numbers : undefined;
  return [...numbers, rest?.startsWith('-') === true ? 0 : 1];
}
