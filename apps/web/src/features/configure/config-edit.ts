// Minimal edits of a JSON text: order of keys, spacing and numbers stay as the user typed them.
import { childOf, childrenOf, parseValue } from './schema/json-path.ts';
import type { JsonNode, JsonPath, TextRange } from './schema/json-path.ts';

/** A text that is valid JSON, with its parsed forms. */
export interface ConfigText {
  readonly text: string;
  readonly json: unknown;
  readonly root: JsonNode | undefined;
}

export const readConfigText = (text: string): ConfigText => ({
  text,
  json: JSON.parse(text) as unknown,
  root: parseValue(text),
});

export const jsonAt = (json: unknown, path: JsonPath): unknown =>
  path.reduce<unknown>(
    (value, step) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, step)
        ? (value as Record<string | number, unknown>)[step]
        : undefined,
    json,
  );

/** The value at a path as it is typed; undefined: there is none. */
export function typedAt({ text, root }: ConfigText, path: JsonPath): string | undefined {
  let node = root;
  for (const step of path) node = node && childOf(node, step, text)?.value;
  return node && text.slice(node.from, node.to);
}

/**
 * Writes a value; missing objects and lists around it are added. A number after the end of a list appends to it.
 * @param literal - JSON of the value, which a scalar keeps as it is
 */
export function setValue(text: string, path: JsonPath, literal: string): string {
  const layout = layoutOf(text);
  let node = parseValue(text);
  for (const [at, step] of path.entries()) {
    if (node === undefined) break;
    const found = childOf(node, step, text)?.value;
    if (found !== undefined) {
      node = found;
      continue;
    }
    if (node.name === (typeof step === 'string' ? 'Object' : 'Array'))
      return insert(text, node, { step, rest: path.slice(at + 1), literal, layout });
    const style = { ...layout, indent: indentAt(text, node.from) };
    return replace(text, node, written(path.slice(at), literal, style));
  }
  if (node === undefined) return written(path, literal, { ...layout, indent: '' });
  return replace(
    text,
    node,
    written([], literal, { ...styleAt(text, node, layout), indent: indentAt(text, node.from) }),
  );
}

/** Removes a value, and the objects and lists that are empty without it, but no entry of a list. */
export function removeValue(text: string, path: JsonPath): string {
  const root = parseValue(text);
  let removed: { from: JsonNode; child: JsonNode } | undefined;
  let node = root;
  let isPruned = false;
  for (const step of path) {
    const value = node && childOf(node, step, text)?.value;
    if (node === undefined || value === undefined) return text;
    const child = node.name === 'Object' ? value.parent : value;
    if (child === null) return text;
    const isOnly = childrenOf(node).length === 1;
    // Everything around that holds nothing else goes, too; it begins after each list entry anew.
    if (!isOnly || !isPruned || node.parent?.name === 'Array') removed = { from: node, child };
    isPruned = true;
    node = value;
  }
  return removed === undefined ? text : cut(text, removed.from, removed.child);
}

/** Makes a value the only entry of a list in its place. */
export function wrapInList(text: string, path: JsonPath): string {
  let node = parseValue(text);
  for (const step of path) node = node && childOf(node, step, text)?.value;
  return node === undefined ? text : replace(text, node, `[${text.slice(node.from, node.to)}]`);
}

/** Gives a member another key; its place and its value stay. */
export function renameKey(text: string, path: JsonPath, key: string): string {
  let node = parseValue(text);
  let name: JsonNode | undefined;
  for (const step of path) {
    const found = node && childOf(node, step, text);
    [node, name] = [found?.value, found?.name];
  }
  return name === undefined ? text : replace(text, name, JSON.stringify(key));
}

const replace = (text: string, { from, to }: TextRange, by: string): string =>
  text.slice(0, from) + by + text.slice(to);

function cut(text: string, container: JsonNode, child: JsonNode): string {
  const all = childrenOf(container);
  const at = all.findIndex(({ from }) => from === child.from);
  const [before, after] = [all[at - 1], all[at + 1]];
  if (before !== undefined) return replace(text, { from: before.to, to: child.to }, '');
  if (after !== undefined) return replace(text, { from: child.from, to: after.from }, '');
  return replace(text, { from: container.from + 1, to: container.to - 1 }, '');
}

/** How a text is laid out. */
interface Layout {
  /** One level of indentation; empty: everything is on one line. */
  readonly unit: string;
  readonly end: string;
  /** After a colon. */
  readonly gap: string;
}
/** How an added value is laid out. */
interface Style extends Layout {
  /** Indentation of the line on which the value begins. */
  readonly indent: string;
}

function layoutOf(text: string): Layout {
  const end = text.includes('\r\n') ? '\r\n' : '\n';
  const isOneLine = !text.trim().includes('\n') && text.trim().length > 2;
  const unit = /\n([ \t]+)\S/.exec(text)?.[1] ?? '  ';
  return { unit: isOneLine ? '' : unit, end, gap: /":\S/.test(text) && !/": /.test(text) ? '' : ' ' };
}

/** A value on one line gets its additions on that line. */
function styleAt(text: string, node: JsonNode, layout: Layout): Layout {
  const isSpread = childrenOf(node).length === 0 || text.slice(node.from, node.to).includes('\n');
  return isSpread ? layout : { ...layout, unit: '' };
}

function indentAt(text: string, position: number): string {
  const line = text.lastIndexOf('\n', position - 1) + 1;
  return /^[ \t]*/.exec(text.slice(line, position))?.[0] ?? '';
}

interface Insertion {
  readonly step: string | number;
  readonly rest: JsonPath;
  readonly literal: string;
  readonly layout: Layout;
}

function insert(text: string, container: JsonNode, { step, rest, literal, layout }: Insertion): string {
  const last = childrenOf(container).at(-1);
  if (last === undefined) {
    const style = { ...layout, indent: indentAt(text, container.from) };
    return replace(text, container, written([step, ...rest], literal, style));
  }
  const before = text.slice(container.from + 1, last.from);
  const start = before.slice(before.trimEnd().length);
  const isSpread = start.includes('\n');
  // The first member of `{ "a": 1 }` stands after a space as well; `{"a":1}` keeps none.
  const style = { ...layout, unit: isSpread ? layout.unit || '  ' : '', indent: indentAt(text, last.from) };
  const key = typeof step === 'string' ? `${JSON.stringify(step)}:${style.gap}` : '';
  const separator = isSpread ? start : style.gap;
  return replace(text, { from: last.to, to: last.to }, `,${separator}${key}${written(rest, literal, style)}`);
}

/** A value inside the objects and lists that a path names. */
function written(path: JsonPath, literal: string, style: Style): string {
  const [step, ...rest] = path;
  if (step === undefined) return laidOut(literal, style);
  const [open, close] = typeof step === 'string' ? ['{', '}'] : ['[', ']'];
  const key = typeof step === 'string' ? `${JSON.stringify(step)}:${style.gap}` : '';
  if (style.unit === '') return `${open}${style.gap}${key}${written(rest, literal, style)}${style.gap}${close}`;
  const inner = style.indent + style.unit;
  const value = written(rest, literal, { ...style, indent: inner });
  return `${open}${style.end}${inner}${key}${value}${style.end}${style.indent}${close}`;
}

function laidOut(literal: string, { unit, indent, end, gap }: Style): string {
  if (!/^[{[]/.test(literal)) return literal;
  const spread = JSON.stringify(JSON.parse(literal), null, unit || ' ');
  if (unit !== '') return spread.replaceAll('\n', `${end}${indent}`);
  // JSON.stringify escapes line ends inside texts, so these are between values.
  return gap === '' ? JSON.stringify(JSON.parse(literal)) : spread.replaceAll(/\n */g, ' ');
}
