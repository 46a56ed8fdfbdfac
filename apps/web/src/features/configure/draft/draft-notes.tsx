import { callUnaryMethod, useTransport } from '@connectrpc/connect-query';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { GetConfigResponse } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { useState } from 'react';
import type { ReactNode } from 'react';
import { Note } from '../../../ui/messages.tsx';
import type { Base } from './drafts.ts';
import { mergeable } from '../secret-texts.ts';
import type { ConfigDraft } from './config-draft.ts';
import { MergeDialog } from './merge-dialog.tsx';

interface DraftNotesProps {
  config: ConfigDraft;
  newest: bigint;
  isReviewing: boolean;
  /** Loads the newest revision. */
  reload: () => Promise<GetConfigResponse | undefined>;
}

/** Whether other users or tabs changed the configuration or its draft, and whether the browser keeps the draft. */
export function DraftNotes({ config, newest, isReviewing, reload }: DraftNotesProps) {
  const { isDirty, isConflict, isLasting, other } = config;
  const { merging, takeTheirs, mergeNewest, mergeTab, close } = useMerging({ config, reload });
  return (
    <>
      {isConflict && !isReviewing && (
        <Conflict
          isDirty={isDirty}
          newest={newest}
          onTheirs={() => void takeTheirs()}
          onMerge={() => void mergeNewest()}
        />
      )}
      {other !== undefined && (
        <Note tone="warn" isLive>
          <p>Another tab changed the draft of this configuration. What you typed here is kept in this tab.</p>
          <ButtonRow label="Compare and merge …" onClick={() => mergeTab(other.text)} />
        </Note>
      )}
      {isDirty && !isLasting && <NotKept />}
      {merging !== undefined && (
        <MergeDialog {...merging} take={(text) => merging.take(merging.restore(text))} onClose={close} />
      )}
    </>
  );
}

/** Merges what others wrote into the draft. */
function useMerging({ config, reload }: Pick<DraftNotesProps, 'config' | 'reload'>) {
  const { partId, base, draft } = config;
  const [merging, setMerging] = useState<Merging>();
  const transport = useTransport();
  const takeTheirs = async (): Promise<void> => {
    const theirs = await reload();
    if (theirs !== undefined) config.rebase(baseOf(theirs), theirs.configJson);
  };
  const mergeNewest = async (): Promise<void> => {
    const theirs = await reload();
    if (theirs === undefined) return;
    const request = { partId, revision: base.revision };
    const old =
      base.revision > 0n
        ? await callUnaryMethod(transport, FleetService.method.getConfig, request).catch(() => undefined)
        : undefined;
    setMerging({
      ...mergeable({
        base: { text: base.text, secrets: old?.secrets },
        theirs: { text: theirs.configJson, secrets: theirs.secrets },
        mine: draft,
      }),
      theirName: `Revision ${theirs.revision}`,
      take: (text) => config.rebase(baseOf(theirs), text),
    });
  };
  const mergeTab = (theirs: string): void =>
    setMerging({
      ...mergeable({ base, theirs: { text: theirs }, mine: draft }),
      theirName: 'The other tab',
      take: (text) => {
        config.open(text);
        config.forgetOther();
      },
    });
  return { merging, takeTheirs, mergeNewest, mergeTab, close: () => setMerging(undefined) };
}

const baseOf = ({ revision, configJson }: GetConfigResponse): Base => ({ revision, text: configJson });

/** Whose text is merged with the draft, and what becomes of the result. */
interface Merging extends ReturnType<typeof mergeable> {
  theirName: string;
  take: (text: string) => void;
}

const NotKept = () => (
  <Note tone="warn">
    <p>This browser stores nothing for this page: the draft is lost when you reload or close it.</p>
  </Note>
);

const ButtonRow = ({ label, onClick, children }: { label: string; onClick: () => void; children?: ReactNode }) => (
  <div className="row">
    <button type="button" className="button button-small" onClick={onClick}>
      {label}
    </button>
    {children}
  </div>
);

interface ConflictProps {
  isDirty: boolean;
  newest: bigint;
  onTheirs: () => void;
  onMerge: () => void;
}
const Conflict = ({ isDirty, newest, onTheirs, onMerge }: ConflictProps) => (
  <Note tone="warn" isLive>
    <p>
      <strong>The configuration was changed elsewhere{newest > 0n ? `: revision ${newest} is the newest` : ''}.</strong>{' '}
      {isDirty ? 'Your changes are still here and nothing was overwritten.' : 'You see an older one.'}
    </p>
    {isDirty ? (
      <ButtonRow label="Compare and merge …" onClick={onMerge}>
        <button type="button" className="button button-small" onClick={onTheirs}>
          Discard mine, load the newest
        </button>
      </ButtonRow>
    ) : (
      <ButtonRow label="Load the newest" onClick={onTheirs} />
    )}
  </Note>
);
