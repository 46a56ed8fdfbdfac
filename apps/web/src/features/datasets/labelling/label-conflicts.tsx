import { useEffect, useState } from 'react';
import { FailureNote } from '../../../ui/messages.tsx';
import type { LabelImage } from './label-edits.ts';
import { conflictsOf } from './label-saves.ts';
import type { Labelling } from './labelling.ts';
import { formatCount } from '../../../ui/quantities.ts';
import { useCell } from './labelling-state.ts';
import type { LabellingPage } from './labelling-state.ts';
import '../../../ui/style/training.css';

/** The image that another user changed, too: both versions, and the choice between them. */
export function LabelConflicts({ page, state }: { page: LabellingPage; state: Labelling }) {
  const queue = useCell(page.saver.queue);
  const [id] = conflictsOf(queue);
  if (id === undefined) return null;
  const mine = state.images.find((image) => image.id === id);
  if (!mine) return <LeftBehind page={page} id={id} />;
  return <Conflict key={id} page={page} state={state} mine={mine} isGone={queue.conflicts[id] === 'gone'} />;
}

/** Answers about an image that this dataset no longer has. */
const LeftBehind = ({ page, id }: { page: LabellingPage; id: string }) => (
  <section className="label-conflict note note-warn" role="alert" aria-label="Image left the dataset">
    <p>An image that you labeled is no longer in this dataset, and its labels could not be saved.</p>
    <button type="button" className="button" onClick={() => page.saver.decide(id, [])}>
      Forget these answers
    </button>
  </section>
);

interface ConflictProps {
  page: LabellingPage;
  state: Labelling;
  mine: LabelImage;
  isGone: boolean;
}
function Conflict({ page, state, mine, isGone }: ConflictProps) {
  const [theirs, setTheirs] = useState<LabelImage>();
  const [error, setError] = useState<unknown>();
  const [read] = useState(() => page.read);
  useEffect(() => {
    if (!isGone) read(mine.id).then(setTheirs, setError);
  }, [read, mine.id, isGone]);
  const decide = (result: LabelImage): void => page.decide(theirs ?? mine, result);
  if (isGone)
    return (
      <section className="label-conflict note note-warn" role="alert" aria-label="Image deleted">
        <p>{mine.name} was deleted in the meantime. Your answer cannot be saved.</p>
        <button type="button" className="button" onClick={() => page.saver.decide(mine.id, [])}>
          Go on
        </button>
      </section>
    );
  return (
    <section className="label-conflict note note-warn" role="alert" aria-label="Changed by another user">
      <div className="stack-tight">
        <p>
          <strong>{mine.name}</strong> was changed by another user in the meantime. Nothing was overwritten.
        </p>
        {error !== undefined && <FailureNote error={error} />}
        {theirs && <Choices state={state} theirs={theirs} mine={mine} onDecide={decide} />}
      </div>
    </section>
  );
}

const described = ({ labels, boxes }: LabelImage): string =>
  [labels.join(', ') || 'no label', ...(boxes.length > 0 ? [formatCount(boxes.length, 'box', 'boxes')] : [])].join(
    ' · ',
  );

interface ChoicesProps {
  state: Labelling;
  theirs: LabelImage;
  mine: LabelImage;
  onDecide: (result: LabelImage) => void;
}
const Choices = ({ state, theirs, mine, onDecide }: ChoicesProps) => (
  <div className="row">
    <button type="button" className="button" onClick={() => onDecide(theirs)}>
      Keep theirs: {described(theirs)}
    </button>
    <button type="button" className="button" onClick={() => onDecide(mine)}>
      Use mine: {described(mine)}
    </button>
    {state.mode === 'several' && (
      <button
        type="button"
        className="button"
        onClick={() => onDecide({ ...theirs, labels: [...new Set([...theirs.labels, ...mine.labels])] })}
      >
        Keep both
      </button>
    )}
  </div>
);
