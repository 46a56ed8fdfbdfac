import type { Schema } from './config-json-schema.ts';

/** Sections of the `agent` object: key, name of the interface. */
const sections = [
  ['version_control', 'VersionControl'],
  ['advanced_settings', 'AdvancedSettings'],
  ['network_configuration', 'NetworkConfiguration'],
  ['additional_networks', 'AdditionalNetwork'],
  ['system_configuration', 'SystemConfiguration'],
] as const;

const quote = (value: string): string => `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
const key = (name: string): string => (/^[A-Za-z_]\w*$/.test(name) ? name : quote(name));
const literal = (value: unknown): string => (typeof value === 'string' ? quote(value) : JSON.stringify(value));
const types = (schema: Schema): string[] => (Array.isArray(schema.type) ? schema.type : [schema.type ?? '']);

export function fieldType(schema: Schema): string {
  const [type] = types(schema);
  if (type === 'array') return 'strings';
  if (type === 'object') return 'map';
  return type ?? '';
}

function tsType(schema: Schema): string {
  const values = schema.enum ?? schema.items?.enum;
  const word = values ? values.map(quote).join(' | ') : 'string';
  const type = fieldType(schema);
  const plain = {
    boolean: 'boolean',
    integer: 'number',
    number: 'number',
    string: word,
    strings: values ? `readonly (${word})[]` : 'readonly string[]',
    map: 'Readonly<Record<string, string>>',
  }[type];
  if (plain === undefined) throw new Error(`no TypeScript type for ${JSON.stringify(schema)}`);
  return types(schema).includes('null') ? `${plain} | null` : plain;
}

function row(schema: Schema, isRequired: boolean): string {
  const pattern = schema.pattern ?? schema.items?.pattern ?? schema.propertyNames?.pattern;
  const parts: [string, string | undefined][] = [
    ['type', quote(fieldType(schema))],
    ['default', 'default' in schema ? literal(schema.default) : undefined],
    ['isOptional', !('default' in schema) && !isRequired ? 'true' : undefined],
    ['min', schema.minimum?.toString()],
    ['max', schema.maximum?.toString()],
    ['minLength', schema.minLength?.toString()],
    ['maxBytes', schema.maxBytes?.toString()],
    ['pattern', pattern === undefined ? undefined : new RegExp(pattern).toString()],
    [
      'values',
      (schema.enum ?? schema.items?.enum) && `[${(schema.enum ?? schema.items?.enum ?? []).map(quote).join(', ')}]`,
    ],
    ['minItems', schema.minItems?.toString()],
    ['isNullable', types(schema).includes('null') ? 'true' : undefined],
    ['unit', schema.unit && quote(schema.unit)],
    ['isSecret', schema.secret && 'true'],
    ['alias', schema.alias && quote(schema.alias)],
    ['isBeyondSpec', schema.beyondSpec && 'true'],
    ['expected', schema.expected && quote(schema.expected)],
    ['since', schema.since ? quote(schema.since) : undefined],
    ['platforms', schema.platforms && `[${schema.platforms.map(quote).join(', ')}]`],
  ];
  return `{ ${parts
    .filter(([, text]) => text !== undefined)
    .map(([name, text]) => `${name}: ${text}`)
    .join(', ')} }`;
}

const itemOf = (schema: Schema | undefined): Schema =>
  schema?.anyOf?.find(({ items }) => items !== undefined)?.items ?? schema ?? {};
const isGiven = (name: string, table: Schema): boolean =>
  'default' in (table.properties?.[name] ?? {}) || table.required?.includes(name) === true;

/** Generates types, defaults and limits of every field as plain TypeScript. */
export function agentFieldTable(schema: Schema): string {
  const agent = schema.properties?.['agent']?.properties ?? {};
  const tables = [
    ...sections.map(([name, type]) => [name, type, itemOf(agent[name])] as const),
    ['maintenance_window', 'MaintenanceWindow', itemOf(schema.properties?.['maintenance_window'])] as const,
  ];
  const lines = [
    '// Generated from config-schema.ts by tools/gen.ts. Do not edit.',
    "import type { Section } from '../config/field-row.ts';",
    '',
  ];
  for (const [, type, table] of tables) {
    if (table.description !== undefined) lines.push(`/** ${table.description} */`);
    lines.push(`export interface ${type} {`);
    for (const [name, field] of Object.entries(table.properties ?? {})) {
      const unit = field.unit === undefined ? '' : ` Unit: ${field.unit}.`;
      const fallback =
        'default' in field ? ` Default: ${field.secret ? 'see the table' : JSON.stringify(field.default)}.` : '';
      lines.push(
        `  /** ${field.description ?? ''}${unit}${fallback} */`,
        `  readonly ${key(name)}${isGiven(name, table) ? '' : '?'}: ${tsType(field)};`,
      );
    }
    lines.push('}', '');
  }
  lines.push('/** The `agent` object with every default filled in. */', 'export interface AgentConfig {');
  for (const [name, type] of sections)
    lines.push(`  readonly ${name}: ${name === 'additional_networks' ? `readonly ${type}[]` : type};`);
  lines.push('  readonly maintenance_window: readonly MaintenanceWindow[];', '}', '');
  lines.push('/** Every field by section and key. */', 'export const fieldTable = {');
  for (const [name, , table] of tables) {
    lines.push(`  ${name}: {`);
    for (const [field, inner] of Object.entries(table.properties ?? {}))
      lines.push(`    ${key(field)}: ${row(inner, isGiven(field, table))},`);
    lines.push('  },');
  }
  lines.push('} as const satisfies Record<string, Section>;', '');
  return lines.join('\n');
}
