import { useMutation } from '@connectrpc/connect-query';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { FormDialog, ModalDialog } from '../parts/dialogs.tsx';
import { CredentialsHint } from '../parts/credentials-hint.tsx';
import { TextField } from '../parts/fields.tsx';
import { pagesKey } from '../parts/paged-list.tsx';
import { useSession } from '../session.tsx';
import { isolateText } from '../view/user-text.ts';

/** Prompts for a name, then shows the credentials of the new machine. */
export function CreateMachine({ onClose }: { onClose: () => void }) {
  const { organization } = useSession();
  const { organizationId } = organization;
  const queries = useQueryClient();
  const [name, setName] = useState('');
  const creation = useMutation(FleetService.method.createMachine, {
    onSuccess: () => queries.invalidateQueries({ queryKey: pagesKey(FleetService.method.listMachines) }),
  });
  const machine = creation.data?.machine;
  if (machine) {
    return (
      <ModalDialog
        title={`${isolateText(machine.name)} was created`}
        lead="The agent on the machine signs in with this file."
        isOpen
        onClose={onClose}
      >
        <CredentialsHint
          credentials={creation.data?.credentialsJson ?? ''}
          scriptCommand={creation.data?.installScriptCommand ?? ''}
        />
        <div className="dialog-footer">
          <Link
            to="/machines/$machineId"
            params={{ machineId: machine.id }}
            className="button button-main"
            onClick={onClose}
          >
            Open the machine
          </Link>
        </div>
      </ModalDialog>
    );
  }
  return (
    <FormDialog
      title="Create machine"
      lead="A machine has a name, credentials and a configuration."
      verb={creation.isPending ? 'Creating …' : 'Create'}
      isDisabled={name.trim() === '' || creation.isPending}
      error={creation.error}
      onSubmit={() => creation.mutate({ organizationId, name: name.trim() })}
      onClose={onClose}
    >
      <TextField
        label="Name"
        value={name}
        onChange={setName}
        maxLength={128}
        isRequired
        placeholder="for example press-3"
        hint="It can be any text that identifies the machine to you."
      />
    </FormDialog>
  );
}
