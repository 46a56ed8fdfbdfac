import { useMemo, useState } from 'react';
import { ModalDialog } from '../../../ui/dialogs.tsx';
import { formatCount } from '../../../ui/quantities.ts';
import { type Conflict, conflictsOf, mergedText, mergeTexts, type Side } from './merge.ts';

interface MergeDialogProps {
  base: string;
  theirs: string;
  mine: string;
  /** Whose text `theirs` is. */
  theirName: string;
  take: (text: string) => void;
  onClose: () => void;
}

/** Merges two changed texts: changes of one side are taken; where both changed the same lines, the user chooses. */
export function MergeDialog({ base, theirs, mine, theirName, take, onClose }: MergeDialogProps) {
  const parts = useMemo(() => mergeTexts({ base, theirs, mine }), [base, theirs, mine]);
  const conflicts = conflictsOf(parts);
  const [sides, setSides] = useState<Readonly<Record<number, Side>>>({});
  const open = conflicts.filter((_, at) => sides[at] === undefined).length;
  return (
    <ModalDialog
      title="Compare and merge"
      lead={
        conflicts.length === 0
          ? 'The changes do not touch the same lines: the merged text has all of them.'
          : `${formatCount(conflicts.length, 'place')} changed on both sides. All other changes are taken from both.`
      }
      isOpen
      onClose={onClose}
      isWide
    >
      {conflicts.map((conflict, at) => (
        <ConflictChoice
          key={`${at} ${conflict.mine.join('\n')}`}
          number={at + 1}
          conflict={conflict}
          theirName={theirName}
          side={sides[at]}
          onChoose={(side) => setSides({ ...sides, [at]: side })}
        />
      ))}
      <div className="dialog-footer">
        {open > 0 && <span className="soft small">Choose a side for {formatCount(open, 'place')}.</span>}
        <button type="button" className="button" onClick={onClose}>
          Cancel
        </button>
        <button
          type="button"
          className="button button-main"
          disabled={open > 0}
          onClick={() => {
            const chosen = conflicts.map((_, at) => sides[at] ?? 'mine');
            take(mergedText(parts, chosen));
            onClose();
          }}
        >
          Put the merged text into the editor
        </button>
      </div>
    </ModalDialog>
  );
}

interface ConflictChoiceProps {
  number: number;
  conflict: Conflict;
  theirName: string;
  side: Side | undefined;
  onChoose: (side: Side) => void;
}
const ConflictChoice = ({ number, conflict, theirName, side, onChoose }: ConflictChoiceProps) => (
  <fieldset className="merge-conflict">
    <legend>Place {number}</legend>
    {(['theirs', 'mine'] as const).map((one) => (
      <label key={one} className={`merge-side${side === one ? ' is-chosen' : ''}`}>
        <span className="row">
          <input type="radio" name={`place-${number}`} checked={side === one} onChange={() => onChoose(one)} />
          {one === 'theirs' ? theirName : 'Mine'}
        </span>
        <pre className="mono small">{conflict[one].join('\n') || '(removed)'}</pre>
      </label>
    ))}
  </fieldset>
);
