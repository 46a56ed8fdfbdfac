// The schemas that a machine server reports, made safe to draw: their author is unknown.
import { isObject } from '@platform/contract/text/json-object';
import { lastWord, typeOf } from '@platform/contract/machine-server/resources';
import type { ModelSchema, ServerSchemas } from '@platform/contract/machine-server/schemas';
import type { JsonSchema } from './config-schema.ts';
import { isolateText } from '../../../ui/user-text.ts';

/** One model of the machine server, with a schema whose every keyword has the type that the form expects. */
export interface DrawnModel extends Omit<ModelSchema, 'attributes'> {
  readonly attributes: JsonSchema;
  /** The attributes that an added entry has. */
  readonly example: Readonly<Record<string, unknown>>;
  /** As reported, with the definitions that it refers to: for the checks in the worker. */
  readonly reported: Readonly<Record<string, unknown>>;
}

export interface DrawnSchemas {
  readonly models: readonly DrawnModel[];
  /** Describes an entry of `modules`. */
  readonly module: Pick<DrawnModel, 'attributes' | 'reported'> | undefined;
}

export function drawnSchemas({ models, module, $defs }: ServerSchemas): DrawnSchemas {
  const definitions = mapOf($defs);
  const root = (schema: Readonly<Record<string, unknown>>) => ({
    attributes: { ...drawnSchema(schema), $defs: definitions },
    reported: { ...schema, $defs },
  });
  return {
    models: models.map(({ attributes, title, description, ...model }) => {
      const { examples } = attributes;
      const example: unknown = Array.isArray(examples) ? examples[0] : undefined;
      return {
        ...model,
        title: shownText(title, longestTitle),
        description: shownText(description, longestHelp),
        ...root(attributes),
        example: isObject(example) ? example : {},
      };
    }),
    module: module && root(module),
  };
}

/** The model of an entry of `components` or `services`; undefined: the machine server reports none of that name. */
export function modelOfEntry(
  { models }: DrawnSchemas,
  key: string,
  entry: Readonly<Record<string, unknown>>,
): DrawnModel | undefined {
  const kind = key === 'components' ? 'component' : 'service';
  const type = typeOf(entry);
  const given = typeof entry['model'] === 'string' ? entry['model'] : '';
  const found = models.filter((one) => one.kind === kind && lastWord(one.type) === type);
  return found.find((one) => one.model === given) ?? found.find((one) => lastWord(one.model) === lastWord(given));
}

const longestTitle = 120;
const longestHelp = 1_000;
const mostValues = 500;
const shownText = (text: string, longest: number): string => isolateText(text.slice(0, longest));

const textKeywords = ['$ref', 'pattern'] as const;
const shownKeywords = [
  'title',
  'description',
  'unit',
  'expected',
  'defaultText',
  'reference',
  'packageType',
  'packageFile',
] as const;
const numberKeywords = [
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
] as const;
const unionKeywords = ['anyOf', 'oneOf'] as const;

/** Keeps the keywords that the form knows, each with the type that it expects. The server bounds levels and size. */
export function drawnSchema(given: unknown): JsonSchema {
  if (!isObject(given)) return {};
  const schema: Record<string, unknown> = {};
  for (const key of textKeywords) if (typeof given[key] === 'string') schema[key] = given[key];
  for (const key of shownKeywords) {
    const text = given[key];
    if (typeof text === 'string') schema[key] = shownText(text, key === 'description' ? longestHelp : longestTitle);
  }
  for (const key of numberKeywords) if (typeof given[key] === 'number') schema[key] = given[key];
  for (const key of unionKeywords) {
    const list = given[key];
    if (Array.isArray(list) && list.length > 0) schema[key] = list.map(drawnSchema);
  }
  for (const key of ['default', 'const'] as const) if (Object.hasOwn(given, key)) schema[key] = given[key];
  const { type, required, properties, items, additionalProperties } = given;
  if (typeof type === 'string') schema['type'] = type;
  else if (Array.isArray(type)) schema['type'] = type.filter((one) => typeof one === 'string');
  if (Array.isArray(given['enum'])) schema['enum'] = given['enum'].slice(0, mostValues);
  if (Array.isArray(required)) schema['required'] = required.filter((one) => typeof one === 'string');
  if (isObject(properties)) schema['properties'] = mapOf(properties);
  if (isObject(items)) schema['items'] = drawnSchema(items);
  if (typeof additionalProperties === 'boolean') schema['additionalProperties'] = additionalProperties;
  else if (isObject(additionalProperties)) schema['additionalProperties'] = drawnSchema(additionalProperties);
  if (given['secret'] === true || given['writeOnly'] === true || given['format'] === 'password')
    schema['secret'] = true;
  return schema;
}

/** A null prototype: a name may be `__proto__`. */
function mapOf(given: Readonly<Record<string, unknown>>): Readonly<Record<string, JsonSchema>> {
  const map = Object.create(null) as Record<string, JsonSchema>;
  for (const [key, inner] of Object.entries(given)) map[key] = drawnSchema(inner);
  return map;
}
