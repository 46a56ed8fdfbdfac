// One row of the generated field table, and the messages about invalid values. No Zod: devices use this module.
import { isObject } from '../text/json-object.ts';

export interface Field {
  readonly type: 'boolean' | 'integer' | 'number' | 'string' | 'strings' | 'map';
  /** Absent: the field is required, unless it is optional. */
  readonly default?: unknown;
  /** It may be absent, and has no default. */
  readonly isOptional?: true;
  readonly min?: number;
  readonly max?: number;
  readonly minLength?: number;
  readonly maxBytes?: number;
  /** Pattern of the text, of each list item, or of each map key. */
  readonly pattern?: RegExp;
  readonly values?: readonly string[];
  readonly minItems?: number;
  readonly isNullable?: true;
  readonly unit?: 'min' | 'MB' | 'h';
  readonly isSecret?: true;
  readonly alias?: string;
  readonly isBeyondSpec?: true;
  readonly expected?: string;
  /** First version that supports the field; absent: none does yet. */
  readonly since?: string;
  /** Operating systems on which the agent supports the field; absent: all. */
  readonly platforms?: readonly string[];
}

export type Section = Readonly<Record<string, Field>>;

const byteLength = (text: string): number => new TextEncoder().encode(text).length;

const units = { min: 'minutes', MB: 'megabytes', h: 'hours' } as const;

/** Description of the valid values, to follow "must be". */
export function expectedText(field: Field): string {
  if (field.expected !== undefined) return field.expected;
  const unit = field.unit === undefined ? '' : ` of ${units[field.unit]}`;
  switch (field.type) {
    case 'boolean':
      return field.isNullable ? 'true, false or null' : 'true or false';
    case 'integer':
      return `a whole number${unit} from ${field.min} to ${field.max}`;
    case 'number':
      return `a number${unit} from ${field.min} to ${field.max}`;
    case 'string':
      if (field.values) return `one of ${field.values.map((v) => JSON.stringify(v)).join(', ')}`;
      if (field.maxBytes !== undefined)
        return `text of ${field.minLength ? `${field.minLength} to` : 'at most'} ${field.maxBytes} bytes`;
      return 'text';
    case 'strings':
      return 'a list of texts';
    case 'map':
      return 'an object with text values';
  }
}

/** A value for users and logs: shortened, never a secret. */
export function shown(field: Field | undefined, value: unknown): string {
  if (field?.isSecret)
    return typeof value === 'string' ? `a text of ${value.length} characters` : `a value of type ${typeof value}`;
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}

/** Whether a value is valid for a field; a test compares the result with the schema. */
export function fits(field: Field, value: unknown): boolean {
  if (value === null) return field.isNullable === true;
  switch (field.type) {
    case 'boolean':
      return typeof value === 'boolean';
    case 'integer':
      return Number.isSafeInteger(value) && inRange(field, value as number);
    case 'number':
      return typeof value === 'number' && Number.isFinite(value) && inRange(field, value);
    case 'string':
      return typeof value === 'string' && textFits(field, value);
    case 'strings':
      return (
        Array.isArray(value) &&
        value.length >= (field.minItems ?? 0) &&
        value.every((item) => typeof item === 'string' && textFits(field, item))
      );
    case 'map':
      return (
        isObject(value) &&
        Object.entries(value).every(([key, item]) => typeof item === 'string' && (field.pattern?.test(key) ?? true))
      );
  }
}

/**
 * The valid value nearest to an invalid one: the limit of a number, the valid items of a list. Undefined: none is near,
 * and the default fits better. A number below a positive minimum often means "unset".
 */
export function nearestFit(field: Field, value: unknown): unknown {
  if (typeof value === 'number' && (field.type === 'integer' || field.type === 'number')) {
    if (field.max !== undefined && value > field.max) return field.max;
    if (field.min !== undefined && field.min < 0 && value < field.min) return field.min;
  }
  if (field.type === 'strings' && Array.isArray(value)) {
    const items = value.filter((item) => typeof item === 'string' && textFits(field, item));
    if (items.length > 0 && fits(field, items)) return items;
  }
  return undefined;
}

const inRange = (field: Field, value: number): boolean =>
  value >= (field.min ?? -Infinity) && value <= (field.max ?? Infinity);

const textFits = (field: Field, text: string): boolean =>
  text.length >= (field.minLength ?? 0) &&
  (field.maxBytes === undefined || byteLength(text) <= field.maxBytes) &&
  (field.values?.includes(text) ?? true) &&
  (field.type === 'map' || (field.pattern?.test(text) ?? true));

/** One sentence about an invalid value. */
export const misfit = (field: Field, value: unknown): string =>
  `must be ${expectedText(field)}, not ${shown(field, value)}.`;

/** The same problem as an instruction. */
export function remedyFor(field: Field): string {
  const instead =
    field.default === undefined ? '' : `, or remove the key: the default is ${shown(field, field.default)}`;
  return `Write ${expectedText(field)}${field.isSecret ? '' : instead}.`;
}
