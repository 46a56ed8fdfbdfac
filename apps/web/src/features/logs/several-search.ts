import { mostMachines } from '@platform/contract/logs/query';
import { type LogSearch, readLogSearch } from './log-search.ts';

/** The URL of the lines of several machines. */
export interface SeveralSearch extends LogSearch {
  /** IDs of machines, with commas. */
  ids?: string;
  /** Instead of IDs: the first machines of a query. */
  of?: string;
}

export const idsOf = ({ ids = '' }: SeveralSearch): readonly string[] => [
  ...new Set(ids.split(',').filter((id) => id !== '')),
];

/** What of a URL can be understood; the rest is left out. */
export function readSeveralSearch(url: Record<string, unknown>): SeveralSearch {
  const { ids, of } = url;
  const chosen = idsOf({ ids: typeof ids === 'string' ? ids : '' }).slice(0, mostMachines);
  const isQuery = typeof of === 'string' || typeof of === 'number';
  return {
    ...readLogSearch(url),
    ...(chosen.length > 0 ? { ids: chosen.join(',') } : isQuery && { of: String(of) }),
  };
}

/** The same time and query of lines, of these machines. A line stays open only while its machine is there. */
export function withMachines(search: SeveralSearch, ids: readonly string[]): SeveralSearch {
  const { ids: _ids, of: _of, line: _line, ...rest } = search;
  const chosen = [...new Set(ids)].slice(0, mostMachines);
  return chosen.length === 0 ? rest : { ...rest, ids: chosen.join(',') };
}

/** Another query or time of lines, of the same machines. */
export const withLines = ({ ids, of }: SeveralSearch, lines: LogSearch): SeveralSearch => ({
  ...lines,
  ...(ids !== undefined ? { ids } : of !== undefined && { of }),
});
