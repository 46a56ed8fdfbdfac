import { getRouteApi, Link, Outlet, useMatchRoute } from '@tanstack/react-router';
import { BackLink } from '../../../ui/layout.tsx';
import { Tabs } from '../../../ui/tabs.tsx';
import { OpensLater } from '../../../ui/loaded-later.tsx';
import { FailureNote, Loading } from '../../../ui/messages.tsx';
import { machineView } from '../../../entities/machine/machine-status.ts';
import type { MachineView } from '../../../entities/machine/machine-status.ts';
import { MoreWords, StatusWords } from './machine-buttons.tsx';
import { MachineConditions, PastReport } from './machine-notices.tsx';
import { useMachine } from '../../../entities/machine/machine-query.ts';
import { MachineTags } from './machine-tags.tsx';
import { isolateText } from '../../../ui/user-text.ts';

const route = getRouteApi('/machines/$machineId');
const tabs = ['overview', 'configure', 'logs', 'network', 'revisions', 'connect'] as const;

export function MachinePage() {
  const { machineId } = route.useParams();
  const query = useMachine();
  const matchRoute = useMatchRoute();
  const shown = tabs.find((tab) => matchRoute({ to: `/machines/$machineId/${tab}`, params: { machineId } }) !== false);
  // The overview says the same in its sentence, and has the conditions below it.
  const isOverview = shown === 'overview';
  const machine = query.data?.machine && machineView(query.data.machine);
  const failure = query.error ?? query.failureReason; // also while it is tried again
  if (machine === undefined) {
    return (
      <div className="page">
        {back}
        {failure ? <FailureNote error={failure} /> : <Loading />}
      </div>
    );
  }
  return (
    <div className="page">
      <title>
        {[isolateText(machine.name), isOverview ? '' : shown?.toUpperCase(), 'Platform'].filter(Boolean).join(' · ')}
      </title>
      <div className="stack">
        <MachineHead machine={machine} tags={query.data?.machine?.tags ?? []} />
        {query.error && <FailureNote error={query.error} />}
        {!isOverview && <PastReport machine={machine} />}
        {!isOverview && <MachineConditions machine={machine} />}
      </div>
      <Tabs label="Machine">
        {tabs.map((tab) => (
          <Link
            key={tab}
            to={`/machines/$machineId/${tab}`}
            params={{ machineId }}
            className="tab"
            activeProps={{ 'aria-current': 'page' }}
          >
            {tab.toUpperCase()}
          </Link>
        ))}
      </Tabs>
      <Outlet />
    </div>
  );
}

const back = <BackLink to="/machines">Machines</BackLink>;

const MachineHead = ({ machine, tags }: { machine: MachineView; tags: readonly string[] }) => (
  <div className="page-head">
    <div>
      {back}
      <h1>{machine.name}</h1>
      <p className="soft">
        {machine.location || 'No location'}
        {machine.os && ` · ${machine.os}`}
        {machine.host && ` · ${machine.host}`}
      </p>
      <MachineTags machineId={machine.id} tags={tags} />
    </div>
    <div className="row">
      <OpensLater
        name="part status"
        load={() => import('./part-status.tsx')}
        button={<StatusWords machine={machine} />}
        kind="dialog"
      >
        {({ PartStatus }) => <PartStatus machine={machine} />}
      </OpensLater>
      <OpensLater name="menu of a machine" load={() => import('./machine-menu.tsx')} button={<MoreWords />} kind="menu">
        {({ MachineMenu }) => <MachineMenu machine={machine} />}
      </OpensLater>
    </div>
  </div>
);
