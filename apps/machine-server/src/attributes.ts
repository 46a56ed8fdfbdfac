import type { JsonObject } from '@bufbuild/protobuf';
import { isObject } from '@platform/contract/text/json-object';
import serverSchemas from '@platform/contract/gen/server-schemas.json' with { type: 'json' };
import { createHash } from 'node:crypto';
import type { ConfigProblem } from './config-problem.ts';

/** What this server reports about its attributes: the same document that it reads them with. */
export const serverSchemasJson = JSON.stringify(serverSchemas);
/** Names them in the report, and at the management server. */
export const serverSchemasSha256 = createHash('sha256').update(serverSchemasJson).digest('hex');

/** The part of JSON Schema that `server-attributes.ts` uses for an attribute. */
interface AttributeSchema {
  readonly type: string;
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly pattern?: string;
  readonly expected?: string;
  readonly items?: AttributeSchema;
}
interface SchemaOfModel {
  readonly properties: Readonly<Record<string, AttributeSchema>>;
  readonly required?: readonly string[];
}

const schemas = new Map(
  serverSchemas.models.map(({ type, model, attributes }) => [
    `${type} ${model}`,
    attributes as unknown as SchemaOfModel,
  ]),
);

interface Entry {
  readonly type: string;
  readonly model: string;
  readonly attributes?: JsonObject;
}

/**
 * Reads the attributes of an entry by the schema of its model; each error becomes a problem with its path, and the default
 * or an unused placeholder value.
 */
export class Attributes {
  readonly #values: JsonObject;
  readonly #schema: SchemaOfModel;
  readonly #path: string;
  readonly #problems: ConfigProblem[];

  constructor({ type, model, attributes = {} }: Entry, path: string, problems: ConfigProblem[]) {
    this.#values = attributes;
    this.#schema = schemas.get(`${type} ${model}`) ?? { properties: {} };
    this.#path = path;
    this.#problems = problems;
  }

  text(key: string): string {
    return this.optionalText(key) ?? '';
  }

  optionalText(key: string): string | undefined {
    return this.#read(key, 'string') as string | undefined;
  }

  texts(key: string): readonly string[] {
    return (this.#read(key, 'array') as readonly string[] | undefined) ?? [];
  }

  number(key: string): number {
    return this.#read(key, 'number') as number;
  }

  flag(key: string): boolean {
    return this.#read(key, 'boolean') as boolean;
  }

  object(key: string): JsonObject {
    return (this.#read(key, 'object') as JsonObject | undefined) ?? {};
  }

  #read(key: string, type: AttributeSchema['type']): unknown {
    const schema = this.#schema.properties[key];
    if (schema?.type !== type) throw new Error(`the schema has no ${type} ${key}`);
    const value = this.#values[key];
    if (value === undefined || value === null) {
      if (this.#schema.required?.includes(key)) this.#wrong(key, `it must be given: ${limitOf(schema)}`);
      return schema.default;
    }
    if (fits(value, schema)) return value;
    this.#wrong(key, `it must be ${limitOf(schema)}, not ${JSON.stringify(value)}`);
    return schema.default;
  }

  #wrong(key: string, problem: string): void {
    this.#problems.push({ path: `${this.#path}.${key}`, problem });
  }
}

function fits(value: unknown, { type, minimum, maximum, minLength, pattern, items }: AttributeSchema): boolean {
  switch (type) {
    case 'string':
      return (
        typeof value === 'string' &&
        value.length >= (minLength ?? 0) &&
        (pattern === undefined || new RegExp(pattern, 'u').test(value))
      );
    case 'number':
      return typeof value === 'number' && value >= (minimum ?? -Infinity) && value <= (maximum ?? Infinity);
    case 'boolean':
      return typeof value === 'boolean';
    case 'array':
      return Array.isArray(value) && (items === undefined || value.every((one) => fits(one, items)));
    default:
      return isObject(value);
  }
}

/** For "it must be …". */
function limitOf({ type, minimum, maximum, expected }: AttributeSchema): string {
  if (expected !== undefined) return expected;
  switch (type) {
    case 'string':
      return 'a text';
    case 'number':
      return `a number from ${minimum} to ${maximum}`;
    case 'boolean':
      return 'true or false';
    case 'array':
      return 'a list of texts';
    default:
      return 'an object';
  }
}
