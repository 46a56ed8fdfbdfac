import { useMutation, useQuery } from '@connectrpc/connect-query';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { Machine } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { BackLink, Card, PageHead } from '../../../ui/layout.tsx';
import { FailureNote, Loading } from '../../../ui/messages.tsx';
import { CardIcon, ContainerIcon, PhoneIcon, TerminalIcon, WindowsIcon } from '../../../ui/way-icons.tsx';
import type { AddWay } from './add-ways.ts';
import { isolateText } from '../../../ui/user-text.ts';
import { CardWay } from './card-way.tsx';
import { NewMachine, useFirstFragment } from './device-fragment.tsx';
import { InstallLine, type LineKey } from './install-line.tsx';
import { InstallProgress } from './install-progress.tsx';
import { DeviceSteps } from './set-up-page.tsx';
import '../../../ui/style/adding.css';

const route = getRouteApi('/machines/add');
const refreshMs = 1_000;

const ways: readonly { way: AddWay; icon: ReactNode; name: string; hint: string }[] = [
  { way: 'linux', icon: <TerminalIcon />, name: 'Linux', hint: 'x86_64, arm64' },
  { way: 'windows', icon: <WindowsIcon />, name: 'Windows', hint: 'x64, a preview' },
  { way: 'container', icon: <ContainerIcon />, name: 'Container', hint: 'Docker, Podman' },
  { way: 'card', icon: <CardIcon />, name: 'Card image', hint: 'a file, no typing' },
  { way: 'phone', icon: <PhoneIcon />, name: 'By phone', hint: 'no network yet' },
];

/** One page brings a machine online: name, the line with its one-time key, and each step as it happens. */
export function AddMachinePage() {
  const { machine: machineId, way = 'linux' } = route.useSearch();
  const key = useMutation(FleetService.method.createInstallKey);
  const first = useFirstFragment();
  const query = useQuery(
    FleetService.method.getMachine,
    { id: machineId ?? '' },
    { enabled: machineId !== undefined, refetchInterval: refreshMs, retry: false },
  );
  const machine = query.data?.machine;
  return (
    <div className="page">
      <title>Add a machine · Platform</title>
      <PageHead
        back={<BackLink to="/machines">Machines</BackLink>}
        title="Add a machine"
        lead={way !== 'phone' && way !== 'card' && 'One paste brings it online.'}
      />
      <div className="add-machine">
        <div className="stack">
          <WhichMachine
            way={way}
            machine={machine}
            onCreated={(partId, fragmentId) => {
              if (way !== 'phone' && way !== 'card') key.mutate({ partId });
              // The machine is added all the same; the page shows the failure.
              if (fragmentId !== '') first.start(partId, fragmentId).catch(() => undefined);
            }}
          />
          {first.error && <FailureNote error={first.error} />}
          {machineId !== undefined &&
            !machine &&
            (query.error ? <NoMachine error={query.error} way={way} /> : <Loading />)}
          {machine && way === 'phone' && <DeviceSteps machineId={machine.id} />}
          {machine && way === 'card' && <CardWay machine={machine} />}
          {machine && way !== 'phone' && way !== 'card' && (
            <InstallLine
              way={way}
              machine={machine}
              lineKey={lineKeyOf(key.data, key.variables?.partId, machine)}
              error={key.error}
              isPending={key.isPending}
              onNewKey={() => key.mutate({ partId: machine.partId })}
            />
          )}
        </div>
        {machine && way !== 'phone' && <InstallProgress machine={machine} />}
        {!machine && machineId === undefined && <WhatFollows way={way} />}
      </div>
    </div>
  );
}

/** The URL names a machine that cannot be shown, for example one that was deleted. */
const NoMachine = ({ error, way }: { error: unknown; way: AddWay }) => (
  <>
    <FailureNote error={error} />
    <div className="row">
      <Link to="/machines/add" search={{ way }} className="button button-main">
        Add another machine
      </Link>
      <Link to="/machines" className="button">
        Machines
      </Link>
    </div>
  </>
);

/** The key of another machine is never shown for this one. */
const lineKeyOf = (key: Omit<LineKey, 'partId'> | undefined, partId: string | undefined, machine: Machine) =>
  key && partId === machine.partId ? { ...key, partId } : undefined;

interface WhichMachineProps {
  way: AddWay;
  machine: Machine | undefined;
  /** @param fragmentId - the fragment that it starts with; empty: none */
  onCreated: (partId: string, fragmentId: string) => void;
}
function WhichMachine(props: WhichMachineProps) {
  const { way, machine, onCreated } = props;
  const navigate = route.useNavigate();
  const choose = (next: AddWay): void =>
    void navigate({ search: (search) => ({ ...search, way: next }), replace: true, resetScroll: false });
  return (
    <Card title={machine ? isolateText(machine.name) : 'Which machine?'}>
      <div className="card-body">
        <fieldset className={`ways${machine ? ' is-compact' : ''}`}>
          <legend className="hidden-text">How it is added</legend>
          {ways.map((one) => (
            <label key={one.way} className="way">
              <input
                type="radio"
                name="way"
                className="hidden-text"
                checked={one.way === way}
                onChange={() => choose(one.way)}
              />
              {one.icon}
              <strong>{one.name}</strong>
              <span className="small soft">{one.hint}</span>
            </label>
          ))}
        </fieldset>
        {!machine && <NameStep way={way} onCreated={onCreated} />}
      </div>
    </Card>
  );
}

/** The machine goes into the URL of the page, so that a reload keeps what is shown. */
function NameStep({ way, onCreated }: Pick<WhichMachineProps, 'way' | 'onCreated'>) {
  const { machine: machineId } = route.useSearch();
  const navigate = route.useNavigate();
  if (machineId !== undefined) return null;
  return (
    <NewMachine
      what="machine"
      isFocused
      onCreated={({ id, partId }, fragmentId) => {
        onCreated(partId, fragmentId);
        void navigate({ search: { machine: id, way }, replace: true, resetScroll: false });
      }}
    />
  );
}

/** The second step, between its name and its first contact. */
const steps: Readonly<Partial<Record<AddWay, string>>> = {
  card: 'Save one file on its card. The file holds its credentials.',
  phone: 'Create a code, join the hotspot of the device with a phone, and enter the code on the page that opens there.',
};

const WhatFollows = ({ way }: { way: AddWay }) => (
  <section className="card" aria-label="What follows">
    <div className="card-body">
      <ol className="steps">
        <li>Name the machine. It gets credentials of its own.</li>
        <li>
          {steps[way] ??
            'Paste one line on it. The line carries a key that works once, for this machine alone, within 24 hours.'}
        </li>
        <li>
          {steps[way]
            ? 'Watch here until it is online.'
            : 'Watch each step here: downloaded, verified, installed, online, configured.'}
        </li>
      </ol>
    </div>
  </section>
);
