import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { Link } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { MachineIcon, PlusIcon } from '../parts/icons.tsx';
import { EmptyState, FailureNote, Loading } from '../parts/messages.tsx';
import { ShowMore, usePagedList } from '../parts/paged-list.tsx';
import { Ago } from '../parts/time.tsx';
import { Badge } from '../parts/badges.tsx';
import { useSession } from '../session.tsx';
import { appliedText, machineView, revisionText, machineBadge } from '../view/machine-status.ts';
import type { MachineView } from '../view/machine-status.ts';
import { formatCount } from '../view/quantities.ts';

const CreateMachine = lazy(async () => ({ default: (await import('./create-machine.tsx')).CreateMachine }));
const refreshMs = 2000;
const pageSize = 1000;

export function MachinesPage() {
  const { organization } = useSession();
  const { organizationId } = organization;
  const list = usePagedList(
    FleetService.method.listMachines,
    (pageToken) => ({ organizationId, pageSize, pageToken }),
    { refreshMs },
  );
  const [isCreating, setCreating] = useState(false);
  const machines = list.pages?.flatMap((page) => page.machines.map(machineView));
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
              {formatCount(machines.length, 'machine')}, {online} online
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
      {list.error && <FailureNote error={list.error} />}
      <div className="card">
        {machines === undefined ? (
          !list.error && <Loading />
        ) : machines.length === 0 ? (
          <EmptyState icon={<MachineIcon />} title="No machines yet">
            <p>
              Create one here: you get the credentials file that its agent starts with. A demo machine is there after a
              start without <code>--empty</code>.
            </p>
          </EmptyState>
        ) : (
          <MachineTable machines={machines} />
        )}
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
              <Badge state={machine.online} />
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
          <td data-label="Revision" title={appliedText(machine.applied)}>
            {revisionText(machine.applied)}
          </td>
          <td data-label="Last seen" className="no-wrap">
            <Ago at={machine.lastSeen} />
          </td>
        </tr>
      ))}
    </tbody>
  </table>
);
