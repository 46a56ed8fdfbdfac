// How queries are written, of machines and of log lines: words and comparisons between spaces, texts in quotation marks, a
// minus for the opposite. Each language reads its own terms; this module finds where they begin and end.

export interface QueryProblem {
  /** The place of the wrong word in the query. */
  readonly start: number;
  readonly end: number;
  readonly word: string;
  readonly problem: string;
  /** What to write in its place. */
  readonly instead: string;
}

/** `places`: where each term stands. */
export type Query<T> =
  | {
      readonly terms: readonly T[];
      readonly places: readonly { readonly start: number; readonly end: number }[];
      readonly problem?: undefined;
    }
  | { readonly problem: QueryProblem };

export type ReadTerm<T> = { end: number } & ({ term: T } | { problem: string; instead: string });

const longestQuery = 1_000;
const mostTerms = 20;

interface Language<T> {
  /** Whether this character ends a word. */
  readonly isSeparator: (char: string | undefined) => boolean;
  /** Reads the term at a place. */
  readonly read: (query: string, start: number) => ReadTerm<T>;
  /** What its terms are called: "words and comparisons". */
  readonly termsText: string;
}

/** Reads a query. An empty one has no terms: all match. The first wrong word ends it. */
export function readQuery<T>(query: string, { isSeparator, read, termsText }: Language<T>): Query<T> {
  if (query.length > longestQuery) {
    const problem = `the query has more than ${longestQuery} characters`;
    return { problem: problemAt(query, longestQuery, query.length, problem, 'fewer words') };
  }
  const terms: T[] = [];
  const places: { start: number; end: number }[] = [];
  for (let at = skip(query, 0, isSeparator); at < query.length; at = skip(query, at, isSeparator)) {
    const found = read(query, at);
    if ('problem' in found) return { problem: problemAt(query, at, found.end, found.problem, found.instead) };
    if (terms.length === mostTerms) {
      const problem = `the query has more than ${mostTerms} ${termsText}`;
      return { problem: problemAt(query, at, found.end, problem, 'fewer of them') };
    }
    terms.push(found.term);
    places.push({ start: at, end: found.end });
    at = found.end;
  }
  return { terms, places };
}

const problemAt = (query: string, start: number, end: number, problem: string, instead: string): QueryProblem => ({
  start,
  end,
  word: query.slice(start, Math.min(end, start + 80)),
  problem,
  instead,
});

/** Keyboards of phones write typographic quotation marks. */
export const isQuote = (char: string | undefined): boolean => char !== undefined && '"“”„'.includes(char);
export const isSpace = (char: string | undefined): boolean => char !== undefined && /\s/u.test(char);

/** The first place from here on that is not of a kind. */
export function skip(query: string, from: number, isOfKind: (char: string | undefined) => boolean): number {
  let at = from;
  while (at < query.length && isOfKind(query[at])) at += 1;
  return at;
}
/** Where a word ends. */
export const endOfWord = (query: string, from: number, isSeparator: (char: string | undefined) => boolean): number =>
  skip(query, from, (char) => !isSeparator(char));

/** Whether the term is the opposite, and where it begins after the minus. */
export function readMinus(
  query: string,
  start: number,
  isSeparator: (char: string | undefined) => boolean,
): { isNegated: boolean; from: number } {
  const isNegated = query[start] === '-' && start + 1 < query.length && !isSeparator(query[start + 1]);
  return { isNegated, from: isNegated ? start + 1 : start };
}

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

/** The name that a wrong one probably meant. */
export const closestName = <N extends string>(names: readonly N[], wrong: string): N | undefined =>
  names.find((name) => distance(name, wrong) <= Math.min(2, wrong.length / 3));

/** Number of letters to insert, delete or replace; of names of at most 30 letters. */
function distance(a: string, b: string): number {
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
