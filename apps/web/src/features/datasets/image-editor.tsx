import type { BinaryMetadata } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { useState } from 'react';
import { TextField } from '../../ui/fields.tsx';
import { CrossIcon } from '../../ui/icons.tsx';
import { FailureNote } from '../../ui/messages.tsx';
import { UserText } from '../../ui/isolated-text.tsx';
import { useSession } from '../../entities/session/session.tsx';
import { editBox } from '../../entities/image/boxes.ts';
import type { Box, Frame } from '../../entities/image/boxes.ts';
import { bytes, percent } from '../../ui/quantities.ts';
import { bothMoments, msOf } from '../../ui/times.ts';
import { isolateText } from '../../ui/user-text.ts';
import { BoxCanvas } from './labelling/box-canvas.tsx';
import { useBoxEdits } from './labelling/box-edits.ts';
import { boxesOf } from '../../entities/image/image-boxes.ts';
import { ImageLabels } from './image-labels-panel.tsx';
import { useLabelCounts } from '../../entities/dataset/label-counts.ts';
import '../../ui/style/training.css';

/** The initial position of a box that is added without a pointer. */
const middle: Frame = { xMin: 0.35, yMin: 0.35, xMax: 0.65, yMax: 0.65 };

function savedState(unsaved: number | undefined, error: unknown): string {
  if (unsaved === undefined) return '';
  if (unsaved > 0) return 'Saving…';
  return error === undefined ? 'Saved' : 'Not saved';
}

/** The boxes of an image, which one is selected, and the label of the next one. */
function useLabeledBoxes(metadata: BinaryMetadata, datasetId: string) {
  const { organization } = useSession();
  const edits = useBoxEdits(metadata.binaryDataId, boxesOf(metadata));
  const { boxes, edit } = edits;
  const [selected, setSelected] = useState<string>();
  const known =
    useLabelCounts(organization.organizationId, datasetId, 'boxes').data?.labels.map((one) => one.label) ?? [];
  const [label, setLabel] = useState(() => boxesOf(metadata).at(-1)?.label ?? '');
  const labels = [...new Set([...known, ...boxes.map((box) => box.label)])].toSorted();
  const nextLabel = label.trim() || labels[0] || '';
  const chosen = boxes.find((box) => box.id === selected);
  const change = (box: Box, next: Partial<Frame> & { label?: string }): void =>
    void edit({ do: 'change', before: box, after: editBox(box, next) });
  return {
    ...edits,
    selected,
    select: setSelected,
    label,
    labels,
    nextLabel,
    change,
    add: async (frame: Frame): Promise<void> => {
      if (nextLabel === '') return;
      const kept = await edit({ do: 'add', box: { id: '', label: nextLabel, ...frame } });
      if (kept?.do === 'add') setSelected(kept.box.id);
    },
    remove: (box: Box): void => {
      setSelected(undefined);
      void edit({ do: 'remove', box });
    },
    /** Sets the label of the next box; a known label becomes that of the selected box, too. */
    setLabel: (text: string): void => {
      setLabel(text);
      if (chosen && labels.includes(text) && text !== chosen.label) change(chosen, { label: text });
    },
  };
}
type LabeledBoxes = ReturnType<typeof useLabeledBoxes>;

/** An image with its boxes and labels, which the user edits. */
export function ImageEditor({ metadata, datasetId }: { metadata: BinaryMetadata; datasetId: string }) {
  const boxes = useLabeledBoxes(metadata, datasetId);
  return (
    <div
      className="image-editor"
      onKeyDown={(event) => {
        const isUndo =
          event.key === 'z' && (event.ctrlKey || event.metaKey) && !(event.target instanceof HTMLInputElement);
        if (!isUndo) return;
        event.preventDefault();
        void boxes.undo();
      }}
    >
      <div className="stack-tight">
        <BoxCanvas
          source={`/data/${metadata.binaryDataId}`}
          name={metadata.fileName}
          boxes={boxes.boxes}
          selected={boxes.selected}
          onSelect={boxes.select}
          onDraw={(frame) => void boxes.add(frame)}
          onChange={boxes.change}
          onRemove={boxes.remove}
        />
        <p className="small soft">
          {bytes(metadata.fileSizeBytes)} · {bothMoments(msOf(metadata.timeRequested) ?? 0)}
        </p>
      </div>
      <div className="stack">
        {boxes.error !== undefined && <FailureNote error={boxes.error} />}
        <BoxPanel boxes={boxes} />
        <ImageLabels metadata={metadata} datasetId={datasetId} />
      </div>
    </div>
  );
}

/** Adds boxes and lists those that the image has. */
function BoxPanel({ boxes }: { boxes: LabeledBoxes }) {
  const { labels, nextLabel } = boxes;
  return (
    <section className="card" aria-label="Boxes">
      <div className="card-head">
        <h2>Boxes</h2>
        <span role="status" aria-label="State of the boxes" className="small soft push">
          {savedState(boxes.unsaved, boxes.error)}
        </span>
        <button
          type="button"
          className="button button-small"
          disabled={boxes.done.length === 0}
          onClick={() => void boxes.undo()}
        >
          Undo
        </button>
      </div>
      <div className="card-body">
        <TextField
          label="Label of the next box"
          value={boxes.label}
          onChange={boxes.setLabel}
          list={labels}
          placeholder={labels[0] ?? 'for example cup'}
          hint={
            nextLabel === '' ? 'Name what you are going to frame, then draw on the image.' : 'Draw on the image, or:'
          }
        />
        <button type="button" className="button" disabled={nextLabel === ''} onClick={() => void boxes.add(middle)}>
          Add a box in the middle
        </button>
        {boxes.boxes.length > 0 && (
          <ul className="box-list">
            {boxes.boxes.map((box, at) => (
              <BoxRow
                key={box.id}
                box={box}
                number={at + 1}
                isSelected={box.id === boxes.selected}
                nextLabel={nextLabel}
                onSelect={() => boxes.select(box.id)}
                onRelabel={() => boxes.change(box, { label: nextLabel })}
                onRemove={() => boxes.remove(box)}
              />
            ))}
          </ul>
        )}
      </div>
    </section>
  );
}

interface BoxRowProps {
  box: Box;
  number: number;
  isSelected: boolean;
  nextLabel: string;
  onSelect: () => void;
  onRelabel: () => void;
  onRemove: () => void;
}
const BoxRow = ({ box, number, isSelected, nextLabel, onSelect, onRelabel, onRemove }: BoxRowProps) => (
  <li className="row">
    <button
      type="button"
      className={isSelected ? 'choice box-chosen' : 'choice'}
      aria-pressed={isSelected}
      onClick={onSelect}
    >
      {number}. <UserText text={box.label} />
      {box.confidence !== undefined && <span className="small soft"> {percent(box.confidence, 0)} confidence</span>}
    </button>
    {isSelected && nextLabel !== box.label && (
      <button type="button" className="button button-small" onClick={onRelabel}>
        Call it {nextLabel}
      </button>
    )}
    <button
      type="button"
      className="button button-quiet button-small button-icon push"
      aria-label={`Remove box ${number}, ${isolateText(box.label)}`}
      onClick={onRemove}
    >
      <CrossIcon />
    </button>
  </li>
);
