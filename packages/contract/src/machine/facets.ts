// Values of the fields of machines with their numbers, for facets and suggestions; and the text of a query around them.
import { type FieldName, isFieldName, queryFields } from './fields.ts';
import { parseMachineQuery } from './query.ts';
import { endOfWord, isQuote, isSpace, readQuoted } from '../text/query.ts';

export const facetFields = ['state', 'condition', 'tag', 'location', 'server', 'agent'] as const;
const listedFields = [
  ...facetFields,
  'platform',
  'os',
  'model',
  'architecture',
  'distribution',
  'kernel',
  'boot_reason',
  'hostname',
  'host',
] as const;
/** Fields of which the server lists the values. */
export type ListedField = (typeof listedFields)[number];
export const isListedField = (name: string): name is ListedField => listedFields.some((field) => field === name);

/** Comparisons that contain a value but do not equal it are written with a colon. */
const equalsByColon: readonly string[] = ['state', 'tag'] satisfies ListedField[];

/** The comparison that finds the machines of a value: `tag:barn`, `location="Hof Lindau"`. */
export function writtenValue(field: ListedField, value: string): string {
  const isPlain = value !== '' && !/[\s,"“”„]/u.test(value);
  const text = isPlain ? value : `"${value.replaceAll(/["“”„]/g, String.raw`\$&`)}"`;
  return `${field}${equalsByColon.includes(field) ? ':' : '='}${text}`;
}

/** Adds a term to a query; removes it if the query has it, or its opposite. */
export function toggledTerm(query: string, term: string): string {
  const [wanted] = termsOf(term);
  const own = termsOf(query).filter(({ key }) => key === wanted?.key);
  if (own.length === 0) return `${query.trim()} ${term}`.trim();
  const others = own.toReversed().reduce((rest, { start, end }) => rest.slice(0, start) + rest.slice(end), query);
  const left = others.replaceAll(/\s+/g, ' ').trim();
  return own.some(({ isNegated }) => isNegated !== wanted?.isNegated) ? `${left} ${term}`.trim() : left;
}

/** Whether a query asks for a term, for its opposite, or for neither. */
export function presenceOf(query: string, term: string): 'asked' | 'excluded' | 'absent' {
  const [wanted] = termsOf(term);
  const found = termsOf(query).find(({ key }) => key === wanted?.key);
  return found === undefined ? 'absent' : found.isNegated ? 'excluded' : 'asked';
}

function termsOf(query: string) {
  const read = parseMachineQuery(query);
  if (read.problem) return [];
  return read.terms.map(({ isNegated, ...term }, index) => ({
    ...(read.places[index] ?? { start: 0, end: 0 }),
    isNegated,
    key: JSON.stringify(term),
  }));
}

/** What is typed at a place of a query, for suggestions. `start`, `end`: what a suggestion replaces. */
export type Typed = { readonly start: number; readonly end: number } & (
  | { readonly is: 'name'; readonly text: string }
  | { readonly is: 'value'; readonly field: ListedField; readonly text: string }
);

/** @returns undefined: nothing can be suggested there. */
export function typedAt(query: string, place: number): Typed | undefined {
  const start = startOfTerm(query, place);
  const from = query[start] === '-' ? start + 1 : start;
  const end = endOfWord(query, place, (char) => char === ',' || isSpace(char));
  const text = query.slice(from, place);
  if (/^[a-z_]*$/i.test(text)) return { is: 'name', text: text.toLowerCase(), start: from, end };
  const [, name = '', value = ''] = /^([a-z_]+)[:=](.*)$/is.exec(text) ?? [];
  const field = name.toLowerCase();
  if (!isListedField(field)) return undefined;
  const typed = isQuote(value[0]) ? (readQuoted(value, 0).text ?? value.slice(1)) : value;
  return { is: 'value', field, text: typed, start: from, end };
}

/** Where the term around a place begins: spaces between quotation marks belong to it. */
function startOfTerm(query: string, place: number): number {
  let start = 0;
  for (let at = 0; at < place; at += 1) {
    if (isQuote(query[at])) at = Math.min(readQuoted(query, at).end, place) - 1;
    else if (query[at] === ',' || isSpace(query[at])) start = at + 1;
  }
  return start;
}

/** The fields whose names begin with a text, each with an example. */
export const fieldsFrom = (text: string): { field: FieldName; description: string }[] =>
  Object.entries(queryFields)
    .filter(([name]) => text !== '' && name.startsWith(text))
    .flatMap(([field, { description }]) => (isFieldName(field) ? [{ field, description }] : []));
