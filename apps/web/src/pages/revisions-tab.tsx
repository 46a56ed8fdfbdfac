import { useQuery } from '@connectrpc/connect-query';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { ConfigRevision } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { lazy, Suspense, useState } from 'react';
import { ModalDialog } from '../parts/dialogs.tsx';
import { SettingsIcon } from '../parts/icons.tsx';
import { EmptyState, FailureNote, TruncatedNote, Loading } from '../parts/messages.tsx';
import { Ago } from '../parts/time.tsx';
import { configView } from '../view/config-status.ts';
import type { ConfigView } from '../view/config-status.ts';
import { msOf } from '../view/times.ts';
import { useMachine } from './machine-query.ts';

const ConfigDiff = lazy(async () => ({ default: (await import('../editor/config-diff.tsx')).ConfigDiff }));

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
  if (list.data === undefined) return <Loading />;
  const revisions = list.data.revisions.toSorted((a, b) => Number(b.revision - a.revision));
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
      {shown !== undefined && <Changes partId={partId} revision={shown} onClose={() => setShown(undefined)} />}
    </div>
  );
}

function RevisionTable({
  revisions,
  config,
  onShow,
}: {
  revisions: readonly ConfigRevision[];
  config: ConfigView;
  onShow: (revision: bigint) => void;
}) {
  return (
    <table className="table table-cards">
      <thead>
        <tr>
          <th scope="col">Revision</th>
          <th scope="col">Saved</th>
          <th scope="col">By</th>
          <th scope="col">sha256</th>
          <th scope="col">
            <span className="hidden-text">Changes</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {revisions.map(({ revision, savedBy, savedOn, sha256 }) => (
          <tr key={String(revision)}>
            <td className="lead">
              <span className="row">
                <strong>{String(revision)}</strong>
                <EffectBadge revision={revision} config={config} />
              </span>
            </td>
            <td data-label="Saved">
              <Ago at={msOf(savedOn)} />
            </td>
            <td data-label="By">{savedBy}</td>
            <td data-label="sha256" className="mono">
              {sha256.slice(0, 12)}
            </td>
            <td data-label="">
              <button type="button" className="button button-small" onClick={() => onShow(revision)}>
                Show changes<span className="hidden-text"> of revision {String(revision)}</span>
              </button>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

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

function Changes({ partId, revision, onClose }: { partId: string; revision: bigint; onClose: () => void }) {
  const after = useQuery(FleetService.method.getConfig, { partId, revision }, { staleTime: Infinity });
  const hasBefore = revision > 1n;
  const before = useQuery(
    FleetService.method.getConfig,
    { partId, revision: revision - 1n },
    { enabled: hasBefore, staleTime: Infinity },
  );
  const error = after.error ?? before.error;
  return (
    <ModalDialog
      title={`Revision ${revision}`}
      lead={hasBefore ? `What it changed against revision ${revision - 1n}.` : 'The first one.'}
      isOpen
      onClose={onClose}
      isWide
    >
      {error && <FailureNote error={error} />}
      <Suspense fallback={<Loading />}>
        {after.data && (before.data || !hasBefore) ? (
          <ConfigDiff before={before.data?.configJson ?? '{}'} after={after.data.configJson} label="Changes" />
        ) : (
          !error && <Loading />
        )}
      </Suspense>
    </ModalDialog>
  );
}
