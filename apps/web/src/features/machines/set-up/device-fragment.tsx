import { useMutation, useQuery } from '@connectrpc/connect-query';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { Machine } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { useState } from 'react';
import { SelectField, TextField } from '../../../ui/fields.tsx';
import { FailureNote, Note } from '../../../ui/messages.tsx';
import { useSession } from '../../../entities/session/session.tsx';

const noFragment = '';

/** Puts a fragment into the configuration of a machine that has none yet. */
export function useFirstFragment() {
  const saving = useMutation(FleetService.method.saveConfig);
  const start = async (partId: string, fragmentId: string): Promise<void> => {
    const configJson = JSON.stringify({ fragments: [fragmentId] }, null, 2);
    await saving.mutateAsync({ partId, configJson, expectedRevision: 0n, comment: 'Set up with this fragment.' });
  };
  return { start, error: saving.error };
}

/** Says which fragment a device names, and what becomes of it. */
export function DeviceFragment({
  machine,
  fragmentId,
  error,
}: {
  machine: Machine;
  fragmentId: string;
  error: unknown;
}) {
  const { organization } = useSession();
  const list = useQuery(AppService.method.listFragments, { organizationId: organization.organizationId });
  const found = list.data?.fragments.find(({ id }) => id === fragmentId.toLowerCase());
  const name = found?.name ?? fragmentId;
  if (error) return <FailureNote error={error} />;
  if (list.data !== undefined && !found)
    return (
      <Note tone="warn">
        <p>
          The device names the fragment {fragmentId}, and this organization has no such fragment. The device can be
          connected all the same; its machine gets no configuration.
        </p>
      </Note>
    );
  return (
    <p className="small soft">
      {machine.wantedRevision === 0n
        ? `The device names the fragment ${name}: its machine starts with it.`
        : `The device names the fragment ${name}. Its machine has a configuration already, and keeps it.`}
    </p>
  );
}

/** The fragment that a new machine starts with, if the organization has some. */
function FirstFragment({ value, onChange }: { value: string; onChange: (id: string) => void }) {
  const { organization } = useSession();
  const list = useQuery(AppService.method.listFragments, { organizationId: organization.organizationId });
  const fragments = list.data?.fragments ?? [];
  if (fragments.length === 0) return null;
  return (
    <SelectField
      label="Starts with the fragment"
      value={fragments.some(({ id }) => id === value) ? value : noFragment}
      onChange={onChange}
      options={[{ value: noFragment, text: 'None' }, ...fragments.map(({ id, name }) => ({ value: id, text: name }))]}
    />
  );
}

interface NewMachineProps {
  what: 'machine' | 'device';
  /** Stands above the fields, in a card. */
  lead?: string;
  /** The fragment that is chosen first. */
  named?: string;
  isFocused?: boolean;
  /** @param fragmentId - the fragment that it starts with; empty: none */
  onCreated: (machine: Machine, fragmentId: string) => void | Promise<void>;
}

/** Name and first fragment of a machine, which is then created. */
export function NewMachine({ what, lead, named = '', isFocused = false, onCreated }: NewMachineProps) {
  const { organizationId } = useSession().organization;
  const [name, setName] = useState('');
  const [fragmentId, setFragmentId] = useState(named);
  const creation = useMutation(FleetService.method.createMachine, {
    onSuccess: ({ machine }) => machine && onCreated(machine, fragmentId),
  });
  const fields = (
    <>
      <TextField
        label={what === 'device' ? 'Name of the device' : 'Name'}
        value={name}
        onChange={setName}
        maxLength={128}
        isRequired
        isFocused={isFocused}
        placeholder="for example press-3"
        hint={`It can be any text that identifies the ${what} to you.`}
      />
      <FirstFragment value={fragmentId} onChange={setFragmentId} />
      {creation.error && <FailureNote error={creation.error} />}
      <div>
        <button type="submit" className="button button-main" disabled={name.trim() === '' || creation.isPending}>
          {creation.isPending ? 'Creating …' : 'Continue'}
        </button>
      </div>
    </>
  );
  return (
    <form
      className={lead === undefined ? 'stack' : 'card'}
      onSubmit={(event) => {
        event.preventDefault();
        creation.mutate({ organizationId, name: name.trim() });
      }}
    >
      {lead === undefined ? (
        fields
      ) : (
        <div className="card-body">
          <p>{lead}</p>
          {fields}
        </div>
      )}
    </form>
  );
}
