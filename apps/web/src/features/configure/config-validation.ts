import { secretPlaceholder } from '@platform/contract/config/placeholders';
import { branches, typesOf } from './schema/config-schema.ts';
import type { JsonSchema } from './schema/config-schema.ts';
import type { JsonPath } from './schema/json-path.ts';

/** One problem that the schema alone can find. The server checks more rules and decides. */
export interface SchemaProblem {
  path: JsonPath;
  message: string;
  isError: boolean;
}

const kindOf = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value === 'number' ? 'number' : typeof value;

const article: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  object: 'an object { … }',
  array: 'a list [ … ]',
  null: 'null',
};

const fits = (type: string, value: unknown): boolean =>
  type === 'integer' ? Number.isInteger(value) : type === kindOf(value);

function validateScalar(value: unknown, schema: JsonSchema, path: JsonPath): SchemaProblem[] {
  // The server checks the secret that it stands for.
  if (schema.secret === true && value === secretPlaceholder) return [];
  const wrong = (message: string): SchemaProblem[] => [{ path, message, isError: true }];
  const values = schema.enum ?? (schema.const === undefined ? undefined : [schema.const]);
  if (values !== undefined && !values.includes(value)) {
    return wrong(`must be one of ${values.map((one) => JSON.stringify(one)).join(', ')}`);
  }
  if (typeof value === 'number') {
    if (schema.minimum !== undefined && value < schema.minimum) return wrong(`must be at least ${schema.minimum}`);
    if (schema.maximum !== undefined && value > schema.maximum) return wrong(`must be at most ${schema.maximum}`);
    if (schema.exclusiveMinimum !== undefined && value <= schema.exclusiveMinimum)
      return wrong(`must be above ${schema.exclusiveMinimum}`);
    if (schema.exclusiveMaximum !== undefined && value >= schema.exclusiveMaximum)
      return wrong(`must be below ${schema.exclusiveMaximum}`);
  }
  if (typeof value === 'string') {
    if (schema.minLength !== undefined && value.length < schema.minLength)
      return wrong(`must have at least ${schema.minLength} characters`);
    if (schema.maxLength !== undefined && value.length > schema.maxLength)
      return wrong(`must have at most ${schema.maxLength} characters`);
    if (schema.pattern !== undefined && !new RegExp(schema.pattern, 'u').test(value))
      return wrong(`must be ${schema.expected ?? `a text that matches ${schema.pattern}`}`);
  }
  return [];
}

function validateBranch(value: unknown, schema: JsonSchema, root: JsonSchema, path: JsonPath): SchemaProblem[] {
  const types = typesOf(schema);
  if (types.length > 0 && !types.some((type) => fits(type, value))) {
    return [{ path, message: `must be ${types.map((type) => article[type] ?? type).join(' or ')}`, isError: true }];
  }
  const problems = validateScalar(value, schema, path);
  for (const part of schema.allOf ?? []) problems.push(...validate(value, part, root, path));
  if (Array.isArray(value)) {
    const { items, minItems, maxItems } = schema;
    if (minItems !== undefined && value.length < minItems)
      problems.push({ path, message: `must have at least ${minItems} entries`, isError: true });
    if (maxItems !== undefined && value.length > maxItems)
      problems.push({ path, message: `must have at most ${maxItems} entries`, isError: true });
    if (items !== undefined) value.forEach((one, at) => problems.push(...validate(one, items, root, [...path, at])));
  } else if (typeof value === 'object' && value !== null) {
    problems.push(...validateObject(value as Record<string, unknown>, schema, root, path));
  }
  return problems;
}

function validateObject(
  value: Record<string, unknown>,
  schema: JsonSchema,
  root: JsonSchema,
  path: JsonPath,
): SchemaProblem[] {
  const problems: SchemaProblem[] = [];
  for (const key of schema.required ?? []) {
    if (!Object.hasOwn(value, key)) problems.push({ path: [...path, key], message: 'is required', isError: true });
  }
  for (const [key, one] of Object.entries(value)) {
    const property = schema.properties?.[key];
    const rest = schema.additionalProperties;
    if (property !== undefined) problems.push(...validate(one, property, root, [...path, key]));
    else if (typeof rest === 'object' && Object.keys(rest).length > 0)
      problems.push(...validate(one, rest, root, [...path, key]));
    else if (rest === false) problems.push({ path: [...path, key], message: 'is not a known key', isError: false });
  }
  return problems;
}

/**
 * Checks a value against the subset of JSON Schema that we use. For a union it reports the problems of the
 * best-matching branch.
 */
export function validate(
  value: unknown,
  schema: JsonSchema,
  root: JsonSchema = schema,
  path: JsonPath = [],
): SchemaProblem[] {
  const all = branches(schema, root).map((branch) => ({ branch, found: validateBranch(value, branch, root, path) }));
  const good = all.find(({ found }) => !found.some((one) => one.isError));
  if (good) return good.found;
  if (all.length === 1) return all[0]?.found ?? [];
  // A branch of the right type has problems more precise than "wrong type".
  const near = all.filter(({ branch }) => typesOf(branch).some((type) => fits(type, value)));
  if (near.length > 0) return near.toSorted((a, b) => a.found.length - b.found.length)[0]?.found ?? [];
  const kinds = [...new Set(all.flatMap(({ branch }) => typesOf(branch)))].map((type) => article[type] ?? type);
  return [{ path, message: `must be ${kinds.join(' or ')}`, isError: true }];
}
