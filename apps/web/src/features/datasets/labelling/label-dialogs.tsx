import { nameProblem, longestLabel } from '@platform/contract/text/names';
import { tagWordProblem } from '@platform/contract/job/tag-words';
import { useState } from 'react';
import { FormDialog, ModalDialog } from '../../../ui/dialogs.tsx';
import { TextField } from '../../../ui/fields.tsx';
import { alikeTo, visibleLabel } from '../alike-labels.ts';

const keys: readonly (readonly [keys: string, meaning: string])[] = [
  ['1 – 9, letters', 'label, as the list at the side shows'],
  ['Space', 'next image without a label'],
  ['→ ← or ↓ ↑', 'next and previous image; Home and End: first and last'],
  ['Z, Shift Z', 'undo and redo, also on images before'],
  ['C', 'labels or boxes of the image before'],
  ['Delete', 'clear the labels, or remove the selected box'],
  ['Y, N', 'accept or reject the first suggestion'],
  ['Shift Y', 'accept all suggestions from the score at the side on'],
  ['[ ]', 'lower or raise that score'],
  ['L', 'another label, by its name'],
  ['M', 'one label, several, boxes'],
  ['+ − 0', 'larger, smaller, fit; also Ctrl with the wheel'],
  ['Shift and arrows', 'pan'],
  ['H', 'hide and show the boxes'],
  ['Esc', 'back to the dataset'],
];

export const LabelHelp = ({ onClose }: { onClose: () => void }) => (
  <ModalDialog title="Keys" isOpen onClose={onClose}>
    <table className="label-keys">
      <thead className="hidden-text">
        <tr>
          <th scope="col">Key</th>
          <th scope="col">What it does</th>
        </tr>
      </thead>
      <tbody>
        {keys.map(([key, meaning]) => (
          <tr key={key}>
            <th scope="row">
              <kbd>{key}</kbd>
            </th>
            <td>{meaning}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </ModalDialog>
);

interface NewLabelProps {
  labels: readonly string[];
  onChoose: (label: string) => void;
  onClose: () => void;
}
/** A label by its name: a new one, which gets a key, or one of the many that have none. */
export function NewLabel({ labels, onChoose, onClose }: NewLabelProps) {
  const [text, setText] = useState('');
  const label = text.normalize('NFC').trim();
  const problem = label === '' ? undefined : (nameProblem(label, longestLabel) ?? tagWordProblem(label));
  const alike = alikeTo(label, labels);
  return (
    <FormDialog
      title="Another label"
      verb="Use this label"
      isDisabled={label === '' || problem !== undefined}
      onSubmit={() => (onClose(), onChoose(label))}
      onClose={onClose}
    >
      <TextField
        label="Label"
        value={text}
        onChange={setText}
        list={labels}
        isFocused
        problem={problem && `The label is not valid: ${problem}.`}
        {...(alike !== undefined && {
          hint: `There is “${visibleLabel(alike)}” already; this would be a class of its own.`,
        })}
      />
      {alike !== undefined && (
        <button type="button" className="button" onClick={() => (onClose(), onChoose(alike))}>
          Use “{visibleLabel(alike)}”
        </button>
      )}
    </FormDialog>
  );
}
