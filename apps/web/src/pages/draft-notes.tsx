import type { GetConfigResponse } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { useState } from 'react';
import type { ReactNode } from 'react';
import { Note } from '../parts/messages.tsx';
import type { Base } from '../view/drafts.ts';
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
  const { base, draft, isDirty, isConflict, isLasting, other } = config;
  const [merging, setMerging] = useState<Merging>();
  const loaded = async (then: (onto: Base) => void): Promise<void> => {
    const theirs = await reload();
    if (theirs !== undefined) then({ revision: theirs.revision, text: theirs.configJson });
  };
  const mergeNewest = (onto: Base): void =>
    setMerging({
      theirs: onto.text,
      theirName: `Revision ${onto.revision}`,
      take: (text) => config.rebase(onto, text),
    });
  const mergeTab = (theirs: string): void =>
    setMerging({
      theirs,
      theirName: 'The other tab',
      take: (text) => {
        config.open(text);
        config.forgetOther();
      },
    });
  return (
    <>
      {isConflict && !isReviewing && (
        <Conflict
          isDirty={isDirty}
          newest={newest}
          onTheirs={() => void loaded((onto) => config.rebase(onto, onto.text))}
          onMerge={() => void loaded(mergeNewest)}
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
        <MergeDialog {...merging} base={base.text} mine={draft} onClose={() => setMerging(undefined)} />
      )}
    </>
  );
}

/** Whose text is merged with the draft, and what becomes of the result. */
interface Merging {
  theirs: string;
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
