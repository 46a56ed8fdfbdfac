import { useMutation } from '@connectrpc/connect-query';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { FormDialog } from '../../../ui/dialogs.tsx';
import { TextField } from '../../../ui/fields.tsx';
import { Ago } from '../../../ui/time.tsx';
import { useRefreshMachine } from './refresh-machine.ts';
import type { MachineView } from '../../../entities/machine/machine-status.ts';
import type { ComputerView, SharingView } from '../../../entities/machine/shared-identity.ts';
import { isolateText } from '../../../ui/user-text.ts';

/** The remedy of a shared identity: the computer that appeared last becomes a machine of its own. */
export function SplitMachine({ machine, sharing }: { machine: MachineView; sharing: SharingView }) {
  const [isOpen, setOpen] = useState(false);
  const refresh = useRefreshMachine();
  const split = useMutation(FleetService.method.splitMachine, {
    onSuccess: () => {
      setOpen(false);
      return refresh();
    },
  });
  return (
    <div className="row">
      <button type="button" className="button button-small" onClick={() => setOpen(true)}>
        Make it a machine of its own …
      </button>
      {sharing.splitName !== '' && (
        <p className="small" role="status">
          <Link to="/machines/$machineId" params={{ machineId: sharing.splitMachineId }}>
            {sharing.splitName}
          </Link>{' '}
          waits for {isolateText(sharing.last.name)} to check in.
        </p>
      )}
      {isOpen && (
        <SplitDialog
          machine={machine}
          sharing={sharing}
          isPending={split.isPending}
          error={split.error}
          onSplit={(name, withoutConfig) => split.mutate({ id: machine.id, name, withoutConfig })}
          onClose={() => setOpen(false)}
        />
      )}
    </div>
  );
}

function SplitDialog({
  machine,
  sharing,
  isPending,
  error,
  onSplit,
  onClose,
}: {
  machine: MachineView;
  sharing: SharingView;
  isPending: boolean;
  error: unknown;
  onSplit: (name: string, withoutConfig: boolean) => void;
  onClose: () => void;
}) {
  const [name, setName] = useState('');
  const [isCopied, setCopied] = useState(true);
  return (
    <FormDialog
      title="Make it a machine of its own"
      lead="The computer that appeared last gets its own credentials at its next check. The other one notices nothing."
      verb="Split"
      isDisabled={isPending}
      error={error}
      onSubmit={() => onSplit(name.trim(), !isCopied)}
      onClose={onClose}
    >
      <Computer title={`Stays ${isolateText(machine.name)}`} computer={sharing.kept} />
      <Computer title="Becomes a new machine" computer={sharing.last} />
      {sharing.splitName === '' ? (
        <>
          <TextField
            label="Name of the new machine"
            value={name}
            onChange={setName}
            placeholder={`${machine.name}-2`}
          />
          <label className="choice">
            <input type="checkbox" checked={isCopied} onChange={(event) => setCopied(event.target.checked)} />
            Copy the configuration of this machine
          </label>
        </>
      ) : (
        <p className="small">It becomes {isolateText(sharing.splitName)}, as requested before.</p>
      )}
    </FormDialog>
  );
}

const Computer = ({ title, computer }: { title: string; computer: ComputerView }) => (
  <section>
    <h3>{title}</h3>
    <p>
      <strong className="break">{computer.name}</strong> <span className="soft break">{computer.addresses}</span>
    </p>
    <p className="small soft">
      first seen <Ago at={computer.firstSeen} />, last seen <Ago at={computer.lastSeen} />
    </p>
  </section>
);
