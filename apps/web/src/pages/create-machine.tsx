import { useMutation } from '@connectrpc/connect-query';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useId, useState } from 'react';
import { FormFooter, FormDialog } from '../parts/dialogs.tsx';
import { CredentialsHint } from '../parts/credentials-hint.tsx';
import { FailureNote } from '../parts/messages.tsx';
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
      <FormDialog
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
      </FormDialog>
    );
  }
  const submit = (): void => creation.mutate({ organizationId, name: name.trim() });
  return (
    <FormDialog
      title="Create machine"
      lead="A machine has a name, credentials and a configuration."
      isOpen
      onClose={onClose}
    >
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <NameField value={name} onChange={setName} />
        {creation.error && <FailureNote error={creation.error} />}
        <FormFooter
          verb={creation.isPending ? 'Creating …' : 'Create'}
          isDisabled={name.trim() === '' || creation.isPending}
          onClose={onClose}
        />
      </form>
    </FormDialog>
  );
}

function NameField({ value, onChange }: { value: string; onChange: (name: string) => void }) {
  const field = useId();
  return (
    <div className="field">
      <label htmlFor={field}>Name</label>
      <input
        id={field}
        className="input"
        value={value}
        onChange={(event) => onChange(event.target.value)}
        maxLength={128}
        autoComplete="off"
        placeholder="for example press-3"
        required
      />
      <p className="field-hint">It can be any text that identifies the machine to you.</p>
    </div>
  );
}
