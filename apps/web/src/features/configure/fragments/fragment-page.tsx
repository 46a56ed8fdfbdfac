import { useMutation, useQuery } from '@connectrpc/connect-query';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import type { Fragment, GetFragmentResponse } from '@platform/contract/gen/platform/app/v1/app_pb';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { CopyButton } from '../../../ui/copying.tsx';
import { ConfirmDialog } from '../../../ui/dialogs.tsx';
import { BackLink, Card } from '../../../ui/layout.tsx';
import { FailureNote, Loading } from '../../../ui/messages.tsx';
import { Table } from '../../../ui/table.tsx';
import { Ago } from '../../../ui/time.tsx';
import { actorName } from '../../../entities/machine/actors.ts';
import { usersOf } from './fragment-values.ts';
import { msOf } from '../../../ui/times.ts';
import { isolateText } from '../../../ui/user-text.ts';
import { useFragmentStart } from '../draft/fragment-draft.ts';
import { FragmentEditor } from './fragment-editor.tsx';
import { useConfigSchema } from '../schema/schema-query.ts';

const route = getRouteApi('/fragments/$fragmentId');

/** One fragment: its text, who uses it, and its revisions. */
export function FragmentPage() {
  const { fragmentId } = route.useParams();
  // The text that is being edited is never replaced.
  const query = useQuery(
    AppService.method.getFragment,
    { id: fragmentId },
    { staleTime: Infinity, gcTime: 0, refetchOnWindowFocus: false, refetchOnReconnect: false },
  );
  const schema = useConfigSchema();
  const fragment = query.data?.fragment;
  const start = useFragmentStart(fragment);
  const error = query.error ?? schema.error ?? start.error;
  const isReady = fragment !== undefined && schema.data !== undefined && start.data !== undefined;
  return (
    <div className="page">
      <title>{`${fragment ? `${fragment.name} · ` : ''}Fragments · Platform`}</title>
      <FragmentHead fragment={fragment} />
      {error && <FailureNote error={error} />}
      {!error && !isReady && <Loading />}
      {isReady && (
        <FragmentEditor
          key={`${fragment.id} ${fragment.revision}`}
          fragment={fragment}
          schema={schema.data}
          start={start.data}
          onSaved={() => void query.refetch()}
        />
      )}
      {query.data && <Revisions of={query.data} />}
    </div>
  );
}

function FragmentHead({ fragment }: { fragment: Fragment | undefined }) {
  const [isDeleting, setDeleting] = useState(false);
  const navigate = useNavigate();
  const deletion = useMutation(AppService.method.deleteFragment, { onSuccess: () => navigate({ to: '/fragments' }) });
  return (
    <>
      <div className="page-head">
        <div>
          <BackLink to="/fragments">Fragments</BackLink>
          <h1 className="break">
            <bdi>{fragment?.name ?? 'Fragment'}</bdi>
          </h1>
          {fragment && (
            <p className="soft row">
              <span>
                Revision {fragment.revision}, used by {usersOf(fragment)}
              </span>
              <span className="row">
                <code className="break">{fragment.id}</code>
                <CopyButton text={fragment.id} label="Copy the ID" />
              </span>
            </p>
          )}
        </div>
        {fragment && (
          <button type="button" className="button" onClick={() => setDeleting(true)}>
            Delete
          </button>
        )}
      </div>
      {deletion.error && <FailureNote error={deletion.error} />}
      {fragment && (
        <ConfirmDialog
          title={`Delete ${isolateText(fragment.name)}?`}
          text="Its revisions are deleted, too. A fragment that a machine uses stays."
          verb="Delete"
          isDangerous
          isOpen={isDeleting}
          onClose={() => setDeleting(false)}
          onConfirm={() => deletion.mutate({ id: fragment.id })}
        />
      )}
    </>
  );
}

const Revisions = ({ of: { revisions } }: { of: GetFragmentResponse }) => (
  <Card title="Revisions" hint="A machine that names a version stays at it.">
    <Table
      rows={revisions}
      keyOf={({ revision }) => revision}
      columns={[
        { title: 'Revision', cell: ({ revision }) => revision },
        { title: 'Saved', cell: ({ createdAt }) => <Ago at={msOf(createdAt)} /> },
        { title: 'By', className: 'break', cell: ({ savedBy }) => actorName(savedBy) },
        { title: 'Comment', className: 'break', cell: ({ comment }) => comment },
      ]}
    />
  </Card>
);
