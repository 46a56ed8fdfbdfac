import { useQuery } from '@connectrpc/connect-query';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { ConfigRevision } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { useState } from 'react';
import { SettingsIcon } from '../../ui/icons.tsx';
import { EmptyState, FailureNote, TruncatedNote, ListSkeleton } from '../../ui/messages.tsx';
import { Table } from '../../ui/table.tsx';
import { Ago } from '../../ui/time.tsx';
import { configView } from '../../entities/machine/config-status.ts';
import type { ConfigView } from '../../entities/machine/config-status.ts';
import { msOf } from '../../ui/times.ts';
import { actorName } from '../../entities/machine/actors.ts';
import { isolateText } from '../../ui/user-text.ts';
import { useMachine } from '../../entities/machine/machine-query.ts';
import { RevisionDialog } from './revision-dialog.tsx';

/** REVISIONS: every saved configuration, and its changes. */
export function RevisionsTab() {
  const machine = useMachine().data?.machine;
  const partId = machine?.partId ?? '';
  const config = configView(machine?.configStatus);
  const list = useQuery(
    FleetService.method.listConfigRevisions,
    { partId },
    { enabled: partId !== '', refetchInterval: 5000 },
  );
  const [shown, setShown] = useState<bigint>();
  if (list.error) return <FailureNote error={list.error} />;
  if (list.data === undefined) return <ListSkeleton rows={18} isCard />;
  const revisions = list.data.revisions.toSorted((a, b) => Number(b.revision - a.revision));
  const row = revisions.find(({ revision }) => revision === shown);
  return (
    <div className="card">
      <TruncatedNote isTruncated={list.data.truncated} what="revisions" />
      {revisions.length === 0 ? (
        <EmptyState icon={<SettingsIcon />} title="No revisions yet">
          <p>Each time a configuration is saved on the CONFIGURE tab, it becomes a revision that stays.</p>
        </EmptyState>
      ) : (
        <RevisionTable revisions={revisions} config={config} onShow={setShown} />
      )}
      {machine !== undefined && row !== undefined && (
        <RevisionDialog
          machineId={machine.id}
          partId={partId}
          row={row}
          newest={revisions[0]?.revision ?? 0n}
          onClose={() => setShown(undefined)}
        />
      )}
    </div>
  );
}

interface RevisionTableProps {
  revisions: readonly ConfigRevision[];
  config: ConfigView;
  onShow: (revision: bigint) => void;
}
const RevisionTable = ({ revisions, config, onShow }: RevisionTableProps) => (
  <Table
    rows={revisions}
    keyOf={({ revision }) => String(revision)}
    columns={[
      {
        title: 'Revision',
        cell: ({ revision }) => (
          <span className="row">
            <strong>{String(revision)}</strong>
            <EffectBadge revision={revision} config={config} />
          </span>
        ),
      },
      { title: 'Saved', cell: ({ savedOn }) => <Ago at={msOf(savedOn)} /> },
      { title: 'By', cell: ({ savedBy }) => <span title={savedBy}>{isolateText(actorName(savedBy))}</span> },
      {
        title: 'Comment',
        cell: ({ comment, fragments }) => (
          <span className="stack-tight">
            <span>{isolateText(comment)}</span>
            {fragments.length > 0 && <span className="soft small">with {fragmentNames(fragments)}</span>}
          </span>
        ),
      },
      {
        title: 'Changes',
        isHidden: true,
        cell: ({ revision }) => (
          <button type="button" className="button button-small" onClick={() => onShow(revision)}>
            Show changes<span className="hidden-text"> of revision {String(revision)}</span>
          </button>
        ),
      },
    ]}
  />
);

const fragmentNames = (fragments: ConfigRevision['fragments']): string =>
  fragments.map(({ name, revision }) => `${isolateText(name)} ${revision}`).join(', ');

/** On the saved revision, and on an earlier one that the machine still has in effect. */
function EffectBadge({ revision, config }: { revision: bigint; config: ConfigView }) {
  const isInEffect = config.inEffect === String(revision);
  if (revision === config.saved && !isInEffect)
    return (
      <span className={`badge is-${config.tone}`} title={config.text}>
        desired
      </span>
    );
  if (!isInEffect) return null;
  const isWhole = !(config.isInEffect && config.isPartly);
  return <span className={`badge is-${isWhole ? 'good' : 'warn'}`}>{isWhole ? 'in effect' : 'partly in effect'}</span>;
}
