// Queries of log lines, for callers who need an error.
import { PlatformError } from '../errors/errors.ts';
import { type LogTerm, parseLogQuery } from './query.ts';

/** @throws PlatformError QUERY_NOT_VALID */
export function requireLogQuery(text: string): readonly LogTerm[] {
  const query = parseLogQuery(text);
  if (!query.problem) return query.terms;
  const { start, word, problem, instead } = query.problem;
  throw new PlatformError('QUERY_NOT_VALID', { word, position: start + 1, problem, instead });
}
