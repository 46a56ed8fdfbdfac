// Queries of the list of machines: words and comparisons that all have to hold, for page, command line and call.
//   barn state:offline server<1.2 -location:"Hof Lindau"
import {
  type Comparison,
  isFieldName,
  isUnitOf,
  queryFields,
  readComparison,
  type WrittenOperator,
  writtenOperators,
} from './machine-fields.ts';

/** A text that name, host or an ID must contain, or a comparison. `isNegated`: it must not hold. */
export type QueryTerm = { readonly isNegated: boolean } & (
  | { readonly text: string }
  | { readonly comparison: Comparison }
);

export interface QueryProblem {
  /** The place of the wrong word in the query. */
  readonly start: number;
  readonly end: number;
  readonly word: string;
  readonly problem: string;
  /** What to write in its place. */
  readonly instead: string;
}

export type MachineQuery =
  | { readonly terms: readonly QueryTerm[]; readonly problem?: undefined }
  | { readonly problem: QueryProblem };

const longestQuery = 1_000;
const mostTerms = 20;

/** Reads a query. An empty one has no terms: all machines match. */
export function parseMachineQuery(query: string): MachineQuery {
  if (query.length > longestQuery) {
    const problem = `the query has more than ${longestQuery} characters`;
    return { problem: problemAt(query, longestQuery, query.length, problem, 'fewer words') };
  }
  const terms: QueryTerm[] = [];
  for (let at = skip(query, 0); at < query.length; at = skip(query, at)) {
    const read = readTerm(query, at);
    if ('problem' in read) return { problem: problemAt(query, at, read.end, read.problem, read.instead) };
    if (terms.length === mostTerms) {
      const problem = `the query has more than ${mostTerms} words and comparisons`;
      return { problem: problemAt(query, at, read.end, problem, 'fewer of them') };
    }
    terms.push(read.term);
    at = read.end;
  }
  return { terms };
}

export const problemAt = (
  query: string,
  start: number,
  end: number,
  problem: string,
  instead: string,
): QueryProblem => ({
  start,
  end,
  word: query.slice(start, Math.min(end, start + 80)),
  problem,
  instead,
});

type Read = { end: number } & ({ term: QueryTerm } | { problem: string; instead: string });

/** Keyboards of phones write typographic quotation marks. */
export const isQuote = (char: string | undefined): boolean => char !== undefined && '"“”„'.includes(char);
export const isSpace = (char: string | undefined): boolean => char !== undefined && /\s/u.test(char);
const isSeparator = (char: string | undefined): boolean => char === ',' || isSpace(char);

function skip(query: string, from: number): number {
  let at = from;
  while (at < query.length && isSeparator(query[at])) at += 1;
  return at;
}
function skipSpace(query: string, from: number): number {
  let at = from;
  while (at < query.length && isSpace(query[at])) at += 1;
  return at;
}
function endOfWord(query: string, from: number): number {
  let at = from;
  while (at < query.length && !isSeparator(query[at])) at += 1;
  return at;
}
const operatorAt = (query: string, at: number): WrittenOperator | undefined =>
  writtenOperators.find((operator) => query.startsWith(operator, at));

function readTerm(query: string, start: number): Read {
  const isNegated = query[start] === '-' && start + 1 < query.length && !isSeparator(query[start + 1]);
  const from = isNegated ? start + 1 : start;
  if (isQuote(query[from])) {
    const { text, end } = readQuoted(query, from);
    if (text === undefined) return { end, ...unclosed(query.slice(from + 1, end)) };
    return textTerm(text, end, isNegated);
  }
  const nameEnd = endOfName(query, from);
  const operatorStart = skipSpace(query, nameEnd);
  const operator = operatorAt(query, operatorStart);
  if (operator !== undefined) return comparisonTerm(query, { from, nameEnd, operatorStart, operator, isNegated });
  const end = endOfWord(query, from);
  const word = query.slice(from, end);
  const field = word.toLowerCase();
  if (isFieldName(field) && queryFields[field].kind === 'flag')
    return { term: { comparison: { field, operator: '=', value: true }, isNegated }, end };
  return textTerm(word, end, isNegated);
}

function endOfName(query: string, from: number): number {
  let at = from;
  while (at < query.length && /[a-z_]/i.test(query[at] ?? '')) at += 1;
  return at;
}

const textTerm = (text: string, end: number, isNegated: boolean): Read =>
  text === '' || text.includes('\0')
    ? { problem: 'it has no text to search for', instead: 'a part of a name between the quotation marks', end }
    : { term: { text, isNegated }, end };

export const unclosed = (text: string) => ({
  problem: 'the quotation mark is not closed',
  instead: `"${text.slice(0, 40).trim()}"`,
});

/** Text between quotation marks, in which \" stands for one. @returns no text: the mark is not closed. */
export function readQuoted(query: string, open: number): { text: string | undefined; end: number } {
  let text = '';
  for (let at = open + 1; at < query.length; at += 1) {
    const char = query[at] ?? '';
    if (char === '\\' && isQuote(query[at + 1])) {
      at += 1;
      text += query[at] ?? '';
    } else if (isQuote(char)) return { text, end: at + 1 };
    else text += char;
  }
  return { text: undefined, end: query.length };
}

interface WrittenComparison {
  from: number;
  nameEnd: number;
  operatorStart: number;
  operator: WrittenOperator;
  isNegated: boolean;
}

function comparisonTerm(query: string, written: WrittenComparison): Read {
  const { from, nameEnd, operatorStart, operator, isNegated } = written;
  const name = query.slice(from, nameEnd);
  const valueStart = skipSpace(query, operatorStart + operator.length);
  const wordEnd = endOfWord(query, valueStart);
  const field = name.toLowerCase();
  if (name === '')
    return {
      problem: `before ${operator} a field must stand`,
      instead: `for example disk_free${operator}2GB`,
      end: wordEnd,
    };
  if (!isFieldName(field))
    return {
      problem: `machines have no field "${name}"`,
      instead: insteadOfField(query.slice(from, wordEnd), name),
      end: wordEnd,
    };
  const value = readValue(query, valueStart, queryFields[field].kind);
  if (value.text === undefined) return { end: value.end, ...unclosed(query.slice(valueStart + 1, value.end)) };
  const example = exampleOf(field);
  if (value.text === '')
    return { problem: `after ${name}${operator} a value must follow`, instead: example, end: value.end };
  const read = readComparison(field, operator, value.text);
  if ('problem' in read) return { problem: read.problem, instead: example, end: value.end };
  return { term: { comparison: read.comparison, isNegated }, end: value.end };
}

function readValue(query: string, start: number, kind: Parameters<typeof isUnitOf>[0]) {
  if (isQuote(query[start])) return readQuoted(query, start);
  const end = endOfWord(query, start);
  const unitStart = skipSpace(query, end);
  const unitEnd = endOfWord(query, unitStart);
  const unit = query.slice(unitStart, unitEnd);
  const text = query.slice(start, end);
  return /^[\d.-]+$/.test(text) && isUnitOf(kind, unit) ? { text: `${text} ${unit}`, end: unitEnd } : { text, end };
}

/** The first comparison in the description of a field. */
export function exampleOf(field: keyof typeof queryFields): string {
  const { description } = queryFields[field];
  return new RegExp(`${field}(?:[!<>=~:]+(?:"[^"]*"|[^ ,"]+))`).exec(description)?.[0] ?? `${field}=…`;
}

function insteadOfField(word: string, name: string): string {
  const quoted = `"${word.slice(0, 40).replaceAll('"', '')}" in quotation marks to search for the text`;
  const close = Object.keys(queryFields).find(
    (field) => distance(field, name.toLowerCase()) <= Math.min(2, name.length / 3),
  );
  return close === undefined
    ? `one of the fields ${Object.keys(queryFields).join(', ')}, or ${quoted}`
    : `${exampleOf(close as keyof typeof queryFields)}, or ${quoted}`;
}

/** Number of letters to insert, delete or replace; of names of at most 30 letters. */
export function distance(a: string, b: string): number {
  if (b.length > 30) return b.length;
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [index, letter] of a.split('').entries()) {
    const next = [index + 1];
    for (let at = 1; at <= b.length; at += 1)
      next.push(
        Math.min((next[at - 1] ?? 0) + 1, (row[at] ?? 0) + 1, (row[at - 1] ?? 0) + (b[at - 1] === letter ? 0 : 1)),
      );
    row = next;
  }
  return row[b.length] ?? 0;
}
