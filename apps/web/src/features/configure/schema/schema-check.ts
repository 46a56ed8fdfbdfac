// Checks attributes by the schema that a machine server reported, with an interpreter: the page's policy forbids compiled
// code. It runs in a worker, because a reported schema may never end.
import { validate, dereference } from '@cfworker/json-schema';
import type { JsonPath } from './json-path.ts';

/** One value that does not fit, for "must …". */
export interface AttributeProblem {
  /** From the attributes on. */
  readonly path: JsonPath;
  readonly message: string;
}

/** Keywords that only hold others: their problems say more. */
const holders = new Set([
  'properties',
  'patternProperties',
  'additionalProperties',
  'items',
  'prefixItems',
  '$ref',
  'allOf',
  'dependentSchemas',
  'if',
]);
const mostProblems = 100;

/** @throws Error when the schema cannot be evaluated, for example because its references never end. */
export function checkAttributes(schema: Readonly<Record<string, unknown>>, value: unknown): AttributeProblem[] {
  const { errors } = validate(value, schema, '2020-12', dereference(schema), false);
  // Problems inside the branches of a union contradict each other: the union's own says it.
  const unions = errors.filter(({ keyword }) => keyword === 'anyOf' || keyword === 'oneOf');
  const isInUnion = (location: string): boolean =>
    unions.some(({ keywordLocation }) => location.startsWith(`${keywordLocation}/`));
  const problems = new Map<string, AttributeProblem>();
  for (const { keyword, keywordLocation, instanceLocation, error } of errors) {
    if (holders.has(keyword) || isInUnion(keywordLocation) || problems.size >= mostProblems) continue;
    const path = pathOf(instanceLocation, value);
    if (keyword === 'required') {
      const key = /"([^"]*)"\.?$/.exec(error)?.[1];
      add(key === undefined ? path : [...path, key], 'is required.');
    } else add(path, sentences[keyword]?.(schemaAt(schema, keywordLocation)) ?? `does not fit its schema: ${error}`);
  }
  return [...problems.values()];

  function add(path: JsonPath, message: string): void {
    const key = JSON.stringify(path);
    if (!problems.has(key)) problems.set(key, { path, message });
  }
}

const shown = (value: unknown): string => JSON.stringify(value)?.slice(0, 200) ?? '';
const typeNames: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  object: 'an object { … }',
  array: 'a list [ … ]',
  null: 'null',
};
type Place = Readonly<Record<string, unknown>>;
const typesOf = ({ type }: Place): readonly unknown[] => (Array.isArray(type) ? type : [type]);

const sentences: Readonly<Record<string, (schema: Place) => string | undefined>> = {
  type: (schema) =>
    `must be ${typesOf(schema)
      .map((one) => typeNames[String(one)] ?? String(one))
      .join(' or ')}.`,
  minimum: ({ minimum }) => `must be at least ${shown(minimum)}.`,
  maximum: ({ maximum }) => `must be at most ${shown(maximum)}.`,
  exclusiveMinimum: ({ exclusiveMinimum }) => `must be above ${shown(exclusiveMinimum)}.`,
  exclusiveMaximum: ({ exclusiveMaximum }) => `must be below ${shown(exclusiveMaximum)}.`,
  minLength: ({ minLength }) =>
    minLength === 1 ? 'must not be empty.' : `must have at least ${shown(minLength)} characters.`,
  maxLength: ({ maxLength }) => `must have at most ${shown(maxLength)} characters.`,
  minItems: ({ minItems }) => `must have at least ${shown(minItems)} entries.`,
  maxItems: ({ maxItems }) => `must have at most ${shown(maxItems)} entries.`,
  enum: ({ enum: values }) =>
    Array.isArray(values) ? `must be one of ${values.slice(0, 20).map(shown).join(', ')}.` : undefined,
  const: ({ const: value }) => `must be ${shown(value)}.`,
  pattern: ({ pattern, expected }) =>
    `must be ${typeof expected === 'string' ? expected : `a text that matches ${shown(pattern)}`}.`,
  anyOf: () => 'fits none of the forms that the machine server takes.',
  oneOf: () => 'must fit exactly one of the forms that the machine server takes.',
};

/** The schema around a keyword, over the references on the way. */
function schemaAt(root: Place, keywordLocation: string): Place {
  const steps = keywordLocation.replace(/^#\/?/, '').split('/').slice(0, -1);
  let place: unknown = root;
  for (const step of steps) {
    const key = unescaped(step);
    if (key === '$ref' && isPlace(place) && typeof place['$ref'] === 'string') {
      place = place['$ref']
        .replace(/^#\/?/, '')
        .split('/')
        .filter(Boolean)
        .reduce<unknown>((at, one) => (isPlace(at) ? at[unescaped(one)] : undefined), root);
      continue;
    }
    place = isPlace(place) ? place[key] : undefined;
  }
  return isPlace(place) ? place : {};
}

const isPlace = (value: unknown): value is Place => typeof value === 'object' && value !== null;

function unescaped(step: string): string {
  const plain = step.replaceAll('~1', '/').replaceAll('~0', '~');
  try {
    return decodeURI(plain);
  } catch {
    return plain;
  }
}

/** A JSON pointer as a path: a step into a list is a number. */
function pathOf(pointer: string, value: unknown): JsonPath {
  const path: (string | number)[] = [];
  let place = value;
  for (const step of pointer
    .replace(/^#\/?/, '')
    .split('/')
    .filter((one) => one !== '')) {
    const key = unescaped(step);
    path.push(Array.isArray(place) ? Number(key) : key);
    place = isPlace(place) ? place[key] : undefined;
  }
  return path;
}
