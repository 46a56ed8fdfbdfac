import { PlusIcon } from '../../../ui/icons.tsx';
import { UserText } from '../../../ui/isolated-text.tsx';
import type { LabelImage } from './label-edits.ts';
import { keyOf } from './label-keys.ts';
import { labelModes } from './label-modes.ts';
import type { LabelMode } from './label-modes.ts';
import type { Labelling } from './labelling.ts';
import { newUuid } from './labelling-state.ts';
import { SuggestionPanel } from './suggestion-panel.tsx';
import type { LabellingPage } from './labelling-state.ts';

const modeTexts: Readonly<Record<LabelMode, { name: string; hint: string }>> = {
  one: { name: 'One label', hint: 'A key labels the image and goes on to the next one without a label.' },
  several: { name: 'Several', hint: 'A key adds or removes a label; Space goes on.' },
  boxes: { name: 'Boxes', hint: 'Draw on the image. A key labels the selected box, or the next one.' },
};

interface LabelPanelProps {
  page: LabellingPage;
  state: Labelling;
  image: LabelImage;
  datasetId: string;
  onNewLabel: () => void;
}
/** The labels with their keys, and what they are for. */
export function LabelPanel({ page, state, image, datasetId, onNewLabel }: LabelPanelProps) {
  return (
    <aside className="label-panel" aria-label="Labels">
      <Modes page={page} mode={state.mode} />
      <Labels page={page} state={state} image={image} />
      <button type="button" className="label-choice" onClick={onNewLabel}>
        <kbd>L</kbd>
        <PlusIcon />
        <span>Another label</span>
      </button>
      <SuggestionPanel page={page} state={state} image={image} datasetId={datasetId} />
      <div className="label-acts">
        <button
          type="button"
          className="button button-small"
          disabled={state.at === 0}
          onClick={() => page.run({ do: 'copy', newId: newUuid })}
        >
          {state.mode === 'boxes' ? 'Copy boxes from before' : 'Same as before'} <kbd>C</kbd>
        </button>
        <button
          type="button"
          className="button button-small"
          disabled={state.mode === 'boxes' ? state.selected === undefined : image.labels.length === 0}
          onClick={() => page.run({ do: 'clear' })}
        >
          {state.mode === 'boxes' ? 'Remove box' : 'Clear'} <kbd>Del</kbd>
        </button>
      </div>
    </aside>
  );
}

const Modes = ({ page, mode }: { page: LabellingPage; mode: LabelMode }) => (
  <fieldset className="label-modes">
    <legend className="hidden-text">How the images are labeled</legend>
    <div className="label-mode-row">
      {labelModes.map((one) => (
        <label key={one} className="choice">
          <input
            type="radio"
            name="mode"
            className="hidden-text"
            checked={one === mode}
            onChange={() => page.run({ do: 'mode', mode: one })}
          />
          {modeTexts[one].name}
        </label>
      ))}
      <kbd>M</kbd>
    </div>
    <p className="field-hint">{modeTexts[mode].hint}</p>
  </fieldset>
);

function Labels({ page, state, image }: Omit<LabelPanelProps, 'onNewLabel' | 'datasetId'>) {
  const { mode, labels, boxLabel, selected } = state;
  if (labels.length === 0)
    return <p className="soft small">No labels yet. Press L and name the first one; it gets the key 1.</p>;
  const ofBox = image.boxes.find(({ id }) => id === selected)?.label ?? boxLabel;
  const isOn = (label: string): boolean => (mode === 'boxes' ? label === ofBox : image.labels.includes(label));
  return (
    <ul className="label-list">
      {labels.map((label) => {
        const key = keyOf(labels, label);
        const boxes = mode === 'boxes' ? image.boxes.filter((box) => box.label === label).length : 0;
        return (
          <li key={label}>
            <button
              type="button"
              className="label-choice"
              aria-pressed={isOn(label)}
              {...(key && { 'aria-keyshortcuts': key })}
              onClick={() => page.run({ do: 'label', label })}
            >
              <kbd>{key?.toUpperCase() ?? '·'}</kbd>
              <UserText text={label} />
              {boxes > 0 && <span className="numbers push">{boxes}</span>}
            </button>
          </li>
        );
      })}
    </ul>
  );
}
