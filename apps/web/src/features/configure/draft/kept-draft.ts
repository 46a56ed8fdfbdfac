import { callUnaryMethod, useTransport } from '@connectrpc/connect-query';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { GetConfigResponse } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { draftQueries, newId } from './draft-store.ts';
import { useDraftStore } from './use-draft-store.tsx';
import { useSession } from '../../../entities/session/session.tsx';
import { type Base, isBaseOf, type KeptDraft, restoreDraft } from './drafts.ts';
import { isMissing } from '../../../ui/failures.ts';

/** Whose draft of which configuration. */
export const useDraftKey = (partId: string): string => `${useSession().id} ${partId}`;

/** Where a page leaves what the editor begins with when it opens next. */
export const nextStartKey = (key: string): string[] => [draftQueries, key, 'next'];

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
  const queries = useQueryClient();
  // Each opening of the editor asks anew: what the one before it began with may still be cached for a moment.
  const [opening] = useState(newId);
  return useQuery({
    queryKey: [draftQueries, key, String(saved?.revision), opening],
    enabled: saved !== undefined,
    staleTime: Infinity,
    gcTime: 0,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
    retry: false,
    queryFn: async (): Promise<DraftStart> => {
      if (saved === undefined) throw new Error('The saved configuration has not come yet.');
      const next = queries.getQueryData<DraftStart>(nextStartKey(key));
      queries.removeQueries({ queryKey: nextStartKey(key) });
      if (next?.base.revision === saved.revision) return next;
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
