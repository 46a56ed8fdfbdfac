// Text form of a configuration: the position of syntax errors, and a canonical form for comparisons.
import { isObject } from '../text/json-object.ts';
import type { Problem } from './config.ts';

/** Largest text of a configuration: each machine reads it whole, and keeps several revisions. */
export const configLimitBytes = 2 ** 20;

/** Machines cannot decode a configuration of more than 47 levels: each is up to two messages, of which they read 100. */
const mostLevels = 40;

export type Parsed =
  | { readonly is: 'json'; readonly json: unknown }
  | { readonly is: 'problem'; readonly problem: Problem; readonly line: number; readonly column: number };

/** Parses JSON text; reports a syntax error, or too many levels, with line and column, both from 1. */
export function parseConfigText(text: string): Parsed {
  const tooDeep = tooDeepAt(text);
  if (tooDeep !== undefined) {
    const { line, column } = placeOf(text, tooDeep);
    const message = `has more than ${mostLevels} levels of lists and objects in each other (line ${line}, column ${column}).`;
    const remedy = `Use at most ${mostLevels} levels.`;
    return { is: 'problem', problem: { path: '', message, remedy, severity: 'error' }, line, column };
  }
  try {
    return { is: 'json', json: JSON.parse(text) };
  } catch (error) {
    const offset = mistakeAt(text);
    const { line, column } = placeOf(text, offset);
    const what =
      offset >= text.length ? 'the text ends too early' : `${JSON.stringify(text[offset])} is not expected here`;
    const message = `is not valid JSON: ${what} (line ${line}, column ${column}).`;
    const problem: Problem = {
      path: '',
      message,
      remedy: 'Look for a missing comma, quote or bracket at this place or just before it.',
      severity: 'error',
    };
    if (!(error instanceof SyntaxError)) throw error;
    return { is: 'problem', problem, line, column };
  }
}

function placeOf(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset).split('\n');
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

/** Offset of the first bracket beyond the limit; found without recursion, which deep texts would exhaust. */
function tooDeepAt(text: string): number | undefined {
  let level = 0;
  for (const { 0: word, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\]]/g)) {
    if (word === '{' || word === '[') level += 1;
    else if (word === '}' || word === ']') level -= 1;
    if (level > mostLevels) return index;
  }
  return undefined;
}

/** Offset of the first character that cannot continue a JSON value. Call it only for invalid JSON. */
function mistakeAt(text: string): number {
  let at = 0;
  const blank = (): void => {
    while (/[ \t\r\n]/.test(text[at] ?? '')) at += 1;
  };
  const take = (pattern: RegExp): boolean => {
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    if (!match) return false;
    at += match[0].length;
    return true;
  };
  /** False: the error is at `at`. */
  const string = (): boolean => {
    if (text[at] !== '"') return false;
    at += 1;
    while (at < text.length) {
      if (take(/"/y)) return true;
      if (!take(/[ !#-[\]-\uffff]+|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4}/y)) return false;
    }
    return false;
  };
  const list = (close: string, item: () => boolean): boolean => {
    at += 1;
    blank();
    if (text[at] === close) return (at += 1) > 0;
    for (;;) {
      blank();
      if (!item()) return false;
      blank();
      if (text[at] === close) return (at += 1) > 0;
      if (text[at] !== ',') return false;
      at += 1;
    }
  };
  const member = (): boolean => {
    if (!string()) return false;
    blank();
    if (text[at] !== ':') return false;
    at += 1;
    return value();
  };
  const value = (): boolean => {
    blank();
    if (text[at] === '{') return list('}', member);
    if (text[at] === '[') return list(']', value);
    if (text[at] === '"') return string();
    return take(/-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y);
  };
  if (value()) blank();
  return at;
}

/** Canonical JSON: sorted keys, no whitespace. For hashes and comparisons, not for users. */
export function canonicalText(json: unknown): string {
  if (Array.isArray(json)) return `[${json.map(canonicalText).join(',')}]`;
  if (!isObject(json)) return JSON.stringify(json);
  const members = Object.keys(json)
    .toSorted()
    .filter((key) => json[key] !== undefined)
    .map((key) => `${JSON.stringify(key)}:${canonicalText(json[key])}`);
  return `{${members.join(',')}}`;
}
