import { useMutation, useQuery } from '@connectrpc/connect-query';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import type { Fragment } from '@platform/contract/gen/platform/app/v1/app_pb';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { FormDialog } from '../../../ui/dialogs.tsx';
import { TextField } from '../../../ui/fields.tsx';
import { FragmentIcon, PlusIcon } from '../../../ui/icons.tsx';
import { EmptyState, FailureNote, ListSkeleton, TruncatedNote } from '../../../ui/messages.tsx';
import { Ago } from '../../../ui/time.tsx';
import { useSession } from '../../../entities/session/session.tsx';
import { contentsOf, usersOf } from './fragment-values.ts';
import { msOf } from '../../../ui/times.ts';

const refreshMs = 5_000;

/** The parts of configurations that machines share. */
export function FragmentsPage() {
  const { organization } = useSession();
  const { organizationId } = organization;
  const list = useQuery(AppService.method.listFragments, { organizationId }, { refetchInterval: refreshMs });
  const [isAdding, setAdding] = useState(false);
  const fragments = list.data?.fragments;
  return (
    <div className="page">
      <title>Fragments · Platform</title>
      <div className="page-head">
        <div>
          <h1>Fragments</h1>
          <p className="soft">Parts of configurations that machines share. Machines that use one follow its changes.</p>
        </div>
        <button type="button" className="button button-main" onClick={() => setAdding(true)}>
          <PlusIcon />
          New fragment
        </button>
      </div>
      {list.error && <FailureNote error={list.error} />}
      <TruncatedNote isTruncated={list.data?.truncated} what="fragments" />
      <div className="card">
        {fragments === undefined && !list.error && <ListSkeleton />}
        {fragments?.length === 0 && (
          <EmptyState icon={<FragmentIcon />} title="No fragments yet">
            <p>Write once what several machines have in common, then add the fragment on their CONFIGURE tabs.</p>
          </EmptyState>
        )}
        {fragments !== undefined && fragments.length > 0 && <FragmentTable fragments={fragments} />}
      </div>
      {isAdding && <NewFragment organizationId={organizationId} onClose={() => setAdding(false)} />}
    </div>
  );
}

const FragmentTable = ({ fragments }: { fragments: readonly Fragment[] }) => (
  <table className="table table-cards">
    <thead>
      <tr>
        <th scope="col">Name</th>
        <th scope="col">Contents</th>
        <th scope="col">Used by</th>
        <th scope="col" className="number">
          Revision
        </th>
        <th scope="col">Changed</th>
      </tr>
    </thead>
    <tbody>
      {fragments.map((one) => (
        <tr key={one.id}>
          <td className="lead">
            <Link to="/fragments/$fragmentId" params={{ fragmentId: one.id }} className="row-link">
              <bdi>{one.name}</bdi>
            </Link>
          </td>
          <td data-label="Contents" className="break">
            {contentsOf(one.fragment ?? {}) || <span className="soft">nothing yet</span>}
          </td>
          <td data-label="Used by">{usersOf(one)}</td>
          <td data-label="Revision" className="number">
            {one.revision}
          </td>
          <td data-label="Changed">
            <Ago at={msOf(one.lastUpdated)} />
          </td>
        </tr>
      ))}
    </tbody>
  </table>
);

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
