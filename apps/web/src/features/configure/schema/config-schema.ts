import type { JsonPath } from './json-path.ts';

/** The part of JSON Schema that our configuration uses. */
export interface JsonSchema {
  $ref?: string;
  $defs?: Readonly<Record<string, JsonSchema>>;
  title?: string;
  description?: string;
  type?: string | readonly string[];
  default?: unknown;
  enum?: readonly unknown[];
  const?: unknown;
  properties?: Readonly<Record<string, JsonSchema>>;
  additionalProperties?: boolean | JsonSchema;
  required?: readonly string[];
  items?: JsonSchema;
  anyOf?: readonly JsonSchema[];
  oneOf?: readonly JsonSchema[];
  allOf?: readonly JsonSchema[];
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  minItems?: number;
  maxItems?: number;
  /** Our extension: the unit of a number, for example "minutes". */
  unit?: string;
  /** The default in words, where the value alone does not explain it (an extension of JSON Schema). */
  defaultText?: string;
  /** Our extension: the meaning of a pattern, for example "a time from 00:00 to 23:59". */
  expected?: string;
  /** Our extension: another key that means the same. */
  alias?: string;
  /** Our extension: never shown again once saved. */
  secret?: boolean;
  /** Our extension: the first version that acts on it; null: no version does yet. */
  since?: string | null;
  /** Our extension: operating systems on which it acts; absent: all. */
  platforms?: readonly string[];
  /** Our extension: names another entry of the configuration, of this type. */
  reference?: string;
  /** Our extension: a path in a package of this type. */
  packageType?: string;
  /** Our extension: the file in the package; {model} stands for the name of the model. */
  packageFile?: string;
}

/** A schema without references. A reference that leads nowhere, or to itself, allows everything. */
function resolveReference(schema: JsonSchema, root: JsonSchema): JsonSchema {
  let resolved = schema;
  for (const seen = new Set<string>(); resolved.$ref !== undefined;) {
    const { $ref, ...own } = resolved;
    const target = seen.has($ref) ? {} : targetOf($ref, root);
    seen.add($ref);
    resolved = { ...target, ...own };
  }
  return resolved;
}

function targetOf($ref: string, root: JsonSchema): JsonSchema {
  let target: unknown = root;
  for (const step of $ref.replace(/^#\/?/, '').split('/').filter(Boolean)) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~');
    target =
      typeof target === 'object' && target !== null && Object.hasOwn(target, key) ? Reflect.get(target, key) : {};
  }
  return typeof target === 'object' && target !== null ? target : {};
}

/** Unions of unions: a few bytes of references can stand for very many. */
const mostBranches = 64;
const deepestUnion = 8;

/** The branches of a schema's unions, or the schema itself. Description and default of the union apply to each branch. */
export function branches(schema: JsonSchema, root: JsonSchema, level = 0): readonly JsonSchema[] {
  const plain = resolveReference(schema, root);
  const union = plain.anyOf ?? plain.oneOf;
  if (union === undefined || level >= deepestUnion) return [plain];
  const { anyOf: _any, oneOf: _one, ...outside } = plain;
  const found: JsonSchema[] = [];
  for (const one of union.slice(0, mostBranches)) {
    if (found.length >= mostBranches) break;
    found.push(...branches(one, root, level + 1));
  }
  return found.slice(0, mostBranches).map((one) => ({ ...outside, ...one, ...descriptionOf(outside, one) }));
}

const descriptionOf = (outside: JsonSchema, inside: JsonSchema): JsonSchema => {
  const description = inside.description ?? outside.description;
  return description === undefined ? {} : { description };
};

/** Finds every schema that may describe the value at a path. Empty: the schema does not cover it. */
export function schemasAt(root: JsonSchema, path: JsonPath): readonly JsonSchema[] {
  let found = branches(root, root);
  for (const step of path) {
    found = found.flatMap((schema) => {
      if (typeof step === 'number') return schema.items === undefined ? [] : branches(schema.items, root);
      const property = schema.properties?.[step];
      if (property !== undefined) return branches(property, root);
      return typeof schema.additionalProperties === 'object' ? branches(schema.additionalProperties, root) : [];
    });
    found = found.slice(0, mostBranches);
  }
  return found;
}

/** The description of one key in the editor. */
export interface Hint {
  key: string;
  type: string;
  description: string;
  /** For users; may be text. */
  default: string | undefined;
  /** The default as JSON, for completion. */
  start: string | undefined;
  unit: string | undefined;
  /** "1 … 60", "at most 32 characters". */
  limits: string | undefined;
  isRequired: boolean;
  isSecret: boolean;
  values: readonly unknown[];
  /** "no effect yet", "since 0.2.0, linux only"; undefined: no restriction is known. */
  effect: string | undefined;
}

/** The value types that a schema names. */
export const typesOf = (schema: JsonSchema): readonly string[] =>
  schema.type === undefined ? [] : typeof schema.type === 'string' ? [schema.type] : schema.type;

const typeNames = (schema: JsonSchema): readonly string[] => {
  if (schema.type !== undefined) return typesOf(schema);
  const values = schema.enum ?? (schema.const === undefined ? [] : [schema.const]);
  if (values.length > 0) return [...new Set(values.map((one) => (one === null ? 'null' : typeof one)))];
  return schema.properties === undefined ? [] : ['object'];
};

/** Omits the bounds of JavaScript's safe integers: they do not help the user. */
const bound = (value: number | undefined): number | undefined =>
  value === undefined || Math.abs(value) >= Number.MAX_SAFE_INTEGER ? undefined : value;

function limitsOf(schema: JsonSchema): string | undefined {
  const [low, high] = [bound(schema.minimum), bound(schema.maximum)];
  if (low !== undefined && high !== undefined) return `${low} … ${high}`;
  if (low !== undefined) return `at least ${low}`;
  if (high !== undefined) return `at most ${high}`;
  if (schema.minLength && schema.maxLength) return `${schema.minLength} … ${schema.maxLength} characters`;
  if (schema.maxLength !== undefined) return `at most ${schema.maxLength} characters`;
  return schema.expected;
}

export function createHint(key: string, schemas: readonly JsonSchema[], isRequired = false): Hint {
  const pick = <T>(read: (schema: JsonSchema) => T | undefined): T | undefined =>
    schemas.map(read).find((value) => value !== undefined);
  const values = schemas.flatMap((schema) => schema.enum ?? (schema.const === undefined ? [] : [schema.const]));
  const start = pick((schema) => schema.default);
  return {
    key,
    type: [...new Set(schemas.flatMap(typeNames))].join(' or ') || 'any value',
    description: pick((schema) => schema.description) ?? '',
    default: pick((schema) => schema.defaultText) ?? (start === undefined ? undefined : JSON.stringify(start)),
    start: start === undefined || start === null ? undefined : JSON.stringify(start),
    unit: pick((schema) => schema.unit),
    limits: pick(limitsOf),
    isRequired,
    isSecret: pick((schema) => schema.secret) ?? false,
    values: schemas.some((schema) => schema.type === 'boolean') ? [true, false, ...values] : values,
    effect: pick(effectOf),
  };
}

function effectOf({ since, platforms }: JsonSchema): string | undefined {
  if (since === undefined) return undefined;
  if (since === null) return 'no effect yet: nothing on a machine acts on it';
  return `since ${since}${platforms === undefined ? '' : `, ${platforms.join(' and ')} only`}`;
}

/** The keys that the object at a path may have. */
export function keysAt(root: JsonSchema, path: JsonPath): readonly Hint[] {
  const hints = new Map<string, Hint>();
  for (const schema of schemasAt(root, path)) {
    for (const [key, property] of Object.entries(schema.properties ?? {})) {
      if (!hints.has(key))
        hints.set(key, createHint(key, branches(property, root), schema.required?.includes(key) ?? false));
    }
  }
  return [...hints.values()];
}

/** The initial value that completion inserts. */
export function firstValue(hint: Hint): string {
  if (hint.start !== undefined) return hint.start;
  if (hint.values.length > 0) return JSON.stringify(hint.values[0]);
  if (hint.type.startsWith('object')) return '{}';
  if (hint.type.startsWith('array')) return '[]';
  if (hint.type.startsWith('string')) return '""';
  return hint.type.startsWith('boolean') ? 'false' : '0';
}
