import { callUnaryMethod, skipToken, useQuery as useCall, useTransport } from '@connectrpc/connect-query';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { ConfigRevision, GetConfigResponse } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import { ModalDialog } from '../../ui/dialogs.tsx';
import { useDraftStore } from './draft/use-draft-store.tsx';
import { FailureNote, Loading, Note } from '../../ui/messages.tsx';
import { useClock } from '../../ui/time.tsx';
import { keepDraft } from './draft/drafts.ts';
import { comparedText, type ShownText } from './secret-texts.ts';
import { nextStartKey, type DraftStart, useDraftKey } from './draft/kept-draft.ts';

const ConfigDiff = lazy(async () => ({ default: (await import('./editor/config-diff.tsx')).ConfigDiff }));

interface RevisionDialogProps {
  machineId: string;
  partId: string;
  row: ConfigRevision;
  /** The newest revision. */
  newest: bigint;
  onClose: () => void;
}

/** What a revision changed, and restoring it. */
export function RevisionDialog({ machineId, partId, row, newest, onClose }: RevisionDialogProps) {
  const { revision, sha256 } = row;
  const after = useCall(FleetService.method.getConfig, { partId, revision }, { staleTime: Infinity });
  const hasBefore = revision > 1n;
  const before = useCall(FleetService.method.getConfig, hasBefore ? { partId, revision: revision - 1n } : skipToken, {
    staleTime: Infinity,
  });
  const restoring = useRestore({ machineId, partId });
  const error = after.error ?? before.error ?? restoring.error;
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
          <ConfigDiff
            before={shownOf(before.data).text}
            after={comparedText(shownOf(before.data), shownOf(after.data))}
            label="Changes"
          />
        ) : (
          !error && <Loading />
        )}
      </Suspense>
      <p className="soft small">
        sha256 <span className="mono break-all">{sha256}</span>
      </p>
      {revision !== newest && after.data && (
        <RestoreFooter {...restoring} onRestore={() => restoring.restore(revision, after.data.configJson)} />
      )}
    </ModalDialog>
  );
}

const shownOf = (saved: GetConfigResponse | undefined): ShownText => ({
  text: saved?.configJson ?? '{}',
  secrets: saved?.secrets ?? [],
});

interface RestoreFooterProps {
  hasDraft: boolean;
  isPending: boolean;
  onRestore: () => void;
}
const RestoreFooter = ({ hasDraft, isPending, onRestore }: RestoreFooterProps) => (
  <>
    {hasDraft && (
      <Note tone="warn">
        <p>You have a draft of this configuration that is not saved. Restoring replaces it.</p>
      </Note>
    )}
    <div className="dialog-footer">
      <span className="soft small">It becomes a draft on CONFIGURE, to review and save.</span>
      <button type="button" className="button button-main" disabled={isPending} onClick={onRestore}>
        {hasDraft ? 'Replace my draft with this revision …' : 'Restore this revision …'}
      </button>
    </div>
  </>
);

/** Makes a revision the draft of the configuration, on top of the newest one. */
function useRestore({ machineId, partId }: { machineId: string; partId: string }) {
  const store = useDraftStore();
  const key = useDraftKey(partId);
  const clock = useClock();
  const transport = useTransport();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const draft = useQuery({
    queryKey: ['kept-draft', key],
    gcTime: 0,
    queryFn: async () => (await store.find(key)) ?? null,
  });
  const restoring = useMutation({
    mutationFn: async ({ revision, text }: { revision: bigint; text: string }) => {
      const newest = await callUnaryMethod(transport, FleetService.method.getConfig, { partId });
      const base = { revision: newest.revision, text: newest.configJson };
      const comment = `Restores revision ${revision}.`;
      const kept = keepDraft({ text, comment, base, secretsOf: revision }, { tab: store.tab, now: clock.wall() });
      await store.keep(key, kept);
      const start: DraftStart = { base, text, comment, secretsOf: revision, kept };
      queries.setQueryData(nextStartKey(key), start);
      await navigate({ to: '/machines/$machineId/configure', params: { machineId } });
    },
  });
  return {
    hasDraft: Boolean(draft.data),
    isPending: restoring.isPending,
    error: restoring.error,
    restore: (revision: bigint, text: string): void => restoring.mutate({ revision, text }),
  };
}
