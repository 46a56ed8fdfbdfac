// Places that hand on the whole environment of their process: a variable that happens to be set changes what a child does.
import { parseAst } from 'rolldown/parseAst';
import type { Counts } from './limits.ts';
import { read, unitOf } from './tree.ts';

interface Node {
  readonly type?: string;
  readonly name?: string;
  readonly object?: Node;
  readonly property?: Node;
  readonly argument?: Node;
  readonly key?: Node;
  readonly value?: Node;
  readonly callee?: Node;
  readonly arguments?: readonly Node[];
  readonly properties?: readonly Node[];
}

function* nodesIn(node: unknown): Generator<Node> {
  if (typeof node !== 'object' || node === null) return;
  if ('type' in node) yield node as Node;
  for (const child of Object.values(node)) yield* nodesIn(child);
}

const isMember = (node: Node | undefined, object: string, property: string): boolean =>
  node?.type === 'MemberExpression' && node.object?.name === object && node.property?.name === property;
const isEnvironment = (node: Node | undefined): boolean => isMember(node, 'process', 'env');

const starters = new Set(['spawn', 'spawnSync', 'execFile', 'execFileSync', 'fork']);

/** `spawn(process.execPath, …)` without `env`: Node gives the child everything. */
function startsWithAll({ type, callee, arguments: given = [] }: Node): boolean {
  if (type !== 'CallExpression' || !starters.has(callee?.name ?? '')) return false;
  if (callee?.name !== 'fork' && !isMember(given[0], 'process', 'execPath')) return false;
  const last = given.at(-1);
  if (last?.type === 'Identifier' && given.length > 2) return false;
  return !given.some(({ properties = [] }) =>
    properties.some(({ type: kind, key }) => kind === 'SpreadElement' || key?.name === 'env'),
  );
}

/** `{ ...process.env }` and `{ env: process.env }`. */
const handsOnAll = ({ type, argument, key, value }: Node): boolean =>
  (type === 'SpreadElement' && isEnvironment(argument)) ||
  (type === 'Property' && key?.name === 'env' && isEnvironment(value));

export const inheritingIn = (text: string): number =>
  [...nodesIn(parseAst(text, { lang: 'ts' }))].filter((node) => handsOnAll(node) || startsWithAll(node)).length;

/** Unit → file → number of places. */
export function inheritingPlaces(files: readonly string[]): Counts {
  const found: Record<string, Record<string, number>> = {};
  for (const file of files) {
    const text = read(file);
    if (!/process\.env\b|process\.execPath|\bfork\(/.test(text)) continue;
    const count = inheritingIn(text);
    if (count > 0) (found[unitOf(file)] ??= {})[file] = count;
  }
  return found;
}
