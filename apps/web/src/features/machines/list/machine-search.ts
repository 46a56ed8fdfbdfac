import { parseMachineQuery } from '@platform/contract/machine/query';
import type { QueryProblem } from '@platform/contract/text/query';
import { getRouteApi } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { useDebounced } from '../../../ui/time.tsx';

const route = getRouteApi('/machines');
/** Until the user pauses. */
const settleMs = 300;

export interface MachineSearch {
  typed: string;
  setTyped: (text: string) => void;
  /** The user has left the field: what is typed counts as it is. */
  leave: () => void;
  /** The query in the URL. */
  query: string;
  setQuery: (query: string) => void;
  sort: string;
  setSort: (sort: string) => void;
  columns: string;
  setColumns: (columns: string) => void;
  problem: QueryProblem | undefined;
}

/** What the URL keeps of the list, so that a reload, "back" and a link show the same. */
interface Kept {
  q?: string;
  sort?: string;
  columns?: string;
}

/** The query, the order and the columns of the list. */
export function useMachineSearch(): MachineSearch {
  const { q: query = '', sort = '', columns = '' } = route.useSearch();
  const navigate = route.useNavigate();
  const [typed, setTyped] = useState(query);
  const [known, setKnown] = useState({ query, written: query });
  const [left, setLeft] = useState(query);
  const settled = useDebounced(typed, settleMs).trim();
  const isTyping = isUnfinished(settled) && left !== typed;
  // Another query in the URL than the user typed comes from a link or "back".
  if (known.query !== query) {
    setKnown({ query, written: query });
    if (query !== known.written) setTyped(query);
  }
  useEffect(() => {
    // A link has just changed the query: what was typed before it has not been replaced in the pause yet.
    // The list stays while a value is about to be typed.
    if (settled === query || settled !== typed.trim() || isTyping) return;
    setKnown((before) => ({ ...before, written: settled }));
    // One entry in the history for all letters of a query.
    void navigate({ search: (before) => searchOf({ ...before, q: settled }), replace: true, resetScroll: false });
  }, [settled, isTyping, navigate]);
  const change = (next: Kept): void =>
    void navigate({ search: (before) => searchOf({ ...before, ...next }), replace: true, resetScroll: false });
  return {
    typed,
    setTyped,
    leave: () => setLeft(typed),
    query,
    setQuery: (q) => {
      setTyped(q);
      change({ q });
    },
    sort,
    setSort: (next) => change({ sort: next }),
    columns,
    setColumns: (next) => change({ columns: next }),
    problem: parseMachineQuery(query).problem,
  };
}

/** Whether the text ends in a comparison without its value, such as "tag:". */
export function isUnfinished(query: string): boolean {
  const { problem } = parseMachineQuery(query);
  return problem !== undefined && problem.end === query.length && /[:=<>~]$/.test(query);
}

const searchOf = ({ q = '', sort = '', columns = '' }: Kept): Kept => ({
  ...(q !== '' && { q }),
  ...(sort !== '' && sort !== 'name' && { sort }),
  ...(columns !== '' && { columns }),
});
