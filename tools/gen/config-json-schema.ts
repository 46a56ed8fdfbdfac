import { agentSchema, machineConfigSchema } from '@platform/contract/config/schema';
import { z } from 'zod';

/** The part of a JSON Schema node that the generators use. */
export interface Schema {
  type?: string | string[];
  title?: string;
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  anyOf?: Schema[];
  additionalProperties?: Schema;
  propertyNames?: Schema;
  enum?: string[];
  default?: unknown;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  pattern?: string;
  unit?: 'min' | 'MB' | 'h';
  secret?: true;
  alias?: string;
  defaultText?: string;
  beyondSpec?: true;
  maxBytes?: number;
  expected?: string;
  since?: string | null;
  platforms?: string[];
}

/** JSON Schema of the machine configuration for editors and other tools; keeps our own keywords (unit, secret, …). */
export function configJsonSchema(): Schema {
  const schema = z.toJSONSchema(machineConfigSchema, { io: 'input' }) as Schema;
  limitBytes(schema);
  const networks = schema.properties?.['agent']?.properties?.['additional_networks'];
  if (!networks?.items || !agentSchema.shape.additional_networks)
    throw new Error('the schema has no additional_networks');
  const { description, ...list } = networks;
  const named: Schema = { type: 'object', additionalProperties: networks.items };
  Object.assign(networks, { description, anyOf: [list, named] });
  delete networks.type;
  delete networks.items;
  oneOrMany(schema);
  return schema;
}

/** A list of windows may also be written as its only element. */
function oneOrMany(schema: Schema): void {
  const windows = schema.properties?.['maintenance_window'];
  if (!windows?.items) throw new Error('the schema has no maintenance_window');
  const { items, ...list } = windows;
  const { description, ...one } = items;
  delete windows.type;
  delete windows.items;
  delete windows.minItems;
  delete windows.maxItems;
  Object.assign(windows, { description, anyOf: [one, { ...list, items: one }] });
}

/** Adds maxLength: a text of n bytes has at most n characters. JSON Schema has no limit in bytes. */
function limitBytes(schema: Schema): void {
  if (schema.maxBytes !== undefined) schema.maxLength = schema.maxBytes;
  for (const child of Object.values(schema.properties ?? {})) limitBytes(child);
  if (schema.items) limitBytes(schema.items);
}
