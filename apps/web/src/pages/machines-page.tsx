import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { MachineIcon, PlusIcon } from '../parts/icons.tsx';
import { EmptyState, FailureNote, Loading } from '../parts/messages.tsx';
import { ShowMore, usePagedList } from '../parts/paged-list.tsx';
import { Ago, useDebounced } from '../parts/time.tsx';
import { TextField } from '../parts/fields.tsx';
import { MachineBadge, useLostSince } from '../parts/contact.tsx';
import { useSession } from '../session.tsx';
import { machineView, machineBadge } from '../view/machine-status.ts';
import type { MachineView } from '../view/machine-status.ts';
import { formatCount } from '../view/quantities.ts';

const CreateMachine = lazy(async () => ({ default: (await import('./create-machine.tsx')).CreateMachine }));
const FilterFields = lazy(async () => ({ default: (await import('./filter-fields.tsx')).FilterFields }));
const refreshMs = 2000;
/** Until the user pauses. */
const settleMs = 300;
const pageSize = 1000;

export function MachinesPage() {
  const { organization } = useSession();
  const { organizationId } = organization;
  const [typed, setTyped] = useState('');
  const { filters, problem } = useTypedFilters(useDebounced(typed, settleMs));
  const list = usePagedList(
    FleetService.method.listMachines,
    (pageToken) => ({ organizationId, pageSize, pageToken, filters }),
    { refreshMs },
  );
  const [isCreating, setCreating] = useState(false);
  const machines = list.pages?.flatMap((page) => page.machines.map(machineView));
  const isLost = useLostSince() !== undefined;
  const online = machines?.filter((machine) => machine.isOnline).length ?? 0;
  return (
    <div className="page">
      <title>Machines · Platform</title>
      <div className="page-head">
        <div>
          <h1>Machines</h1>
          {machines && machines.length > 0 && (
            <p className="soft">
              {list.hasMore && 'The first '}
              {formatCount(machines.length, 'machine')}
              {!isLost && `, ${online} online`}
            </p>
          )}
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
      <FilterField text={typed} problem={problem} onChange={setTyped} />
      {list.error && <FailureNote error={list.error} />}
      <div className="card">
        {machines ? <MachineList machines={machines} isFiltered={filters.length > 0} /> : !list.error && <Loading />}
      </div>
      <ShowMore list={list} text="Show more machines" />
      {isCreating && (
        <Suspense>
          <CreateMachine onClose={() => setCreating(false)} />
        </Suspense>
      )}
    </div>
  );
}

/** What reads filters comes with the whole error table: it is loaded when there is one to read. */
function useTypedFilters(text: string): { filters: string[]; problem: string | undefined } {
  const { data } = useQuery({
    queryKey: ['typed-filters', text],
    queryFn: async () => (await import('../view/machine-filter.ts')).typedFilters(text),
    enabled: text.trim() !== '',
    placeholderData: keepPreviousData,
    staleTime: Infinity,
  });
  return text.trim() !== '' && data !== undefined ? data : { filters: [], problem: undefined };
}

const FilterField = ({
  text,
  problem,
  onChange,
}: {
  text: string;
  problem: string | undefined;
  onChange: (text: string) => void;
}) => (
  <div className="stack-tight">
    <TextField
      label="Filter"
      value={text}
      onChange={onChange}
      problem={problem}
      placeholder="architecture=aarch64, disk_free<2GB, reboot_needed"
    />
    <details className="small">
      <summary>Fields</summary>
      <Suspense fallback={<Loading />}>
        <FilterFields />
      </Suspense>
    </details>
  </div>
);

function MachineList({ machines, isFiltered }: { machines: readonly MachineView[]; isFiltered: boolean }) {
  if (machines.length > 0) return <MachineTable machines={machines} />;
  if (isFiltered)
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

/** Shows in the list that a machine needs action. */
function Standing({ machine }: { machine: MachineView }) {
  const badge = machineBadge(machine);
  return badge && <span className={`badge is-${badge.tone}`}>{badge.text}</span>;
}

const MachineTable = ({ machines }: { machines: readonly MachineView[] }) => (
  <table className="table table-cards">
    <thead>
      <tr>
        <th scope="col">Name</th>
        <th scope="col">State</th>
        <th scope="col">Location</th>
        <th scope="col">Agent</th>
        <th scope="col">Server</th>
        <th scope="col">Revision</th>
        <th scope="col">Last seen</th>
      </tr>
    </thead>
    <tbody>
      {machines.map((machine) => (
        <tr key={machine.id}>
          <td className="lead">
            <Link to="/machines/$machineId" params={{ machineId: machine.id }} className="row-link">
              {machine.name}
            </Link>
          </td>
          <td data-label="State">
            <span className="row">
              <MachineBadge state={machine.online} />
              <Standing machine={machine} />
            </span>
          </td>
          <td data-label="Location">{machine.location}</td>
          <td data-label="Agent" className="break">
            {machine.agent.running}
          </td>
          <td data-label="Server" className="break">
            {machine.server.running}
          </td>
          <td data-label="Revision" title={machine.config.text}>
            {machine.config.short}
          </td>
          <td data-label="Last seen" className="no-wrap">
            <Ago at={machine.lastSeen} />
          </td>
        </tr>
      ))}
    </tbody>
  </table>
);
