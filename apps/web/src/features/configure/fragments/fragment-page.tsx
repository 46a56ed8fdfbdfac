import { useMutation, useQuery } from '@connectrpc/connect-query';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import type { Fragment, GetFragmentResponse } from '@platform/contract/gen/platform/app/v1/app_pb';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { CopyButton } from '../../../ui/copying.tsx';
import { ConfirmDialog } from '../../../ui/dialogs.tsx';
import { BackIcon } from '../../../ui/icons.tsx';
import { FailureNote, Loading } from '../../../ui/messages.tsx';
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
          <Link to="/fragments" className="crumb">
            <BackIcon />
            Fragments
          </Link>
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
  <section className="card" aria-label="Revisions">
    <div className="card-head">
      <h2>Revisions</h2>
      <span className="soft small">A machine that names a version stays at it.</span>
    </div>
    <table className="table table-cards">
      <thead>
        <tr>
          <th scope="col">Revision</th>
          <th scope="col">Saved</th>
          <th scope="col">By</th>
          <th scope="col">Comment</th>
        </tr>
      </thead>
      <tbody>
        {revisions.map((one) => (
          <tr key={one.revision}>
            <td className="lead">{one.revision}</td>
            <td data-label="Saved">
              <Ago at={msOf(one.createdAt)} />
            </td>
            <td data-label="By" className="break">
              {actorName(one.savedBy)}
            </td>
            <td data-label="Comment" className="break">
              {one.comment}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </section>
);
