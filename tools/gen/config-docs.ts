import { expectedText, type Field } from '@platform/contract/config/field-row';
import { fieldType } from './agent-fields.ts';
import type { Schema } from './config-json-schema.ts';

/** Page with guidance for each setting group, in docs/. */
export const settingPages: Readonly<Record<string, string>> = {
  'agent.version_control': 'versions.md',
  'agent.advanced_settings': 'advanced-settings.md',
  'agent.network_configuration': 'network-configuration.md',
  'agent.additional_networks': 'additional-networks.md',
  'agent.system_configuration': 'system-configuration.md',
  maintenance_window: 'maintenance-windows.md',
};

const cell = (text: string): string => text.replaceAll('|', '\\|');

function typeText(schema: Schema): string {
  const type = { strings: 'array of strings', map: 'object of strings' }[fieldType(schema)] ?? fieldType(schema);
  return schema.unit === undefined ? type : `${type} [${schema.unit}]`;
}

function defaultText(schema: Schema): string {
  if (schema.defaultText !== undefined) return schema.defaultText;
  return 'default' in schema ? JSON.stringify(schema.default) : 'none';
}

/** The first version in which the field has an effect, and the platforms. */
function effectText({ since, platforms }: Schema): string {
  const where = platforms === undefined ? '' : ` (${platforms.join(', ')} only)`;
  return since === null ? `not yet${where}` : `${since ?? ''}${where}`;
}

/** Describes the allowed values with the same sentence as the error messages. */
function limitText(schema: Schema): string {
  const field: Field = {
    type: fieldType(schema) as Field['type'],
    ...(schema.minimum === undefined ? {} : { min: schema.minimum }),
    ...(schema.maximum === undefined ? {} : { max: schema.maximum }),
    ...(schema.minLength === undefined ? {} : { minLength: schema.minLength }),
    ...(schema.maxBytes === undefined ? {} : { maxBytes: schema.maxBytes }),
    ...(schema.enum === undefined ? {} : { values: schema.enum }),
    ...(Array.isArray(schema.type) ? { isNullable: true as const } : {}),
    ...(schema.unit === undefined ? {} : { unit: schema.unit }),
    ...(schema.expected === undefined ? {} : { expected: schema.expected }),
  };
  return expectedText(field);
}

function table(title: string, schema: Schema, isList: boolean): string[] {
  const required = new Set(schema.required);
  const rows = Object.entries(schema.properties ?? {}).map(([name, field]) => {
    const notes = [
      field.description ?? '',
      field.secret ? 'Secret.' : '',
      field.alias ? `Also read as \`${field.alias}\`.` : '',
      field.beyondSpec ? 'Beyond the specification.' : '',
    ].filter((note) => note !== '');
    return `| ${[`\`${name}\``, typeText(field), required.has(name) ? 'yes' : 'no', defaultText(field), limitText(field), notes.join(' '), effectText(field)].map(cell).join(' | ')} |`;
  });
  const page = settingPages[title];
  const more = page === undefined ? '' : ` Guidance: [${page}](../${page}).`;
  return [
    `## ${title}`,
    '',
    `${schema.description ?? ''}${more}${isList ? ' Each element:' : ''}`,
    '',
    '| Key | Type | Required | Default | Must be | Description | Acts since |',
    '|---|---|---|---|---|---|---|',
    ...rows,
    '',
  ];
}

/** docs/generated/config.md. */
export function configDocs(schema: Schema): string {
  const agent = schema.properties?.['agent']?.properties ?? {};
  const lines = [
    '# Machine configuration',
    '',
    'Generated from `packages/contract/src/config/schema.ts` by `npm run gen`.',
    '',
    'One JSON object per machine part. The key `agent` configures the agent, `maintenance_window` says when it may restart the machine server;',
    'all other keys belong to the machine server. Only what is written counts as set (also `0`, `""` and `false`); defaults are filled in on the machine.',
    'Keys that this version does not know are kept and reported.',
    '',
    '"Acts since" is the first version with an effect. "not yet": the value is checked, saved and sent, and nothing on the machine acts on it.',
    'Saving such a field gives a warning, and the machine names it as "no effect here".',
    '',
  ];
  for (const [name, section] of Object.entries(agent)) {
    const item = section.anyOf?.[0]?.items;
    const { description } = section;
    lines.push(
      ...table(
        `agent.${name}`,
        item ? { ...item, ...(description === undefined ? {} : { description }) } : section,
        item !== undefined,
      ),
    );
  }
  const window = schema.properties?.['maintenance_window'];
  if (window) {
    lines.push(...table('maintenance_window', { ...window, ...window.anyOf?.[0] }, false));
    lines.push(
      '```json',
      '{ "maintenance_window": { "days": ["sat", "sun"], "from": "22:00", "to": "04:00", "time_zone": "Europe/Berlin" } }',
      '```',
      '',
    );
    lines.push(
      'This window begins on Saturday and on Sunday at 22:00 in Berlin and ends at 04:00 on the next day.',
      '',
    );
  }
  return lines.join('\n');
}
