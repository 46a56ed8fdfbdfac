import { useMutation } from '@connectrpc/connect-query';
import { hideSecrets } from '@platform/contract/config/placeholders';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { useEffect, useEffectEvent, useRef, useState } from 'react';
import { useDraftStore } from './use-draft-store.tsx';
import { useClock } from '../../../ui/time.tsx';
import { type Base, keepDraft, restoreDraft } from './drafts.ts';
import { failureOf } from '../../../ui/failures.ts';
import { type DraftStart, useDraftKey } from './kept-draft.ts';

interface ConfigDraftOptions {
  partId: string;
  start: DraftStart;
  /** Newest revision on the server. */
  newest: bigint;
  /** Begins again with what the browser keeps now. */
  restart: () => void;
}

interface Written {
  text: string;
  comment: string;
  base: Base;
  secretsOf: bigint | undefined;
}

/** The text in the editor, the revision it is based on, and saving it as the next revision. */
export function useConfigDraft(options: ConfigDraftOptions) {
  const { partId, newest } = options;
  const { written, write, opened, show, kept } = useWritten(options);
  const { text: draft, comment, base, secretsOf } = written;
  const [justSaved, setJustSaved] = useState<bigint>();
  const saving = useMutation(FleetService.method.saveConfig);
  return {
    partId,
    base,
    draft,
    comment,
    secretsOf,
    setDraft: (text: string): void => write({ text }),
    setComment: (text: string): void => write({ comment: text }),
    /** The text that the editor shows next; each count puts it there anew. */
    opened,
    /** Replaces the text in the editor. */
    open: (text: string): void => {
      show(text);
      write({ text });
    },
    discard: (): void => {
      show(base.text);
      write({ text: base.text, comment: '', secretsOf: undefined });
    },
    isDirty: draft !== base.text,
    isLasting: kept.isLasting,
    /** The draft of another tab, if this one has keystrokes of its own. */
    other: kept.other,
    forgetOther: kept.forgetOther,
    justSaved,
    isConflict: isRefused(saving.error) || (newest > base.revision && newest !== justSaved),
    isSaving: saving.isPending,
    saveError: saving.error,
    clearSaveError: () => saving.reset(),
    save: async (): Promise<void> => {
      const request = {
        partId,
        configJson: draft,
        expectedRevision: base.revision,
        comment: comment.trim(),
        secretsOfRevision: secretsOf ?? 0n,
      };
      const { revision } = await saving.mutateAsync(request);
      setJustSaved(revision);
      // As the server shows it from now on.
      const text = hideSecrets(draft);
      if (text !== draft) show(text);
      write({ base: { revision, text }, text, comment: '', secretsOf: undefined });
    },
    /** Bases the draft on the newest revision, with a text that takes it into account. */
    rebase: (onto: Base, text: string): void => {
      saving.reset();
      setJustSaved(undefined);
      show(text);
      write({ base: onto, text, ...(text === onto.text && { secretsOf: undefined }) });
    },
  };
}

/** What the user wrote so far, which the browser keeps, and what the editor shows. */
function useWritten({ partId, start, restart }: ConfigDraftOptions) {
  const [written, setWritten] = useState<Written>({
    text: start.text,
    comment: start.comment,
    base: start.base,
    secretsOf: start.secretsOf,
  });
  const [opened, setOpened] = useState({ text: start.text, count: 0 });
  const kept = useKeeping({ partId, start, now: written, restart });
  return {
    written,
    write: (change: Partial<Written>): void => {
      const next = { ...written, ...change };
      setWritten(next);
      kept.write(next);
    },
    opened,
    show: (text: string): void => setOpened(({ count }) => ({ text, count: count + 1 })),
    kept,
  };
}

const isRefused = (error: unknown): boolean => Boolean(error) && failureOf(error).code === 'CONFIG_CONFLICT';

export type ConfigDraft = ReturnType<typeof useConfigDraft>;

interface KeepingOptions {
  partId: string;
  start: DraftStart;
  now: Written;
  restart: () => void;
}

/** Keeps the draft in the browser, and hears of the drafts of other tabs. */
function useKeeping({ partId, start, now, restart }: KeepingOptions) {
  const store = useDraftStore();
  const clock = useClock();
  const key = useDraftKey(partId);
  const isTouched = useRef(false);
  const [other, setOther] = useState<{ text: string }>();
  const [isLasting, setLasting] = useState(true);
  const heard = useEffectEvent(async () => {
    if (!isTouched.current) return restart();
    const theirs = await store.findOther(key);
    // Secrets of its own text are in the memory of the other tab alone.
    setOther(theirs && { text: restoreDraft(theirs, now.base.text) });
  });
  useEffect(() => store.watch(key, () => void heard()), [store, key]);
  return {
    isLasting,
    other: other === undefined || other.text === now.text ? undefined : other,
    forgetOther: () => setOther(undefined),
    write: (next: Written): void => {
      isTouched.current = true;
      const isKept = next.text !== next.base.text;
      const done = isKept
        ? store.keep(key, keepDraft(next, { tab: store.tab, now: clock.wall() }))
        : store.remove(key, start.kept);
      void done.then(() => setLasting(store.isLasting()));
    },
  };
}
