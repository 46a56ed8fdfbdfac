import { callUnaryMethod, useTransport } from '@connectrpc/connect-query';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { GetConfigResponse } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { useQuery } from '@tanstack/react-query';
import { draftQueries } from '../draft-store.ts';
import { useDraftStore } from '../parts/drafts.tsx';
import { useSession } from '../session.tsx';
import { type Base, isBaseOf, type KeptDraft, restoreDraft } from '../view/drafts.ts';
import { isMissing } from '../view/failures.ts';

/** Whose draft of which configuration. */
export const useDraftKey = (partId: string): string => `${useSession().id} ${partId}`;

/** @param newest - the saved revision that the editor opens with */
export const draftQueryKey = (key: string, newest: bigint | undefined): string[] => [draftQueries, key, String(newest)];

/** What the editor begins with. */
export interface DraftStart {
  base: Base;
  text: string;
  comment: string;
  /** The revision whose secrets the placeholders stand for; undefined: the newest. */
  secretsOf?: bigint | undefined;
  /** The draft that this browser kept. */
  kept: KeptDraft | undefined;
}

/** Finds the draft of a part that this browser keeps, and the revision that it started from. */
export function useDraftStart(partId: string, saved: GetConfigResponse | undefined) {
  const store = useDraftStore();
  const transport = useTransport();
  const key = useDraftKey(partId);
  return useQuery({
    queryKey: draftQueryKey(key, saved?.revision),
    enabled: saved !== undefined,
    staleTime: Infinity,
    gcTime: 0,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
    retry: false,
    queryFn: async (): Promise<DraftStart> => {
      if (saved === undefined) throw new Error('The saved configuration has not come yet.');
      const newest: Base = { revision: saved.revision, text: saved.configJson };
      const kept = await store.find(key);
      if (kept === undefined) return { base: newest, text: newest.text, comment: '', kept };
      const base = isBaseOf(kept, newest.text) ? newest : await earlierBase(kept, newest);
      const secretsOf = kept.secretsOf === undefined ? undefined : BigInt(kept.secretsOf);
      return { base, text: restoreDraft(kept, base.text), comment: kept.comment, secretsOf, kept };
    },
  });

  async function earlierBase(kept: KeptDraft, newest: Base): Promise<Base> {
    const revision = BigInt(kept.base.revision);
    const request = { partId, revision };
    const found =
      revision > 0n && revision !== newest.revision
        ? await callUnaryMethod(transport, FleetService.method.getConfig, request).catch((error: unknown) => {
            if (isMissing(error)) return undefined;
            throw error;
          })
        : undefined;
    if (found !== undefined && isBaseOf(kept, found.configJson)) return { revision, text: found.configJson };
    // The server has another history than when the draft began, as after a restored backup: a save must compare first.
    return { revision: 0n, text: kept.base.text };
  }
}
