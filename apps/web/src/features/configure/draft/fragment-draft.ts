import type { Fragment } from '@platform/contract/gen/platform/app/v1/app_pb';
import { useQuery } from '@tanstack/react-query';
import { draftQueries } from './draft-store.ts';
import { useDraftStore } from './use-draft-store.tsx';
import { useClock } from '../../../ui/time.tsx';
import { isBaseOf, keepDraft, type KeptDraft, restoreDraft } from './drafts.ts';
import { useDraftKey } from './kept-draft.ts';

/** What the editor of a fragment begins with. */
export interface FragmentStart {
  text: string;
  /** The revision that the text started from. */
  revision: string;
  /** The draft that this browser kept. */
  kept: KeptDraft | undefined;
}

const keyOf = (fragmentId: string): string => `fragment ${fragmentId}`;

/** Finds the draft of a fragment that this browser keeps. */
export function useFragmentStart(fragment: Fragment | undefined) {
  const store = useDraftStore();
  const key = useDraftKey(keyOf(fragment?.id ?? ''));
  return useQuery({
    queryKey: [draftQueries, key, fragment?.revision],
    enabled: fragment !== undefined,
    staleTime: Infinity,
    gcTime: 0,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
    retry: false,
    queryFn: async (): Promise<FragmentStart> => {
      const { fragmentJson: saved = '', revision = '' } = fragment ?? {};
      const kept = await store.find(key);
      if (kept === undefined) return { text: saved, revision, kept };
      const isNewest = isBaseOf(kept, saved);
      return {
        text: restoreDraft(kept, isNewest ? saved : kept.base.text),
        revision: isNewest ? revision : kept.base.revision,
        kept,
      };
    },
  });
}

/** Keeps the text in this browser until it is saved or discarded. */
export function useKeepFragment({ id, fragmentJson, revision: newest }: Fragment, start: FragmentStart) {
  const store = useDraftStore();
  const clock = useClock();
  const key = useDraftKey(keyOf(id));
  return {
    forget: (): void => void store.remove(key, start.kept),
    keep: (text: string, revision: string): void => {
      const baseText = revision === newest ? fragmentJson : (start.kept?.base.text ?? fragmentJson);
      const base = { revision: BigInt(revision), text: baseText };
      const isKept = text !== fragmentJson;
      void (isKept
        ? store.keep(key, keepDraft({ text, comment: '', base }, { tab: store.tab, now: clock.wall() }))
        : store.remove(key, start.kept));
    },
  };
}
