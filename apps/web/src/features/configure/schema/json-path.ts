import { parser } from '@lezer/json';

/** Keys and indices from the root of a JSON text to one value. */
export type JsonPath = readonly (string | number)[];

/** Half-open range of characters. */
export interface TextRange {
  from: number;
  to: number;
}

export type JsonNode = ReturnType<typeof parser.parse>['topNode'];
type Node = JsonNode;

/** The value of a whole text. */
export const parseValue = (text: string): JsonNode | undefined => valueOf(parser.parse(text).topNode);

/** The properties of an object, the values of a list. */
export function childrenOf(node: JsonNode): JsonNode[] {
  if (node.name === 'Object') return node.getChildren('Property');
  const nodes: Node[] = [];
  for (let one = node.firstChild; one; one = one.nextSibling) if (isValue(one)) nodes.push(one);
  return nodes;
}

const isValue = (node: Node): boolean =>
  ['Object', 'Array', 'String', 'Number', 'True', 'False', 'Null'].includes(node.name);

function valueOf(node: Node): Node | undefined {
  for (let one = node.firstChild; one; one = one.nextSibling) if (isValue(one)) return one;
  return undefined;
}

function keyOf(property: Node, text: string): string | undefined {
  const name = property.getChild('PropertyName');
  if (name === null) return undefined;
  try {
    const key: unknown = JSON.parse(text.slice(name.from, name.to));
    return typeof key === 'string' ? key : undefined;
  } catch {
    return undefined; // an unfinished string while the user types
  }
}

/** The key and the value of one step; of keys that are given twice the last one, as `JSON.parse` takes it. */
export function childOf(
  node: Node,
  step: string | number,
  text: string,
): { name: Node | undefined; value: Node | undefined } | undefined {
  if (typeof step === 'string' && node.name === 'Object') {
    for (const property of node.getChildren('Property').toReversed()) {
      if (keyOf(property, text) !== step) continue;
      return { name: property.getChild('PropertyName') ?? undefined, value: valueOf(property) };
    }
  }
  if (typeof step === 'number' && node.name === 'Array') {
    let at = 0;
    for (let one = node.firstChild; one; one = one.nextSibling) {
      if (!isValue(one)) continue;
      if (at === step) return { name: undefined, value: one };
      at++;
    }
  }
  return undefined;
}

/** Finds the range of a path in the text. A missing path yields its nearest existing ancestor. */
export function findRange(text: string, path: JsonPath): TextRange {
  const root = parseValue(text);
  if (root === undefined) return { from: 0, to: Math.min(1, text.length) };
  let node = root;
  let place: TextRange = { from: root.from, to: root.from + 1 };
  for (const [at, step] of path.entries()) {
    const child = childOf(node, step, text);
    if (child === undefined) break;
    const { name, value } = child;
    place = at === path.length - 1 && value ? { from: value.from, to: value.to } : rangeOf(name ?? value, place);
    if (value === undefined) break;
    node = value;
  }
  return place;
}

const rangeOf = (node: Node | undefined, otherwise: TextRange): TextRange =>
  node === undefined ? otherwise : { from: node.from, to: node.to };

/** The path at one position, and whether the position is in a key or a value. */
export interface Cursor {
  path: JsonPath;
  at: 'key' | 'value';
  /** The key or value under the position; empty if the user has typed nothing yet. */
  place: TextRange;
  /** Keys that exist in the surrounding object. */
  present: readonly string[];
}

export function cursorAt(text: string, position: number): Cursor | undefined {
  const tree = parser.parse(text);
  const inner: Node = tree.resolveInner(position, -1);
  const steps: (string | number)[] = [];
  for (let node: Node | null = inner; node; node = node.parent) {
    const { parent } = node;
    if (parent?.name === 'Array' && isValue(node)) steps.unshift(indexIn(parent, node));
    if (node.name === 'Property' && inner.name !== 'Object') steps.unshift(keyOf(node, text) ?? '');
    else if (node.name === 'Property' && node.from < inner.from) steps.unshift(keyOf(node, text) ?? '');
  }
  const holder = inner.name === 'Object' ? inner : closest(inner, 'Object');
  const present = holder?.getChildren('Property').flatMap((property) => keyOf(property, text) ?? []) ?? [];
  if (inner.name === 'PropertyName')
    return { path: steps, at: 'key', place: { from: inner.from, to: inner.to }, present };
  if (inner.name === 'Object')
    return { path: [...steps, ''], at: 'key', place: { from: position, to: position }, present };
  const written = isValue(inner) && inner.name !== 'Array';
  return {
    path: steps,
    at: 'value',
    place: written ? { from: inner.from, to: inner.to } : { from: position, to: position },
    present,
  };
}

function closest(node: Node, name: string): Node | undefined {
  for (let one: Node | null = node; one; one = one.parent) if (one.name === name) return one;
  return undefined;
}

function indexIn(array: Node, value: Node): number {
  let at = 0;
  for (let one = array.firstChild; one && one.from < value.from; one = one.nextSibling) if (isValue(one)) at++;
  return at;
}

/** Parses "agent.additional_networks[0].psk" into steps. Keys with dots or brackets are written as `["…"]`. */
export function parsePath(text: string): JsonPath {
  const steps: (string | number)[] = [];
  for (const [, key, index, quoted] of text.matchAll(/([^.[\]]+)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/g)) {
    if (index !== undefined) steps.push(Number(index));
    else if (quoted !== undefined) steps.push(String(JSON.parse(quoted)));
    else if (key !== undefined) steps.push(key);
  }
  return steps;
}

/** The inverse of `parsePath`. */
export const formatPath = (path: JsonPath): string =>
  path
    .map((step, at) => {
      if (typeof step === 'number') return `[${step}]`;
      if (!/^[\w-]+$/.test(step)) return `[${JSON.stringify(step)}]`;
      return at === 0 ? step : `.${step}`;
    })
    .join('');

/** Returns the first position where a text is not valid JSON; undefined if it is valid. */
export function syntaxProblem(text: string): { place: TextRange; line: number; column: number } | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch {
    const at = firstError(text);
    const before = text.slice(0, at).split('\n');
    const place = { from: Math.max(0, Math.min(at, text.length - 1)), to: Math.min(text.length, at + 1) };
    return { place, line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
  }
}

function firstError(text: string): number {
  const found: number[] = [];
  parser.parse(text).iterate({
    enter: (node) => {
      if (node.type.isError && found.length === 0) found.push(node.from);
      return found.length === 0;
    },
  });
  return found[0] ?? text.length;
}
