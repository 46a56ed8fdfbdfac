import { useMutation } from '@connectrpc/connect-query';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { useNavigate } from '@tanstack/react-router';
import { DropdownMenu } from 'radix-ui';
import { lazy, Suspense, useState } from 'react';
import { ConfirmDialog, ModalDialog } from '../../../ui/dialogs.tsx';
import { FailureNote, Loading } from '../../../ui/messages.tsx';
import type { MachineView } from '../../../entities/machine/machine-status.ts';
import { isolateText } from '../../../ui/user-text.ts';
import { MoreWords } from './machine-buttons.tsx';

const Credentials = lazy(async () => ({ default: (await import('./connect-tab.tsx')).Credentials }));

/** What else can be done with a machine; it begins open. */
export function MachineMenu({ machine }: { machine: MachineView }) {
  const navigate = useNavigate();
  const [open, setOpen] = useState<'nothing' | 'credentials' | 'delete'>('nothing');
  const removal = useMutation(FleetService.method.deleteMachine, { onSuccess: () => navigate({ to: '/machines' }) });
  const close = (): void => setOpen('nothing');
  return (
    <>
      <DropdownMenu.Root defaultOpen>
        <DropdownMenu.Trigger className="button">
          <MoreWords />
        </DropdownMenu.Trigger>
        <DropdownMenu.Portal>
          <DropdownMenu.Content className="menu" align="end" sideOffset={4}>
            <DropdownMenu.Item className="menu-item" onSelect={() => setOpen('credentials')}>
              Show credentials
            </DropdownMenu.Item>
            <DropdownMenu.Item
              className="menu-item"
              onSelect={() => void navigate({ to: '/machines/add', search: { machine: machine.id } })}
            >
              Add this machine
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
          <Suspense fallback={<Loading />}>
            <Credentials partId={machine.partId} />
          </Suspense>
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
