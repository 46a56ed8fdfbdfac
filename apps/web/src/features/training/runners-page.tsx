import { useMutation, useQuery } from '@connectrpc/connect-query';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { RunnerService, type Runner } from '@platform/contract/gen/platform/runner/v1/runner_pb';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { CodeBlock } from '../../ui/copying.tsx';
import { FormDialog, ModalDialog } from '../../ui/dialogs.tsx';
import { PlusIcon, RunnerIcon } from '../../ui/icons.tsx';
import { BackLink, PageHead } from '../../ui/layout.tsx';
import { EmptyState, FailureNote, Note, TruncatedNote } from '../../ui/messages.tsx';
import { type Columns, ListTable } from '../../ui/table.tsx';
import { Ago } from '../../ui/time.tsx';
import { Badge } from '../../ui/badges.tsx';
import { useSession } from '../../entities/session/session.tsx';
import { TextField } from '../../ui/fields.tsx';
import { modelKind } from '@platform/contract/job/model-kinds';
import type { StatusLabel } from '../../ui/status-label.ts';
import { msOf } from '../../ui/times.ts';

const refreshMs = 3000;

/** The hosts that run training jobs. */
export function RunnersPage() {
  const { organizationId } = useSession().organization;
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
      <PageHead
        back={<BackLink to="/training">Training</BackLink>}
        title="Runners"
        lead="The hosts that run training jobs."
      >
        {runners?.length !== 0 && add}
      </PageHead>
      {list.error && <FailureNote error={list.error} />}
      <TruncatedNote isTruncated={list.data?.truncated} what="runners" />
      <div className="card">
        <ListTable
          rows={runners}
          error={list.error}
          skeletonRows={4}
          empty={
            <EmptyState icon={<RunnerIcon />} title="No runner has connected yet">
              <p>Jobs wait until one does. Any host that reaches this server can be one.</p>
              {add}
            </EmptyState>
          }
          keyOf={({ id }) => id}
          columns={columns}
        />
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

const columns: Columns<RunnerView> = [
  { title: 'Host', className: 'break', cell: ({ host }) => <strong>{host}</strong>, tooltip: ({ id }) => id },
  {
    title: 'State',
    cell: ({ jobId, state }) =>
      jobId ? (
        <Link to="/training/$jobId" params={{ jobId }}>
          <Badge state={state} />
        </Link>
      ) : (
        <Badge state={state} />
      ),
  },
  { title: 'Seen', className: 'no-wrap', cell: ({ lastSeen }) => <Ago at={lastSeen} /> },
  { title: 'Runs jobs on', cell: ({ executor }) => executor },
  { title: 'GPUs', isNumber: true, cell: ({ gpus }) => gpus },
  { title: 'Model types', cell: ({ models }) => models.join(', ') },
  { title: 'Scripts', cell: ({ containers }) => containers.join(', ') || 'no' },
  { title: 'Version', cell: ({ version }) => version },
];

/** Creates a key of role runner and shows the command that uses it, once. */
function AddRunner({ onClose }: { onClose: () => void }) {
  const { organizationId } = useSession().organization;
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

interface RunnerView {
  id: string;
  host: string;
  version: string;
  executor: string;
  state: StatusLabel;
  gpus: number;
  models: readonly string[];
  containers: readonly string[];
  noScriptsBecause: string;
  lastSeen: number | undefined;
  jobId: string;
}

const executorTexts: Readonly<Record<string, string>> = {
  local: 'this host',
  slurm: 'Slurm',
  kubernetes: 'Kubernetes',
};

const runnerView = (one: Runner): RunnerView => ({
  id: one.runnerId,
  host: one.host || one.runnerId,
  version: one.version,
  executor: executorTexts[one.executor] ?? one.executor,
  state: one.online
    ? one.jobId
      ? { tone: 'busy', text: 'Busy' }
      : { tone: 'good', text: 'Free' }
    : { tone: 'quiet', text: 'Offline' },
  gpus: one.gpus,
  models: one.kinds.flatMap((kind) => modelKind(kind)?.shortTitle ?? []),
  containers: one.containers.map(({ key }) => key),
  noScriptsBecause: one.noScriptsBecause,
  lastSeen: msOf(one.lastSeen),
  jobId: one.jobId,
});

/** The command that joins a host. The key is in the environment, so that process lists do not show it. */
const joinCommand = (url: string, keyId: string, key: string): string =>
  `PLATFORM_RUNNER_TOKEN=${keyId}:${key} npm run runner -- --url ${url}`;
