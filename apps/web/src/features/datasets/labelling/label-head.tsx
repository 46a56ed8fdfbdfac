import { CrossIcon } from '../../../ui/icons.tsx';
import { failureOf } from '../../../ui/failures.ts';
import { conflictsOf } from './label-saves.ts';
import type { SaveQueue } from './label-saves.ts';
import { labelledCount, shownImage } from './labelling.ts';
import type { Labelling } from './labelling.ts';
import { formatCount, percent } from '../../../ui/quantities.ts';
import type { Zoom } from './label-stage.tsx';
import { useCell } from './labelling-state.ts';
import type { LabellingPage } from './labelling-state.ts';

interface LabelHeadProps {
  page: LabellingPage;
  state: Labelling;
  name: string;
  zoom: Zoom;
  onClose: () => void;
  onHelp: () => void;
}
/** Dataset, progress, state of the saving, undo, zoom, and the way to the next image. */
export function LabelHead({ page, state, name, zoom, onClose, onHelp }: LabelHeadProps) {
  const labelled = labelledCount(state);
  const total = state.images.length;
  return (
    <header className="label-head">
      <button
        type="button"
        className="button button-quiet button-icon"
        aria-label="Back to the dataset"
        onClick={onClose}
      >
        <CrossIcon />
      </button>
      <div className="label-title">
        <h1>{name}</h1>
        <span className="soft small">{shownImage(state)?.name}</span>
      </div>
      <div className="label-progress">
        <progress aria-label="Labeled images" value={labelled} max={total} />
        <span role="status" aria-label="Progress">
          <strong>
            {labelled} of {total}
          </strong>
          {labelled === total && <span className="soft"> · all labeled</span>}
        </span>
      </div>
      <SaveState page={page} />
      <div className="label-tools">
        <button
          type="button"
          className="button button-quiet button-small"
          disabled={state.done.length === 0}
          onClick={() => page.run({ do: 'undo' })}
        >
          Undo
        </button>
        <button
          type="button"
          className="button button-quiet button-small"
          disabled={state.undone.length === 0}
          onClick={() => page.run({ do: 'redo' })}
        >
          Redo
        </button>
        <ZoomButtons zoom={zoom} />
        <button type="button" className="button button-quiet button-small label-help" onClick={onHelp}>
          Keys
        </button>
      </div>
      <button
        type="button"
        className="button button-main label-next"
        onClick={() => page.run({ do: 'go', to: 'unlabelled' })}
      >
        Next unlabeled <kbd>Space</kbd>
      </button>
    </header>
  );
}

const ZoomButtons = ({ zoom }: { zoom: Zoom }) => (
  <>
    <button type="button" className="button button-quiet button-small" aria-label="Smaller" onClick={zoom.smaller}>
      −
    </button>
    <button type="button" className="button button-quiet button-small numbers" onClick={zoom.fit}>
      {zoom.factor === 1 ? 'Fit' : percent(zoom.factor, 0)}
    </button>
    <button type="button" className="button button-quiet button-small" aria-label="Larger" onClick={zoom.larger}>
      +
    </button>
  </>
);

function saveText({ waiting, state, conflicts }: SaveQueue, isLasting: boolean): { tone: string; text: string } {
  const held = waiting.filter(({ edit }) => conflicts[edit.image] !== undefined).length;
  const count = waiting.length - held;
  const kept = isLasting ? 'kept on this device' : 'lost if you close this page';
  if (state === 'offline') return { tone: 'is-warn', text: `Offline · ${count} ${kept}` };
  if (state === 'stopped') return { tone: 'is-bad', text: `Not saved · ${count} ${kept}` };
  if (held > 0) return { tone: 'is-warn', text: `${formatCount(held, 'answer')} to decide` };
  return count === 0 ? { tone: 'is-good', text: 'Saved' } : { tone: 'is-busy', text: `Saving ${count}` };
}

function SaveState({ page }: { page: LabellingPage }) {
  const { saver, isLasting } = page;
  const queue = useCell(saver.queue);
  const error = useCell(saver.error);
  const { tone, text } = saveText(queue, isLasting());
  const isStuck = queue.state !== 'saving' && conflictsOf(queue).length < queue.waiting.length;
  return (
    <div className="label-saving">
      <span role="status" aria-label="Saving" className={`badge ${tone}`}>
        {text}
      </span>
      {queue.state === 'stopped' && error !== undefined && <FailureText error={error} />}
      {isStuck && (
        <button type="button" className="button button-small" onClick={saver.retry}>
          Try again
        </button>
      )}
    </div>
  );
}

const FailureText = ({ error }: { error: unknown }) => {
  const { what, remedy } = failureOf(error);
  return (
    <span className="small" role="alert">
      {what} <span className="soft">{remedy}</span>
    </span>
  );
};
