import { parseMachineQuery, type QueryProblem } from '@platform/contract/machine-query';
import { getRouteApi } from '@tanstack/react-router';
import { lazy, Suspense, useEffect, useState } from 'react';
import { TextField } from '../parts/fields.tsx';
import { Loading } from '../parts/messages.tsx';
import { useDebounced } from '../parts/time.tsx';

const FilterFields = lazy(async () => ({ default: (await import('./filter-fields.tsx')).FilterFields }));
const route = getRouteApi('/machines');
/** Until the user pauses. */
const settleMs = 300;

interface MachineSearch {
  typed: string;
  setTyped: (text: string) => void;
  /** The query in the URL. */
  query: string;
  sort: string;
  setSort: (sort: string) => void;
  problem: QueryProblem | undefined;
}

/** The query and the order of the list, which the URL keeps: a reload, "back" and a link show the same. */
export function useMachineSearch(): MachineSearch {
  const { q: query = '', sort = '' } = route.useSearch();
  const navigate = route.useNavigate();
  const [typed, setTyped] = useState(query);
  const [known, setKnown] = useState({ query, written: query });
  const settled = useDebounced(typed, settleMs).trim();
  // Another query in the URL than the user typed comes from a link or "back".
  if (known.query !== query) {
    setKnown({ ...known, query });
    if (query !== known.written) setTyped(query);
  }
  useEffect(() => {
    if (settled === query) return;
    setKnown((before) => ({ ...before, written: settled }));
    // One entry in the history for all letters of a query.
    void navigate({ search: (before) => searchOf(settled, before.sort ?? ''), replace: true, resetScroll: false });
  }, [settled, navigate]);
  return {
    typed,
    setTyped,
    query,
    sort,
    setSort: (next) => void navigate({ search: searchOf(query, next), replace: true }),
    problem: parseMachineQuery(query).problem,
  };
}

const searchOf = (query: string, sort: string) => ({
  ...(query !== '' && { q: query }),
  ...(sort !== '' && sort !== 'name' && { sort }),
});

/** The field of the query. A wrong word is marked, with what to write instead. */
export function SearchField({ search: { typed, setTyped, query, problem } }: { search: MachineSearch }) {
  return (
    <div className="stack-tight">
      <TextField
        label="Filter"
        value={typed}
        onChange={setTyped}
        problem={problem && <WrongWord query={query} problem={problem} />}
        placeholder="barn state:offline server<1.2"
      />
      <details className="small">
        <summary>Fields</summary>
        <p className="soft">
          Words are searched in name, host and ID. All words and comparisons have to hold; a minus before one means the
          opposite.
        </p>
        <Suspense fallback={<Loading />}>
          <FilterFields />
        </Suspense>
      </details>
    </div>
  );
}

const WrongWord = ({ query, problem: { start, end, problem, instead } }: { query: string; problem: QueryProblem }) => (
  <>
    <span className="mono break">
      {query.slice(0, start)}
      <mark>{query.slice(start, end)}</mark>
      {query.slice(end)}
    </span>
    : {problem}. Write {instead}.
  </>
);
