import type { PreviewFragmentResponse } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { useState } from 'react';
import { ModalDialog } from '../../../ui/dialogs.tsx';
import { TextField } from '../../../ui/fields.tsx';
import { LoadedLater } from '../../../ui/loaded-later.tsx';
import { FailureNote } from '../../../ui/messages.tsx';
import { formatCount } from '../../../ui/quantities.ts';
import { isolateText } from '../../../ui/user-text.ts';
import { FragmentEffects } from './fragment-effects.tsx';

interface FragmentSaveDialogProps {
  name: string;
  before: string;
  after: string;
  preview: PreviewFragmentResponse;
  error: unknown;
  isSaving: boolean;
  onSave: (comment: string) => void;
  onClose: () => void;
}

/** Shows the text and the machines that change, before they do. */
export function FragmentSaveDialog(props: FragmentSaveDialogProps) {
  const { name, before, after, preview, error, isSaving, onSave, onClose } = props;
  const [comment, setComment] = useState('');
  const isBroken = preview.machines.some(({ problems }) => problems.length > 0);
  return (
    <ModalDialog
      title={`Save ${isolateText(name)}?`}
      lead={`${formatCount(preview.machineCount, 'machine')} will apply it as soon as ${preview.machineCount === 1 ? 'it is' : 'they are'} online.`}
      isOpen
      onClose={onClose}
      isWide
    >
      <LoadedLater name="differences" load={() => import('../editor/config-diff.tsx')} className="editor editor-diff">
        {({ ConfigDiff }) => <ConfigDiff before={before} after={after} label="Changes" />}
      </LoadedLater>
      <FragmentEffects of={preview} />
      <TextField label="Comment (optional)" value={comment} onChange={setComment} maxLength={500} />
      {error ? <FailureNote error={error} /> : null}
      <div className="dialog-footer">
        <button type="button" className="button" onClick={onClose}>
          Go on editing
        </button>
        <button
          type="button"
          className="button button-main"
          disabled={isSaving || isBroken}
          onClick={() => onSave(comment.trim())}
        >
          {isSaving ? 'Saving …' : 'Save'}
        </button>
      </div>
    </ModalDialog>
  );
}
