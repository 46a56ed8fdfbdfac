import { useMutation, useQuery } from '@connectrpc/connect-query';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import type { Fragment } from '@platform/contract/gen/platform/app/v1/app_pb';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { FormDialog } from '../../../ui/dialogs.tsx';
import { TextField } from '../../../ui/fields.tsx';
import { FragmentIcon, PlusIcon } from '../../../ui/icons.tsx';
import { PageHead } from '../../../ui/layout.tsx';
import { EmptyState, FailureNote, TruncatedNote } from '../../../ui/messages.tsx';
import { type Columns, ListTable } from '../../../ui/table.tsx';
import { Ago } from '../../../ui/time.tsx';
import { useSession } from '../../../entities/session/session.tsx';
import { contentsOf, usersOf } from './fragment-values.ts';
import { msOf } from '../../../ui/times.ts';

const refreshMs = 5_000;

/** The parts of configurations that machines share. */
export function FragmentsPage() {
  const { organizationId } = useSession().organization;
  const list = useQuery(AppService.method.listFragments, { organizationId }, { refetchInterval: refreshMs });
  const [isAdding, setAdding] = useState(false);
  const fragments = list.data?.fragments;
  return (
    <div className="page">
      <title>Fragments · Platform</title>
      <PageHead
        title="Fragments"
        lead="Parts of configurations that machines share. Machines that use one follow its changes."
      >
        <button type="button" className="button button-main" onClick={() => setAdding(true)}>
          <PlusIcon />
          New fragment
        </button>
      </PageHead>
      {list.error && <FailureNote error={list.error} />}
      <TruncatedNote isTruncated={list.data?.truncated} what="fragments" />
      <div className="card">
        <ListTable
          rows={fragments}
          error={list.error}
          empty={
            <EmptyState icon={<FragmentIcon />} title="No fragments yet">
              <p>Write once what several machines have in common, then add the fragment on their CONFIGURE tabs.</p>
            </EmptyState>
          }
          keyOf={({ id }) => id}
          columns={columns}
        />
      </div>
      {isAdding && <NewFragment organizationId={organizationId} onClose={() => setAdding(false)} />}
    </div>
  );
}

const columns: Columns<Fragment> = [
  {
    title: 'Name',
    cell: ({ id, name }) => (
      <Link to="/fragments/$fragmentId" params={{ fragmentId: id }} className="row-link">
        <bdi>{name}</bdi>
      </Link>
    ),
  },
  {
    title: 'Contents',
    className: 'break',
    cell: ({ fragment }) => contentsOf(fragment ?? {}) || <span className="soft">nothing yet</span>,
  },
  { title: 'Used by', cell: usersOf },
  { title: 'Revision', isNumber: true, cell: ({ revision }) => revision },
  { title: 'Changed', cell: ({ lastUpdated }) => <Ago at={msOf(lastUpdated)} /> },
];

function NewFragment({ organizationId, onClose }: { organizationId: string; onClose: () => void }) {
  const [name, setName] = useState('');
  const navigate = useNavigate();
  const creation = useMutation(AppService.method.createFragment, {
    onSuccess: ({ fragment }) => navigate({ to: '/fragments/$fragmentId', params: { fragmentId: fragment?.id ?? '' } }),
  });
  return (
    <FormDialog
      title="New fragment"
      lead="It begins empty; no machine uses it yet."
      verb={creation.isPending ? 'Creating …' : 'Create'}
      isDisabled={name.trim() === '' || creation.isPending}
      error={creation.error}
      onSubmit={() => creation.mutate({ organizationId, name: name.trim(), configJson: '{}' })}
      onClose={onClose}
    >
      <TextField
        label="Name"
        value={name}
        onChange={setName}
        maxLength={128}
        isRequired
        isFocused
        placeholder="for example hall-b-base"
      />
    </FormDialog>
  );
}
