// Filters of lists of machines: "architecture=aarch64", "disk_free<2GB", "reboot_needed". The management server compares
// them with the last report of each machine; what a machine does not report matches no filter.
import { PlatformError } from './errors.ts';

/** Number: in its unit. */
type FactKind = 'text' | 'flag' | 'number' | 'bytes';
interface FactField {
  readonly kind: FactKind;
  /** For users, with an example. */
  readonly description: string;
}

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
  memory: { kind: 'bytes', description: 'memory<1GB' },
  disk_size: { kind: 'bytes', description: 'disk_size>=32GB' },
  disk_free: { kind: 'bytes', description: 'disk_free<2GB' },
  disk_free_percent: { kind: 'number', description: 'disk_free_percent<10' },
  wear_percent: { kind: 'number', description: 'used share of the life of the disk: wear_percent>=80' },
  temperature: { kind: 'number', description: 'degrees Celsius: temperature>70' },
  reboot_needed: { kind: 'flag', description: 'reboot_needed, reboot_needed=false' },
  upgrades_waiting: { kind: 'number', description: 'upgrades_waiting>0' },
  security_upgrades_waiting: { kind: 'number', description: 'security_upgrades_waiting>0' },
} as const satisfies Record<string, FactField>;
export type FactName = keyof typeof factFields;

const operators = ['!=', '<=', '>=', '=', '<', '>', '~'] as const;
type FilterOperator = (typeof operators)[number];

export interface FactFilter {
  readonly field: FactName;
  readonly operator: FilterOperator;
  readonly value: string | number | boolean;
}

const mostFilters = 10;
const longestFilter = 200;
const pattern = /^\s*([a-z_]+)\s*(?:(!=|<=|>=|=|<|>|~)\s*(.*?))?\s*$/su;
const units: Readonly<Record<string, number>> = {
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

/** @throws PlatformError FILTER_NOT_VALID, FILTER_FIELD_UNKNOWN */
export function parseFilters(texts: readonly string[]): FactFilter[] {
  if (texts.length > mostFilters)
    throw new PlatformError('INVALID_ARGUMENT', {
      field: 'filters',
      value: `${texts.length} filters`,
      limit: `at most ${mostFilters}`,
    });
  return texts.map(parseFilter);
}

function parseFilter(text: string): FactFilter {
  const filter = text.slice(0, longestFilter);
  const refuse = (problem: string): PlatformError => new PlatformError('FILTER_NOT_VALID', { filter, problem });
  if (text.length > longestFilter) throw refuse(`it has more than ${longestFilter} characters`);
  const [, name = '', operator, quoted = ''] = pattern.exec(text) ?? [];
  if (name === '') throw refuse('it does not begin with the name of a field');
  if (!isFactName(name))
    throw new PlatformError('FILTER_FIELD_UNKNOWN', { field: name, fields: Object.keys(factFields).join(', ') });
  const { kind } = factFields[name];
  if (operator === undefined) {
    if (kind !== 'flag') throw refuse(`after ${name} one of ${operators.join(' ')} and a value must follow`);
    return { field: name, operator: '=', value: true };
  }
  const value = valueOf(kind, unquoted(quoted));
  if (value === undefined) throw refuse(`the value of ${name} must be ${expected[kind]}`);
  if (!allowed[kind].includes(operator as FilterOperator))
    throw refuse(`${name} can be compared by ${allowed[kind].join(' ')} only`);
  return { field: name, operator: operator as FilterOperator, value };
}

const isFactName = (name: string): name is FactName => Object.hasOwn(factFields, name);

const allowed: Readonly<Record<FactKind, readonly FilterOperator[]>> = {
  text: ['=', '!=', '~'],
  flag: ['=', '!='],
  number: ['=', '!=', '<', '<=', '>', '>='],
  bytes: ['=', '!=', '<', '<=', '>', '>='],
};
const expected: Readonly<Record<FactKind, string>> = {
  text: 'a text without NUL',
  flag: 'true or false',
  number: 'a number',
  bytes: 'a size, for example 500MB or 2GiB',
};

const unquoted = (text: string): string => /^"(.*)"$/s.exec(text)?.[1] ?? text;

function valueOf(kind: FactKind, text: string): FactFilter['value'] | undefined {
  if (kind === 'text') return text === '' || text.includes('\0') ? undefined : text;
  if (kind === 'flag') return text === 'true' || text === 'false' ? text === 'true' : undefined;
  const [, digits, unit = ''] = /^(-?\d{1,15}(?:\.\d{1,9})?)\s*([a-z]{0,3})$/i.exec(text) ?? [];
  const scale = kind === 'bytes' ? units[unit.toLowerCase()] : unit === '' ? 1 : undefined;
  return digits === undefined || scale === undefined ? undefined : Number(digits) * scale;
}
