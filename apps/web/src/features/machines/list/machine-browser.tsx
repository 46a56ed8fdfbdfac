import '../../../ui/style/machines.css';
import { useState } from 'react';
import { MachineIcon } from '../../../ui/icons.tsx';
import { useMedia } from '../../../ui/media.ts';
import { OpensLater } from '../../../ui/loaded-later.tsx';
import { EmptyState, Loading } from '../../../ui/messages.tsx';
import { NextTask } from '../../../ui/next-task.tsx';
import { useSession } from '../../../entities/session/session.tsx';
import { machineColumns } from './machine-columns.ts';
import { type MachineSelection, nothingSelected } from './machine-selection.ts';
import { BulkBar } from './bulk-bar.tsx';
import { ColumnWords } from './column-words.tsx';
import { FacetList } from './facet-list.tsx';
import type { MachineList } from './machine-list-query.ts';
import type { MachineSearch } from './machine-search.ts';
import { MachineTable } from './machine-table.tsx';
import { ViewTabs } from './view-tabs.tsx';
import { QueryField } from './query-field.tsx';

interface BrowserProps {
  search: MachineSearch;
  list: MachineList;
}

/** The query, the facets and the table of the machines. */
export function MachineBrowser({ search, list }: BrowserProps) {
  const { organizationId } = useSession().organization;
  const [open, setOpen] = useState(false);
  const [kept, setKept] = useState({ query: search.query, selection: nothingSelected });
  // A selection is of the machines that a query found.
  const selection = kept.query === search.query ? kept.selection : nothingSelected;
  const isWide = useMedia('(min-width: 1100px)');
  const hasFacets = (isWide || open) && search.problem === undefined && list.counts?.total !== 0;
  return (
    <>
      <ViewTabs search={search} />
      <div className="query-line">
        <QueryField
          value={search.typed}
          onChange={search.setTyped}
          onLeave={search.leave}
          organizationId={organizationId}
        />
        {!isWide && (
          <button type="button" className="button" aria-expanded={open} onClick={() => setOpen(!open)}>
            Facets
          </button>
        )}
        <SortMenu sort={search.sort} onSort={search.setSort} />
        <OpensLater
          name="columns of the list"
          load={() => import('./column-menu.tsx')}
          button={<ColumnWords />}
          className="button not-narrow"
          kind="menu"
        >
          {({ ColumnMenu }) => <ColumnMenu columns={search.columns} onColumns={search.setColumns} />}
        </OpensLater>
      </div>
      <div className={hasFacets ? 'browser with-facets' : 'browser'}>
        <div className="card">
          <NextTask instead={<Loading />}>
            <Machines
              search={search}
              list={list}
              selection={selection}
              onSelect={(next) => setKept({ query: search.query, selection: next })}
            />
          </NextTask>
        </div>
        {hasFacets && <FacetList query={search.query} onQuery={search.setQuery} />}
      </div>
      <BulkBar
        selection={selection}
        onSelect={(next) => setKept({ query: search.query, selection: next })}
        matching={list.counts?.matching ?? 0}
        query={search.query}
      />
    </>
  );
}

interface MachinesProps extends BrowserProps {
  selection: MachineSelection;
  onSelect: (selection: MachineSelection) => void;
}

function Machines({ search, list, selection, onSelect }: MachinesProps) {
  if (search.problem)
    return (
      <EmptyState icon={<MachineIcon />} title="No machines are shown">
        <p>The filter has an error: correct the marked word.</p>
      </EmptyState>
    );
  if (!list.counts) return list.error ? null : <Loading />;
  const { total, matching } = list.counts;
  if (matching > 0)
    return (
      <MachineTable
        list={list}
        rows={matching}
        sort={search.sort}
        onSort={search.setSort}
        columns={search.columns}
        selection={selection}
        onSelect={onSelect}
      />
    );
  if (total > 0)
    return (
      <EmptyState icon={<MachineIcon />} title="No machine matches">
        <p>What a machine does not report matches no filter.</p>
      </EmptyState>
    );
  return (
    <EmptyState icon={<MachineIcon />} title="No machines yet">
      <p>
        Add one: a line to paste on it brings it online. A demo machine is there after a start without{' '}
        <code>--empty</code>.
      </p>
    </EmptyState>
  );
}

/** For narrow screens, on which the table has few columns. */
const SortMenu = ({ sort, onSort }: { sort: string; onSort: (sort: string) => void }) => (
  <select
    className="select only-narrow sort-menu"
    aria-label="Order"
    value={sort || 'name'}
    onChange={({ target }) => onSort(target.value)}
  >
    {machineColumns.map(({ key, text }) => (
      <optgroup key={key} label={text}>
        <option value={key}>{text}</option>
        <option value={`-${key}`}>{text}, descending</option>
      </optgroup>
    ))}
  </select>
);
