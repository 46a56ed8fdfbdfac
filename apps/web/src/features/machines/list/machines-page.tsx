import { OnlineState } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { Link } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import { useLostSince } from '../../../ui/contact.tsx';
import { PlusIcon } from '../../../ui/icons.tsx';
import { FailureNote, Loading } from '../../../ui/messages.tsx';
import { formatCount, formatGrouped } from '../../../ui/quantities.ts';
import { type MachineList, useMachineList } from './machine-list-query.ts';
import { useMachineSearch } from './machine-search.ts';

/** Query, facets and rows. The route loads it at once. */
const MachineBrowser = lazy(async () => ({ default: (await import('./machine-browser.tsx')).MachineBrowser }));

export function MachinesPage() {
  const search = useMachineSearch();
  const { query, sort, problem } = search;
  const list = useMachineList({ query, sort, isEnabled: problem === undefined });
  return (
    <div className="page">
      <title>Machines · Platform</title>
      <div className="page-head">
        <div className="head-line">
          <h1>Machines</h1>
          <Count list={list} isChosen={query !== ''} />
        </div>
        <div className="row">
          <Link to="/machines/add" className="button button-main">
            <PlusIcon />
            Add a machine
          </Link>
        </div>
      </div>
      {list.error && <FailureNote error={list.error} />}
      <Suspense fallback={<Loading />}>
        <MachineBrowser search={search} list={list} />
      </Suspense>
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
