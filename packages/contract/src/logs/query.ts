// Queries of log lines: words, expressions and properties that all have to hold, for page, command line and call.
//   "no such device" level:error logger:front camera=front /try=\d+/ -boot:1f3a
import { type LogLevel, logLevels } from './levels.ts';
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
  unclosed,
} from '../text/query.ts';

/** One condition on a line. `isNegated`: it must not hold. */
export type LogTerm = { readonly isNegated: boolean } & (
  | { readonly is: 'text'; readonly text: string }
  | { readonly is: 'expression'; readonly source: string; readonly ignoresCase: boolean }
  | { readonly is: 'level'; readonly levels: readonly LogLevel[] }
  | { readonly is: 'logger' | 'host'; readonly text: string; readonly isWhole: boolean }
  | { readonly is: 'boot'; readonly text: string }
  | { readonly is: 'field'; readonly name: string; readonly text: string; readonly isWhole: boolean }
);

export type LogQuery = Query<LogTerm>;

/** Machines of one search, count or watch. */
export const mostMachines = 8;

const properties = ['level', 'logger', 'boot', 'host'] as const;
type Property = (typeof properties)[number];
const isProperty = (name: string): name is Property => properties.includes(name as Property);
const examples: Readonly<Record<Property, string>> = {
  level: 'level:error, level:error,warn or level>=warn',
  logger: 'logger:front or logger=resources.front',
  boot: 'boot:1f3a, the ID of a start or its first characters',
  host: 'host:barn',
};

/** Reads a query. An empty one has no terms: all lines match. */
export const parseLogQuery = (query: string): LogQuery =>
  readQuery(query, { isSeparator: isSpace, read: readTerm, termsText: 'words, expressions and properties' });

type Read = ReadTerm<LogTerm>;

const wordEnd = (query: string, from: number): number => endOfWord(query, from, isSpace);

function readTerm(query: string, start: number): Read {
  const { isNegated, from } = readMinus(query, start, isSpace);
  if (isQuote(query[from])) {
    const { text, end } = readQuoted(query, from);
    return text === undefined ? { end, ...unclosed(query.slice(from + 1, end)) } : textTerm(text, end, isNegated);
  }
  if (query[from] === '/') {
    const read = readExpression(query, from, isNegated);
    if (read) return read;
  }
  const written = readComparison(query, from);
  if (written) return { ...comparedTerm(written, isNegated), end: written.end };
  const end = wordEnd(query, from);
  return textTerm(query.slice(from, end), end, isNegated);
}

const textTerm = (text: string, end: number, isNegated: boolean): Read =>
  text === '' || text.includes('\0')
    ? { problem: 'it has no text to search for', instead: 'a text between the quotation marks', end }
    : { term: { is: 'text', text, isNegated }, end };

/** An expression ends at the next slash that no backslash precedes and no word follows: /dev/video0 is a word. */
function readExpression(query: string, open: number, isNegated: boolean): Read | undefined {
  let at = open + 1;
  while (at < query.length && query[at] !== '/') at += query[at] === '\\' ? 2 : 1;
  if (at >= query.length) return undefined;
  const flags = query[at + 1] === 'i' ? 'i' : '';
  const end = at + 1 + flags.length;
  if (at === open + 1 || (end < query.length && !isSpace(query[end]))) return undefined;
  const source = query.slice(open + 1, at);
  try {
    // Only its syntax is checked here.
    void new RegExp(source, flags);
  } catch (error) {
    const problem = `it is not a regular expression: ${(error as Error).message.replace(/^.*: /, '')}`;
    return { problem, instead: 'for example /timeout after \\d+ s/', end };
  }
  return { term: { is: 'expression', source, ignoresCase: flags === 'i', isNegated }, end };
}

interface Written {
  name: string;
  operator: string;
  value: string | undefined;
  word: string;
  end: number;
}

/** A name, an operator and a value, without spaces: level:error, camera="front left". */
function readComparison(query: string, from: number): Written | undefined {
  if (!/[a-z_]/i.test(query[from] ?? '')) return undefined;
  let at = from;
  while (at < query.length && /[\w.-]/.test(query[at] ?? '')) at += 1;
  const operator = ['>=', ':', '=', '~'].find((one) => query.startsWith(one, at));
  if (operator === undefined) return undefined;
  const valueStart = at + operator.length;
  const name = query.slice(from, at);
  const quoted = isQuote(query[valueStart]) ? readQuoted(query, valueStart) : undefined;
  const end = quoted?.end ?? wordEnd(query, valueStart);
  const value = quoted ? quoted.text : query.slice(valueStart, end);
  return { name, operator, value, word: query.slice(from, end), end };
}

function comparedTerm(written: Written, isNegated: boolean): { term: LogTerm } | { problem: string; instead: string } {
  const { name, operator, value, word } = written;
  const lower = name.toLowerCase();
  if (value === undefined) return unclosed(word.slice(name.length + operator.length + 1));
  if (isProperty(lower)) return propertyTerm(lower, { operator, value, isNegated });
  const inQuotes = `"${word.slice(0, 40).replaceAll('"', '')}" in quotation marks to search for the text`;
  if (operator === ':' || operator === '>=') {
    const close = closestName(properties, lower);
    const instead = close ? `${examples[close]}, or ${inQuotes}` : `${name}=VALUE to compare a field, or ${inQuotes}`;
    return { problem: `lines have no property "${name.slice(0, 40)}"`, instead };
  }
  if (value === '' || value.includes('\0'))
    return { problem: `after ${name}${operator} a value must follow`, instead: `for example ${name}=front` };
  return { term: { is: 'field', name, text: value, isWhole: operator === '=', isNegated } };
}

function propertyTerm(
  is: Property,
  { operator, value, isNegated }: { operator: string; value: string; isNegated: boolean },
): { term: LogTerm } | { problem: string; instead: string } {
  const instead = examples[is];
  if (value === '' || value.includes('\0')) return { problem: `after ${is}${operator} a value must follow`, instead };
  if (is === 'level') {
    const levels = levelsOf(operator, value);
    return levels ? { term: { is, levels, isNegated } } : { problem: `there is no level "${value}"`, instead };
  }
  if (operator === '>=') return { problem: `${is} has no order`, instead };
  if (is === 'boot') return { term: { is, text: value, isNegated } };
  return { term: { is, text: value, isWhole: operator === '=', isNegated } };
}

/** "error,warn", or with >= a level and those more important. */
function levelsOf(operator: string, value: string): readonly LogLevel[] | undefined {
  const named = value
    .toLowerCase()
    .split(',')
    .map((name) => (name === 'warning' ? 'warn' : logLevels.find((level) => level === name)));
  const known = named.filter((level) => level !== undefined);
  if (known.length < named.length || operator === '~') return undefined;
  if (operator !== '>=') return known;
  const [least] = known;
  return known.length === 1 && least !== undefined ? logLevels.slice(0, logLevels.indexOf(least) + 1) : undefined;
}
