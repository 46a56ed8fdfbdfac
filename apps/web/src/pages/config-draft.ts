import { useMutation } from '@connectrpc/connect-query';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { GetConfigResponse } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { useState } from 'react';
import { failureOf } from '../view/failures.ts';

/** The text the editor started from. */
export interface Base {
  revision: bigint;
  text: string;
}

interface ConfigDraftOptions {
  partId: string;
  saved: GetConfigResponse;
  /** Newest revision on the server. */
  newest: bigint;
  reload: () => Promise<GetConfigResponse | undefined>;
}

/** The text in the editor, the revision it is based on, and saving it as the next revision. */
export function useConfigDraft({ partId, saved, newest, reload }: ConfigDraftOptions) {
  const [base, setBase] = useState<Base>(() => ({ revision: saved.revision, text: saved.configJson }));
  const [opened, setOpened] = useState({ text: saved.configJson, count: 0 });
  const [draft, setDraft] = useState(saved.configJson);
  const [justSaved, setJustSaved] = useState<bigint>();
  const saving = useMutation(FleetService.method.saveConfig);
  const refused = saving.error ? failureOf(saving.error) : undefined;
  const open = (text: string): void => {
    setOpened(({ count }) => ({ text, count: count + 1 }));
    setDraft(text);
  };
  return {
    base,
    draft,
    setDraft,
    /** The text that the editor shows first; each count is a new editor. */
    opened,
    /** Replaces the text in the editor. */
    open,
    isDirty: draft !== base.text,
    justSaved,
    isConflict: refused?.code === 'CONFIG_CONFLICT' || (newest > base.revision && newest !== justSaved),
    isSaving: saving.isPending,
    saveError: saving.error,
    clearSaveError: () => saving.reset(),
    save: async (): Promise<void> => {
      const { revision } = await saving.mutateAsync({ partId, configJson: draft, expectedRevision: base.revision });
      setBase({ revision, text: draft });
      setJustSaved(revision);
    },
    /** Bases the draft on the newest revision; the text in the editor stays or becomes that of the revision. */
    rebase: async (keepDraft: boolean): Promise<void> => {
      const theirs = await reload();
      if (theirs === undefined) return;
      saving.reset();
      setBase({ revision: theirs.revision, text: theirs.configJson });
      if (!keepDraft) open(theirs.configJson);
    },
  };
}
export type ConfigDraft = ReturnType<typeof useConfigDraft>;
