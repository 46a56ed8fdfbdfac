import { useMutation } from '@connectrpc/connect-query';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { getRouteApi, Link, Outlet, useNavigate } from '@tanstack/react-router';
import { DropdownMenu } from 'radix-ui';
import { useState } from 'react';
import { ConfirmDialog, ModalDialog } from '../parts/dialogs.tsx';
import { BackIcon, ChevronIcon } from '../parts/icons.tsx';
import { FailureNote, Note, Loading } from '../parts/messages.tsx';
import { Ago } from '../parts/time.tsx';
import { machineView } from '../view/machine-status.ts';
import type { MachineView } from '../view/machine-status.ts';
import { Credentials } from './connect-tab.tsx';
import { QuarantineNotice } from './quarantine-notice.tsx';
import { useMachine } from './machine-query.ts';
import { PartStatus } from './part-status.tsx';
import { FactsCard } from './facts-card.tsx';
import { sharedIdentityCode } from '../view/shared-identity.ts';
import { SplitMachine } from './split-machine.tsx';
import { SamplesCard } from './samples-card.tsx';
import { SystemCard } from './system-card.tsx';
import { isolateText } from '../view/user-text.ts';

const route = getRouteApi('/machines/$machineId');

export function MachinePage() {
  const { machineId } = route.useParams();
  const query = useMachine();
  const machine = query.data?.machine && machineView(query.data.machine);
  const failure = query.error ?? query.failureReason; // also while it is tried again
  if (machine === undefined) {
    return (
      <div className="page">
        <Back />
        {failure ? <FailureNote error={failure} /> : <Loading />}
      </div>
    );
  }
  return (
    <div className="page page-wide">
      <title>{`${isolateText(machine.name)} · Platform`}</title>
      <div className="stack">
        <div className="page-head">
          <div>
            <Back />
            <h1>{machine.name}</h1>
            <p className="soft">
              {machine.location || 'No location'}
              {machine.os && ` · ${machine.os}`}
              {machine.host && ` · ${machine.host}`}
            </p>
          </div>
          <div className="row">
            <PartStatus machine={machine} />
            <MachineMenu machine={machine} />
          </div>
        </div>
        {query.error && <FailureNote error={query.error} />}
        <PastReport machine={machine} />
        <QuarantineNotice machine={machine} />
        <Conditions machine={machine} />
      </div>
      <nav className="tabs" aria-label="Machine">
        {(['configure', 'logs', 'network', 'revisions', 'connect'] as const).map((tab) => (
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
      </nav>
      <Outlet />
      <div className="stack machine-cards">
        {query.data?.machine && <SystemCard machine={query.data.machine} />}
        <SamplesCard partId={machine.partId} />
        {query.data?.machine && <FactsCard machine={query.data.machine} />}
      </div>
    </div>
  );
}

const PastReport = ({ machine: { pastAt, isOnline, uninstalled } }: { machine: MachineView }) =>
  pastAt !== undefined &&
  uninstalled === undefined && (
    <Note tone="quiet">
      <p>
        {isOnline ? 'Its reports do not arrive' : 'The machine is offline'}: everything that it reported is as of{' '}
        <Ago at={pastAt} />, and says nothing of now.
      </p>
    </Note>
  );

const Back = () => (
  <Link to="/machines" className="crumb">
    <BackIcon />
    Machines
  </Link>
);

/** A dialog that is open stays so when the text of its condition changes. */
const keyOf = ({ code, message }: MachineView['conditions'][number]): string =>
  code === sharedIdentityCode ? code : `${code} ${message}`;

/** Conditions that need action; notes stay in the status. */
const Conditions = ({ machine }: { machine: MachineView }) =>
  machine.conditions
    .filter(({ tone }) => tone === 'bad' || tone === 'warn')
    .map((condition) => (
      <Note key={keyOf(condition)} tone={condition.tone}>
        <p>
          {condition.message} <span className="soft">{condition.remedy}</span>
        </p>
        <p className="small soft">
          <span className="mono break">
            {condition.code}
            {condition.path !== '' && ` · ${condition.path}`}
          </span>
          {condition.since !== undefined && ' · '}
          <Ago at={condition.since} otherwise="" />
        </p>
        {condition.code === sharedIdentityCode && machine.sharing && (
          <SplitMachine machine={machine} sharing={machine.sharing} />
        )}
      </Note>
    ));

function MachineMenu({ machine }: { machine: MachineView }) {
  const navigate = useNavigate();
  const [open, setOpen] = useState<'nothing' | 'credentials' | 'delete'>('nothing');
  const removal = useMutation(FleetService.method.deleteMachine, { onSuccess: () => navigate({ to: '/machines' }) });
  const close = (): void => setOpen('nothing');
  return (
    <>
      <DropdownMenu.Root>
        <DropdownMenu.Trigger className="button">
          More
          <ChevronIcon />
        </DropdownMenu.Trigger>
        <DropdownMenu.Portal>
          <DropdownMenu.Content className="menu" align="end" sideOffset={4}>
            <DropdownMenu.Item className="menu-item" onSelect={() => setOpen('credentials')}>
              Show credentials
            </DropdownMenu.Item>
            <DropdownMenu.Item
              className="menu-item"
              onSelect={() => void navigate({ to: '/machines/set-up', search: { machine: machine.id } })}
            >
              Set up by a code
            </DropdownMenu.Item>
            <DropdownMenu.Item className="menu-item menu-danger" onSelect={() => setOpen('delete')}>
              Delete machine …
            </DropdownMenu.Item>
          </DropdownMenu.Content>
        </DropdownMenu.Portal>
      </DropdownMenu.Root>
      {open === 'credentials' && (
        <ModalDialog title={`Credentials of ${isolateText(machine.name)}`} isOpen onClose={close}>
          <Credentials partId={machine.partId} />
        </ModalDialog>
      )}
      <ConfirmDialog
        title={`Delete ${isolateText(machine.name)}?`}
        text="Its configuration, logs and credentials are deleted; the agent can no longer sign in. This cannot be undone."
        verb="Delete machine"
        isDangerous
        isOpen={open === 'delete'}
        onClose={close}
        onConfirm={() => removal.mutate({ id: machine.id })}
      />
      {removal.error && <FailureNote error={removal.error} />}
    </>
  );
}
