/**
 * The JSON Schemas (2020-12) that a machine server reports about the attributes of its components, services and modules.
 * docs/machine-server.md describes the document. It comes from a program that others wrote: nothing in it is trusted.
 */
import { isObject } from '../text/json-object.ts';
import { lastWord } from './resources.ts';

/** Attributes of one model of a component or service. */
export interface ModelSchema {
  readonly kind: 'component' | 'service';
  /** For example camera, or rdk:component:camera. */
  readonly type: string;
  /** For example folder, or acme:vision:folder. Empty: it may be omitted. */
  readonly model: string;
  readonly title: string;
  readonly description: string;
  /** A JSON Schema; its references are to `$defs` of the document. */
  readonly attributes: Readonly<Record<string, unknown>>;
}

export interface ServerSchemas {
  readonly models: readonly ModelSchema[];
  /** Schema of an entry of `modules`; absent: the server runs none, or reports none. */
  readonly module?: Readonly<Record<string, unknown>>;
  readonly $defs: Readonly<Record<string, unknown>>;
}

export const serverSchemaLimits = { bytes: 256 * 1024, levels: 64, models: 500 } as const;

export type ReadSchemas =
  | { readonly ok: true; readonly schemas: ServerSchemas }
  /** `problem` is a clause without a period. */
  | { readonly ok: false; readonly problem: string };

const refused = (problem: string): ReadSchemas => ({ ok: false, problem });
const bytesOf = (text: string): number => new TextEncoder().encode(text).length;

/** Reads a reported document; it never throws. */
export function readServerSchemas(text: string): ReadSchemas {
  const size = bytesOf(text);
  if (size > serverSchemaLimits.bytes)
    return refused(`they have ${size} bytes, and the limit is ${serverSchemaLimits.bytes}`);
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return refused('they are not valid JSON');
  }
  if (!isObject(json) || !Array.isArray(json['models'])) return refused('the document has no list "models"');
  const problem = problemIn(json);
  if (problem !== undefined) return refused(problem);
  const { models, module, $defs } = json;
  if (models.length > serverSchemaLimits.models)
    return refused(`they describe ${models.length} models, and the limit is ${serverSchemaLimits.models}`);
  const read = models.map(modelOf);
  const wrong = read.indexOf(undefined);
  if (wrong >= 0) return refused(`models[${wrong}] has no kind, type or attributes`);
  return {
    ok: true,
    schemas: {
      models: read.filter((one) => one !== undefined),
      ...(isObject(module) && { module }),
      $defs: isObject($defs) ? $defs : {},
    },
  };
}

function modelOf(given: unknown): ModelSchema | undefined {
  if (!isObject(given)) return undefined;
  const { kind, type, attributes } = given;
  if ((kind !== 'component' && kind !== 'service') || typeof type !== 'string' || type === '' || !isObject(attributes))
    return undefined;
  const read = (key: string): string => {
    const value = given[key];
    return typeof value === 'string' ? value : '';
  };
  return {
    kind,
    type,
    model: read('model'),
    title: read('title') || [lastWord(type), lastWord(read('model'))].filter(Boolean).join(' '),
    description: read('description'),
    attributes,
  };
}

/** What an object is: a schema with keywords, an object whose keys are names of the document, or data with any content. */
type Place = 'schema' | 'names' | 'data';
const dataKeywords = new Set(['default', 'const', 'enum', 'examples']);
const nameKeywords = new Set(['properties', 'patternProperties', '$defs', 'dependentSchemas']);
const idKeywords = new Set(['$id', '$anchor', '$dynamicAnchor', '$dynamicRef', '$recursiveRef', '$recursiveAnchor']);

/** Walks without recursion: the document decides how deep it is. */
function problemIn(document: object): string | undefined {
  const waiting: { value: unknown; level: number; place: Place }[] = [{ value: document, level: 1, place: 'schema' }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { value, level, place } = next;
    if (typeof value !== 'object' || value === null) continue;
    if (level > serverSchemaLimits.levels)
      return `they have more than ${serverSchemaLimits.levels} levels of lists and objects`;
    for (const [key, inner] of Object.entries(value)) {
      const isKeyword = place === 'schema' && !Array.isArray(value);
      const wrong = isKeyword ? referenceProblem(key, inner) : undefined;
      if (wrong !== undefined) return wrong;
      waiting.push({ value: inner, level: level + 1, place: isKeyword ? placeOf(key) : inList(place) });
    }
  }
  return undefined;
}

const placeOf = (keyword: string): Place =>
  dataKeywords.has(keyword) ? 'data' : nameKeywords.has(keyword) ? 'names' : 'schema';
const inList = (place: Place): Place => (place === 'data' ? 'data' : 'schema');

function referenceProblem(key: string, value: unknown): string | undefined {
  if (key === '$ref' && !(typeof value === 'string' && value.startsWith('#/$defs/')))
    return `a $ref leads outside of the $defs of the document: ${JSON.stringify(value).slice(0, 100)}`;
  return idKeywords.has(key) ? `they use ${key}, which is not supported` : undefined;
}
