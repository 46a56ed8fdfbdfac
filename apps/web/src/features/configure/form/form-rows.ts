// The fields of a form, drawn from the JSON Schema of the configuration, and their values in its text.
import { isObject } from '@platform/contract/text/json-object';
import { looksSecret } from '@platform/contract/config/secret-names';
import { jsonAt, setValue, typedAt } from '../config-edit.ts';
import type { ConfigText } from '../config-edit.ts';
import type { ConfigProblem } from '../config-problems.ts';
import { branches, createHint, schemasAt, typesOf } from '../schema/config-schema.ts';
import type { Hint, JsonSchema } from '../schema/config-schema.ts';
import type { JsonPath } from '../schema/json-path.ts';

/** What a field is edited with. */
export type FieldKind =
  | 'switch'
  | 'number'
  | 'choice'
  | 'text'
  | 'long text'
  | 'texts'
  | 'numbers'
  | 'map'
  /** An object, or a list of objects, with fields of its own. */
  | 'object'
  | 'objects'
  | 'other';

/** One field of an object, as the schema describes it. */
export interface FormField extends Hint {
  readonly kind: FieldKind;
  readonly title: string;
  /** Another key under which it may be written. */
  readonly alias: string | undefined;
  /** `null` is a value of its own. */
  readonly isNullable: boolean;
  /** The type of the entries of the configuration that it names. */
  readonly reference?: string | undefined;
  /** It is a path in a package of this type. */
  readonly packageType?: string | undefined;
  /** The file in the package; {model} stands for the name of the model. */
  readonly packageFile?: string | undefined;
}

/** What the text says about a field. */
export interface FieldState {
  /** Where its value is, or would be written. */
  readonly path: JsonPath;
  readonly isSet: boolean;
  readonly value: unknown;
  /** The value in an input; a number as typed. */
  readonly text: string;
  /** The value is of another type than the field edits: only the JSON shows it. */
  readonly isForeign: boolean;
  /** The entries of a list of texts or numbers, as in `text`. */
  readonly texts: readonly string[];
}

/** A longer text has many lines, such as a certificate. */
const lineLength = 1024;

/** The fields of the object at a path, in the order of the schema. */
export const fieldsAt = (root: JsonSchema, path: JsonPath): FormField[] => fieldsOf(schemasAt(root, path), root);

/** The fields of an object that one of these schemas describes. */
export function fieldsOf(schemas: readonly JsonSchema[], root: JsonSchema): FormField[] {
  const fields = new Map<string, FormField>();
  for (const schema of schemas) {
    for (const [key, property] of Object.entries(schema.properties ?? {})) {
      if (fields.has(key)) continue;
      const all = branches(property, root);
      fields.set(key, {
        ...createHint(key, all, schema.required?.includes(key) ?? false),
        kind: kindOf(all, root),
        title: titleOf(all) ?? key,
        alias: all.find(({ alias }) => alias !== undefined)?.alias,
        isNullable: all.some((one) => typesOf(one).includes('null')),
        reference: all.find(({ reference }) => reference !== undefined)?.reference,
        packageType: all.find(({ packageType }) => packageType !== undefined)?.packageType,
        packageFile: all.find(({ packageFile }) => packageFile !== undefined)?.packageFile,
      });
    }
  }
  return [...fields.values()];
}

/** Fields for the single values of an object that no schema describes; its keys are their titles. */
export function fieldsOfValue(value: unknown): FormField[] {
  return Object.entries(isObject(value) ? value : {}).flatMap(([key, one]): FormField[] => {
    const kind = { string: 'text', number: 'number', boolean: 'switch' }[typeof one as 'string'] as
      | FieldKind
      | undefined;
    if (kind === undefined) return [];
    return [
      {
        ...createHint(key, []),
        kind,
        title: key,
        alias: undefined,
        // It has no default to return to.
        isRequired: true,
        isNullable: false,
        isSecret: looksSecret.test(key),
      },
    ];
  });
}

/** The title of the value at a path; of a list, that of its entries. */
export function titleAt(root: JsonSchema, path: JsonPath): string {
  const schemas = schemasAt(root, path);
  const own = titleOf(schemas) ?? titleOf(schemas.flatMap(({ items }) => (items ? branches(items, root) : [])));
  return own ?? String(path.at(-1) ?? '');
}

export const helpAt = (root: JsonSchema, path: JsonPath): string =>
  schemasAt(root, path).find(({ description }) => description !== undefined)?.description ?? '';

/** Since when, and where, all fields of a group act; undefined: it differs from field to field. */
export function effectAt(root: JsonSchema, path: JsonPath): string | undefined {
  const all = new Set(fieldsAt(root, path).map(({ effect }) => effect));
  return all.size === 1 ? [...all][0] : undefined;
}

const titleOf = (schemas: readonly JsonSchema[]): string | undefined =>
  schemas.find(({ title }) => title !== undefined)?.title;

function kindOf(schemas: readonly JsonSchema[], root: JsonSchema): FieldKind {
  const alone = schemas.filter((one) => !isNull(one));
  if (alone.length > 0 && alone.every(isOfValues)) return 'choice';
  const types = new Set(alone.flatMap(typesOf).filter((type) => type !== 'null'));
  if (types.size !== 1) return 'other';
  const [type] = types;
  const [schema] = alone;
  switch (type) {
    case 'boolean':
      return 'switch';
    case 'integer':
    case 'number':
      return 'number';
    case 'string':
      return (schema?.maxLength ?? 0) >= lineLength ? 'long text' : 'text';
    case 'array':
      return alone.length === 1 ? kindOfList(schema?.items, root) : 'other';
    case 'object':
      return alone.length === 1 && schema ? kindOfObject(schema) : 'other';
    default:
      return 'other';
  }
}

const isNull = (schema: JsonSchema): boolean =>
  schema.const === null || (typesOf(schema).length > 0 && typesOf(schema).every((type) => type === 'null'));

/** Texts or numbers of which one is chosen. */
const isOfValues = ({ enum: values, const: value }: JsonSchema): boolean => {
  const all = values ?? (value === undefined ? [] : [value]);
  return all.length > 0 && all.every((one) => typeof one === 'string' || typeof one === 'number');
};

function kindOfList(items: JsonSchema | undefined, root: JsonSchema): FieldKind {
  const all = items === undefined ? [] : branches(items, root);
  const [item] = all;
  if (all.length !== 1 || item === undefined) return 'other';
  const types = typesOf(item);
  if (types.length !== 1) return 'other';
  if (types[0] === 'string') return 'texts';
  if (types[0] === 'number' || types[0] === 'integer') return 'numbers';
  return types[0] === 'object' && hasFields(item) ? 'objects' : 'other';
}

const kindOfObject = (schema: JsonSchema): FieldKind => {
  const { additionalProperties: rest } = schema;
  if (hasFields(schema)) return 'object';
  return typeof rest === 'object' && rest.type === 'string' ? 'map' : 'other';
};
const hasFields = ({ properties }: JsonSchema): boolean => Object.keys(properties ?? {}).length > 0;

/** @param of - the path of the object that has the field */
export function stateOf(config: ConfigText, of: JsonPath, field: FormField): FieldState {
  const object = jsonAt(config.json, of);
  const isThere = (key: string | undefined): boolean =>
    key !== undefined && isObject(object) && Object.hasOwn(object, key);
  const key = !isThere(field.key) && isThere(field.alias) ? (field.alias ?? field.key) : field.key;
  const path = [...of, key];
  const typed = typedAt(config, path);
  const value = jsonAt(config.json, path);
  return {
    path,
    isSet: typed !== undefined,
    value,
    text: typeof value === 'string' ? value : (typed ?? ''),
    isForeign: typed !== undefined && !isEditable(field, value),
    texts: Array.isArray(value)
      ? value.map((one, at) => (typeof one === 'number' ? (typedAt(config, [...path, at]) ?? '') : String(one)))
      : [],
  };
}

function isEditable({ kind, isNullable, values }: FormField, value: unknown): boolean {
  if (value === null) return isNullable;
  switch (kind) {
    case 'switch':
      return typeof value === 'boolean';
    case 'number':
      return typeof value === 'number' || typeof value === 'string';
    case 'choice':
      return typeof value === 'string' || values.includes(value);
    case 'text':
    case 'long text':
      return typeof value === 'string';
    case 'texts':
      return Array.isArray(value) && value.every((one) => typeof one === 'string');
    case 'numbers':
      // A typed text that is not a number is kept as a text.
      return Array.isArray(value) && value.every((one) => typeof one === 'number' || typeof one === 'string');
    case 'object':
      return isObject(value);
    case 'objects':
      return Array.isArray(value) && value.every(isObject);
    case 'map':
      return isObject(value) && Object.values(value).every((one) => typeof one === 'string');
    case 'other':
      return false;
  }
}

const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** The JSON of what was typed. Anything else than a number stays a text, so that nothing typed is lost and the problem is named. */
export const literalOf = (kind: FieldKind, typed: string): string =>
  kind === 'number' && number.test(typed.trim()) ? typed.trim() : JSON.stringify(typed);

/** A default as users read it; undefined: the field has none. */
export function defaultOf(field: FormField): string | undefined {
  const { default: text, start } = field;
  if (field.kind === 'switch' && (text === 'true' || text === 'false')) return text === 'true' ? 'on' : 'off';
  if (text === undefined || text === '""' || text === '[]' || text === '{}') return text === undefined ? text : 'empty';
  // A text without its quotes.
  if (text === start && text.startsWith('"')) return String(JSON.parse(text));
  return text;
}

/** The problems of a value and of what is inside it. */
export const problemsAt = (problems: readonly ConfigProblem[], path: JsonPath): ConfigProblem[] =>
  problems.filter((one) => one.path.length >= path.length && path.every((step, at) => one.path[at] === step));

/** How many fields of an object are set. */
export function countSet(config: ConfigText, path: JsonPath): number {
  const value = jsonAt(config.json, path);
  return Array.isArray(value) ? value.length : isObject(value) ? Object.keys(value).length : 0;
}

/** The entries of a list that may also be written as an object by name; undefined: it is neither. */
export function entriesAt(config: ConfigText, path: JsonPath): JsonPath[] | undefined {
  const value = jsonAt(config.json, path);
  if (value === undefined) return [];
  if (Array.isArray(value)) return value.every(isObject) ? value.map((_, at) => [...path, at]) : undefined;
  return isObject(value) && Object.values(value).every(isObject)
    ? Object.keys(value).map((key) => [...path, key])
    : undefined;
}

/** Adds an entry to such a list. */
export function addEntry(config: ConfigText, path: JsonPath, literal: string): string {
  const value = jsonAt(config.json, path);
  if (!isObject(value)) return setValue(config.text, [...path, Array.isArray(value) ? value.length : 0], literal);
  let at = Object.keys(value).length + 1;
  while (Object.hasOwn(value, `network-${at}`)) at++;
  return setValue(config.text, [...path, `network-${at}`], literal);
}
