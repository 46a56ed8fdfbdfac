import { useMutation, useQuery } from '@connectrpc/connect-query';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { RunnerService } from '@platform/contract/gen/platform/runner/v1/runner_pb';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { CodeBlock } from '../../ui/copying.tsx';
import { FormDialog, ModalDialog } from '../../ui/dialogs.tsx';
import { BackIcon, PlusIcon, RunnerIcon } from '../../ui/icons.tsx';
import { EmptyState, FailureNote, Note, TruncatedNote, ListSkeleton } from '../../ui/messages.tsx';
import { Ago } from '../../ui/time.tsx';
import { Badge } from '../../ui/badges.tsx';
import { useSession } from '../../entities/session/session.tsx';
import { joinCommand, runnerView } from './runners.ts';
import type { RunnerView } from './runners.ts';
import { TextField } from '../../ui/fields.tsx';

const refreshMs = 3000;

/** The hosts that run training jobs. */
export function RunnersPage() {
  const { organization } = useSession();
  const { organizationId } = organization;
  const list = useQuery(RunnerService.method.listRunners, { organizationId }, { refetchInterval: refreshMs });
  const runners = list.data?.runners.map(runnerView);
  const [isAdding, setAdding] = useState(false);
  const add = (
    <button type="button" className="button button-main" onClick={() => setAdding(true)}>
      <PlusIcon />
      Add a runner
    </button>
  );
  return (
    <div className="page">
      <title>Runners · Platform</title>
      <div className="page-head">
        <div>
          <Link to="/training" className="crumb">
            <BackIcon />
            Training
          </Link>
          <h1>Runners</h1>
          <p className="soft">The hosts that run training jobs.</p>
        </div>
        {runners?.length !== 0 && add}
      </div>
      {list.error && <FailureNote error={list.error} />}
      <TruncatedNote isTruncated={list.data?.truncated} what="runners" />
      <div className="card">
        {runners === undefined ? (
          !list.error && <ListSkeleton rows={4} />
        ) : runners.length === 0 ? (
          <EmptyState icon={<RunnerIcon />} title="No runner has connected yet">
            <p>Jobs wait until one does. Any host that reaches this server can be one.</p>
            {add}
          </EmptyState>
        ) : (
          <RunnerTable runners={runners} />
        )}
      </div>
      {runners
        ?.filter((one) => one.noScriptsBecause !== '')
        .map((one) => (
          <Note key={one.id} tone="warn">
            <p>
              {one.host} runs no training scripts: {one.noScriptsBecause}
            </p>
          </Note>
        ))}
      {isAdding && <AddRunner onClose={() => setAdding(false)} />}
    </div>
  );
}

const RunnerTable = ({ runners }: { runners: readonly RunnerView[] }) => (
  <table className="table table-cards">
    <thead>
      <tr>
        <th scope="col">Host</th>
        <th scope="col">State</th>
        <th scope="col">Seen</th>
        <th scope="col">Runs jobs on</th>
        <th scope="col" className="number">
          GPUs
        </th>
        <th scope="col">Model types</th>
        <th scope="col">Scripts</th>
        <th scope="col">Version</th>
      </tr>
    </thead>
    <tbody>
      {runners.map((one) => (
        <tr key={one.id}>
          <td className="lead break" title={one.id}>
            <strong>{one.host}</strong>
          </td>
          <td data-label="State">
            {one.jobId ? (
              <Link to="/training/$jobId" params={{ jobId: one.jobId }}>
                <Badge state={one.state} />
              </Link>
            ) : (
              <Badge state={one.state} />
            )}
          </td>
          <td data-label="Seen" className="no-wrap">
            <Ago at={one.lastSeen} />
          </td>
          <td data-label="Runs jobs on">{one.executor}</td>
          <td data-label="GPUs" className="number">
            {one.gpus}
          </td>
          <td data-label="Model types">{one.models.join(', ')}</td>
          <td data-label="Scripts">{one.containers.join(', ') || 'no'}</td>
          <td data-label="Version">{one.version}</td>
        </tr>
      ))}
    </tbody>
  </table>
);

/** Creates a key of role runner and shows the command that uses it, once. */
function AddRunner({ onClose }: { onClose: () => void }) {
  const { organization } = useSession();
  const { organizationId } = organization;
  const [name, setName] = useState('runner');
  const creation = useMutation(AppService.method.createKey);
  if (creation.data)
    return (
      <ModalDialog
        title="Start the runner"
        lead="On that host, in a checkout of this repository (Linux). The key is shown this once."
        isOpen
        onClose={onClose}
      >
        <CodeBlock
          text={joinCommand(window.location.origin, creation.data.id, creation.data.key)}
          label="command that joins the runner"
        />
        <p className="small soft">
          The key lets it take training jobs and read their images, nothing else. Settings can delete it.
        </p>
        <div className="dialog-footer">
          <button type="button" className="button button-main" onClick={onClose}>
            I have copied it
          </button>
        </div>
      </ModalDialog>
    );
  return (
    <FormDialog
      title="Add a runner"
      lead="It signs in with an API key of its own."
      verb="Create key"
      isDisabled={name.trim() === '' || creation.isPending}
      error={creation.error}
      onSubmit={() =>
        creation.mutate({
          name: name.trim(),
          authorizations: [
            {
              authorizationType: 'role',
              authorizationId: 'organization_runner',
              resourceType: 'organization',
              resourceId: organizationId,
              organizationId,
            },
          ],
        })
      }
      onClose={onClose}
    >
      <TextField label="Name of the key" value={name} onChange={setName} />
    </FormDialog>
  );
}
