// Queries and filters of lists of machines, for callers who need an error: "barn state:offline", "disk_free<2GB". The
// management server compares them with the last report of each machine; what a machine does not report matches nothing.
import { PlatformError } from '../errors/errors.ts';
import {
  type Comparison,
  isFieldName,
  queryFields,
  readComparison,
  type WrittenOperator,
  writtenOperators,
} from './fields.ts';
import { parseMachineQuery, type QueryTerm } from './query.ts';

const mostFilters = 10;
const longestFilter = 200;
const pattern = /^\s*([a-z_]+)\s*(?:(!=|<=|>=|=|<|>|~|:)\s*(.*?))?\s*$/su;

/** @throws PlatformError QUERY_NOT_VALID */
export function requireQuery(text: string): readonly QueryTerm[] {
  const query = parseMachineQuery(text);
  if (!query.problem) return query.terms;
  const { start, word, problem, instead } = query.problem;
  throw new PlatformError('QUERY_NOT_VALID', { word, position: start + 1, problem, instead });
}

/** @throws PlatformError FILTER_NOT_VALID, FILTER_FIELD_UNKNOWN */
export function parseFilters(texts: readonly string[]): Comparison[] {
  if (texts.length > mostFilters)
    throw new PlatformError('INVALID_ARGUMENT', {
      field: 'filters',
      value: `${texts.length} filters`,
      limit: `at most ${mostFilters}`,
    });
  return texts.map(parseFilter);
}

function parseFilter(text: string): Comparison {
  const filter = text.slice(0, longestFilter);
  const refuse = (problem: string): PlatformError => new PlatformError('FILTER_NOT_VALID', { filter, problem });
  if (text.length > longestFilter) throw refuse(`it has more than ${longestFilter} characters`);
  const [, name = '', operator, quoted = ''] = pattern.exec(text) ?? [];
  if (name === '') throw refuse('it does not begin with the name of a field');
  if (!isFieldName(name))
    throw new PlatformError('FILTER_FIELD_UNKNOWN', { field: name, fields: Object.keys(queryFields).join(', ') });
  if (operator === undefined) {
    if (queryFields[name].kind !== 'flag')
      throw refuse(`after ${name} one of ${writtenOperators.join(' ')} and a value must follow`);
    return { field: name, operator: '=', value: true };
  }
  const read = readComparison(name, operator as WrittenOperator, unquoted(quoted));
  if ('problem' in read) throw refuse(read.problem);
  return read.comparison;
}

const unquoted = (text: string): string => /^"(.*)"$/s.exec(text)?.[1] ?? text;
