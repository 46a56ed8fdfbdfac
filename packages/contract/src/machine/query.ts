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
} from './fields.ts';
import {
  closestName,
  endOfWord,
  isQuote,
  isSpace,
  type Query,
  readMinus,
  readQuery,
  readQuoted,
  type ReadTerm,
  skip,
  unclosed,
} from '../text/query.ts';

/** A text that name, host or an ID must contain, or a comparison. `isNegated`: it must not hold. */
export type QueryTerm = { readonly isNegated: boolean } & (
  | { readonly text: string }
  | { readonly comparison: Comparison }
);

export type MachineQuery = Query<QueryTerm>;

const isSeparator = (char: string | undefined): boolean => char === ',' || isSpace(char);

/** Reads a query. An empty one has no terms: all machines match. */
export const parseMachineQuery = (query: string): MachineQuery =>
  readQuery(query, { isSeparator, read: readTerm, termsText: 'words and comparisons' });

type Read = ReadTerm<QueryTerm>;

const skipSpace = (query: string, from: number): number => skip(query, from, isSpace);
const wordEnd = (query: string, from: number): number => endOfWord(query, from, isSeparator);
const operatorAt = (query: string, at: number): WrittenOperator | undefined =>
  writtenOperators.find((operator) => query.startsWith(operator, at));

function readTerm(query: string, start: number): Read {
  const { isNegated, from } = readMinus(query, start, isSeparator);
  if (isQuote(query[from])) {
    const { text, end } = readQuoted(query, from);
    if (text === undefined) return { end, ...unclosed(query.slice(from + 1, end)) };
    return textTerm(text, end, isNegated);
  }
  const nameEnd = endOfName(query, from);
  const operatorStart = skipSpace(query, nameEnd);
  const operator = operatorAt(query, operatorStart);
  if (operator !== undefined) return comparisonTerm(query, { from, nameEnd, operatorStart, operator, isNegated });
  const end = wordEnd(query, from);
  const word = query.slice(from, end);
  const field = word.toLowerCase();
  if (isFieldName(field) && queryFields[field].kind === 'flag')
    return { term: { comparison: { field, operator: '=', value: true }, isNegated }, end };
  return textTerm(word, end, isNegated);
}

const endOfName = (query: string, from: number): number =>
  skip(query, from, (char) => char !== undefined && /[a-z_]/i.test(char));

const textTerm = (text: string, end: number, isNegated: boolean): Read =>
  text === '' || text.includes('\0')
    ? { problem: 'it has no text to search for', instead: 'a part of a name between the quotation marks', end }
    : { term: { text, isNegated }, end };

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
  const valueEnd = wordEnd(query, valueStart);
  const field = name.toLowerCase();
  if (name === '')
    return {
      problem: `before ${operator} a field must stand`,
      instead: `for example disk_free${operator}2GB`,
      end: valueEnd,
    };
  if (!isFieldName(field))
    return {
      problem: `machines have no field "${name}"`,
      instead: insteadOfField(query.slice(from, valueEnd), name),
      end: valueEnd,
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
  const end = wordEnd(query, start);
  const unitStart = skipSpace(query, end);
  const unitEnd = wordEnd(query, unitStart);
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
  const close = closestName(Object.keys(queryFields), name.toLowerCase());
  return close === undefined
    ? `one of the fields ${Object.keys(queryFields).join(', ')}, or ${quoted}`
    : `${exampleOf(close as keyof typeof queryFields)}, or ${quoted}`;
}
