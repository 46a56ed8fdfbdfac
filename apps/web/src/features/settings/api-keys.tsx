import { useMutation, useQuery } from '@connectrpc/connect-query';
import type {
  APIKeyWithAuthorizations,
  AuthorizationDetails,
  CreateKeyResponse,
} from '@platform/contract/gen/platform/app/v1/app_pb';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { useState } from 'react';
import { CodeBlock } from '../../ui/copying.tsx';
import { ConfirmDialog, FormDialog, ModalDialog } from '../../ui/dialogs.tsx';
import { SelectField, TextField } from '../../ui/fields.tsx';
import { PlusIcon } from '../../ui/icons.tsx';
import { Card } from '../../ui/layout.tsx';
import { FailureNote, Note, TruncatedNote, ListSkeleton } from '../../ui/messages.tsx';
import { Table } from '../../ui/table.tsx';
import { Ago } from '../../ui/time.tsx';
import { useSession } from '../../entities/session/session.tsx';
import { shortId } from '../../ui/quantities.ts';
import { msOf } from '../../ui/times.ts';
import { isolateText } from '../../ui/user-text.ts';

export function ApiKeys() {
  const { organization } = useSession();
  const list = useQuery(AppService.method.listKeys, { orgId: organization.organizationId });
  const [isCreating, setCreating] = useState(false);
  const [doomed, setDoomed] = useState<{ id: string; name: string }>();
  const removal = useMutation(AppService.method.deleteKey, { onSuccess: () => void list.refetch() });
  return (
    <Card
      title="API keys"
      hint="For programs and the command line."
      head={
        <button type="button" className="button button-small push" onClick={() => setCreating(true)}>
          <PlusIcon />
          Create key
        </button>
      }
    >
      {(list.error ?? removal.error) && <FailureNote error={list.error ?? removal.error} />}
      {list.isPending && <ListSkeleton rows={4} />}
      <TruncatedNote isTruncated={list.data?.truncated} what="keys" />
      {list.data && <KeyTable keys={list.data.apiKeys} onDelete={setDoomed} />}
      {isCreating && <CreateKey onClose={() => setCreating(false)} onCreated={() => void list.refetch()} />}
      <ConfirmDialog
        title={`Delete the key ${isolateText(doomed?.name ?? '')}?`}
        text="Programs that use it are refused from the next call on. This cannot be undone."
        verb="Delete key"
        isDangerous
        isOpen={doomed !== undefined}
        onClose={() => setDoomed(undefined)}
        onConfirm={() => doomed && removal.mutate({ id: doomed.id })}
      />
    </Card>
  );
}

interface KeyTableProps {
  keys: readonly APIKeyWithAuthorizations[];
  onDelete: (key: { id: string; name: string }) => void;
}
const KeyTable = ({ keys, onDelete }: KeyTableProps) => (
  <Table
    rows={keys.map(({ apiKey, authorizations }) => ({
      id: '',
      name: '',
      createdOn: undefined,
      ...apiKey,
      authorizations,
    }))}
    keyOf={({ id }) => id}
    columns={[
      { title: 'Name', cell: ({ id, name }) => <strong>{name || shortId(id)}</strong> },
      { title: 'ID', className: 'mono small', cell: ({ id }) => id },
      { title: 'Rights', cell: ({ authorizations }) => authorizations.map(rightOf).join(', ') },
      { title: 'Created', className: 'no-wrap', cell: ({ createdOn }) => <Ago at={msOf(createdOn)} /> },
      {
        title: 'Delete',
        isHidden: true,
        cell: ({ id, name }) => (
          <button type="button" className="button button-small" onClick={() => onDelete({ id, name: name || id })}>
            Delete<span className="hidden-text"> {name}</span>
          </button>
        ),
      },
    ]}
  />
);

/** "organization_owner" → "owner of the organization". */
const rightOf = ({ authorizationId, resourceType }: AuthorizationDetails): string => {
  const role = authorizationId.split('_').at(-1) ?? authorizationId;
  return `${role} of the ${resourceType === 'robot' ? 'machine' : resourceType || 'organization'}`;
};

const roles = [
  { role: 'owner', text: 'Owner: everything, training included' },
  { role: 'operator', text: 'Operator: see all, change configurations' },
] as const;

function CreateKey({ onClose, onCreated }: { onClose: () => void; onCreated: () => void }) {
  const { organizationId } = useSession().organization;
  const [name, setName] = useState('');
  const [role, setRole] = useState<string>('owner');
  const creation = useMutation(AppService.method.createKey, { onSuccess: onCreated });
  if (creation.data) return <NewKey created={creation.data} onClose={onClose} />;
  const submit = (): void =>
    creation.mutate({
      name: name.trim(),
      authorizations: [
        {
          authorizationType: 'role',
          authorizationId: `organization_${role}`,
          resourceType: 'organization',
          resourceId: organizationId,
          organizationId,
          identityType: 'api-key',
        },
      ],
    });
  return (
    <FormDialog
      title="Create an API key"
      verb="Create"
      isDisabled={name.trim() === '' || creation.isPending}
      error={creation.error}
      onSubmit={submit}
      onClose={onClose}
    >
      <TextField label="Name" value={name} onChange={setName} maxLength={128} isRequired placeholder="what it is for" />
      <SelectField
        label="Rights"
        value={role}
        onChange={setRole}
        options={roles.map((one) => ({ value: one.role, text: one.text }))}
      />
    </FormDialog>
  );
}

const NewKey = ({ created, onClose }: { created: CreateKeyResponse; onClose: () => void }) => (
  <ModalDialog title="The key was created" isOpen onClose={onClose}>
    <Note tone="warn">
      <p>Copy it now: it is shown only this once.</p>
    </Note>
    <CodeBlock
      label="key"
      text={`export PLATFORM_URL=${window.location.origin}\nexport PLATFORM_API_KEY_ID=${created.id}\nexport PLATFORM_API_KEY=${created.key}`}
    />
    <div className="dialog-footer">
      <button type="button" className="button button-main" onClick={onClose}>
        I have copied it
      </button>
    </div>
  </ModalDialog>
);
