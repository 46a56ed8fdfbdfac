import { OnlineState } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { Link } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { useLostSince } from '../parts/contact.tsx';
import { MachineIcon, PlusIcon } from '../parts/icons.tsx';
import { EmptyState, FailureNote, Loading } from '../parts/messages.tsx';
import { formatCount, formatGrouped } from '../view/quantities.ts';
import { type MachineList, useMachineList } from './machine-list-query.ts';
import { SearchField, useMachineSearch } from './machine-search.tsx';

const CreateMachine = lazy(async () => ({ default: (await import('./create-machine.tsx')).CreateMachine }));
/** Virtual rows and what they show. The route loads it at once. */
export const loadMachineTable = () => import('./machine-table.tsx');
const MachineTable = lazy(async () => ({ default: (await loadMachineTable()).MachineTable }));

export function MachinesPage() {
  const search = useMachineSearch();
  const { query, sort, problem } = search;
  const list = useMachineList({ query, sort, isEnabled: problem === undefined });
  const [isCreating, setCreating] = useState(false);
  return (
    <div className="page">
      <title>Machines · Platform</title>
      <div className="page-head">
        <div>
          <h1>Machines</h1>
          <Count list={list} isChosen={query !== ''} />
        </div>
        <div className="row">
          <Link to="/machines/set-up" className="button">
            Set up a device
          </Link>
          <button type="button" className="button button-main" onClick={() => setCreating(true)}>
            <PlusIcon />
            Create machine
          </button>
        </div>
      </div>
      <SearchField search={search} />
      {list.error && <FailureNote error={list.error} />}
      <div className="card">
        {problem ? (
          <EmptyState icon={<MachineIcon />} title="No machines are shown">
            <p>The filter has an error: correct the marked word.</p>
          </EmptyState>
        ) : (
          <Machines list={list} sort={sort} onSort={search.setSort} />
        )}
      </div>
      {isCreating && (
        <Suspense>
          <CreateMachine onClose={() => setCreating(false)} />
        </Suspense>
      )}
    </div>
  );
}

/** "412 of 10 000 machines"; of a short list, how many of them are online. */
function Count({ list, isChosen }: { list: MachineList; isChosen: boolean }) {
  const isLost = useLostSince() !== undefined;
  if (!list.counts || list.counts.total === 0) return <p role="status" />;
  const { total, matching } = list.counts;
  const machines = Array.from({ length: Math.min(matching, mostCounted) }, (_, index) => list.machineAt(index));
  const isWhole = matching <= mostCounted && machines.every((machine) => machine !== undefined);
  const online = machines.filter((machine) => machine?.onlineState === OnlineState.ONLINE).length;
  return (
    <p className="soft" role="status">
      {isChosen && `${formatGrouped(matching)} of `}
      {formatCount(total, 'machine')}
      {isWhole && !isLost && `, ${online} online`}
    </p>
  );
}
const mostCounted = 50;

function Machines({ list, sort, onSort }: { list: MachineList; sort: string; onSort: (sort: string) => void }) {
  if (!list.counts) return !list.error && <Loading />;
  const { total, matching } = list.counts;
  if (matching > 0)
    return (
      <Suspense fallback={<Loading />}>
        <MachineTable list={list} rows={matching} sort={sort} onSort={onSort} />
      </Suspense>
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
        Create one here: you get the credentials file that its agent starts with. A demo machine is there after a start
        without <code>--empty</code>.
      </p>
    </EmptyState>
  );
}
