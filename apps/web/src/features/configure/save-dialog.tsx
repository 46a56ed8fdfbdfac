import { ModalDialog } from '../../ui/dialogs.tsx';
import { useLostSince } from '../../ui/contact.tsx';
import { TextField } from '../../ui/fields.tsx';
import { LoadedLater } from '../../ui/loaded-later.tsx';
import { FailureNote, Note } from '../../ui/messages.tsx';
import type { ConfigProblem } from './config-problems.ts';
import { isolateText } from '../../ui/user-text.ts';

interface SaveDialogProps {
  before: string;
  after: string;
  /** Why, for those who read the revisions later. */
  comment: string;
  onComment: (comment: string) => void;
  machineName: string;
  /** Warnings only: with errors the dialog does not open. */
  problems: readonly ConfigProblem[];
  error: unknown;
  isConflict: boolean;
  isSaving: boolean;
  onSave: () => void;
  onClose: () => void;
}

const longestComment = 500;
const loadDiff = () => import('./editor/config-diff.tsx');

/** Shows the changes before they reach the machine. */
export const SaveDialog = ({
  before,
  after,
  comment,
  onComment,
  machineName,
  problems,
  error,
  isConflict,
  isSaving,
  onSave,
  onClose,
}: SaveDialogProps) => (
  <ModalDialog
    title="Save this configuration?"
    lead={`${isolateText(machineName)} applies it as soon as it is online. Every saved revision can be restored under REVISIONS.`}
    isOpen
    onClose={onClose}
    isWide
  >
    <LoadedLater name="differences" load={loadDiff} className="editor editor-diff">
      {({ ConfigDiff }) => <ConfigDiff before={before} after={after} label="Changes" />}
    </LoadedLater>
    {problems.map((problem) => (
      <Note key={`${problem.where} ${problem.message}`} tone={problem.tone}>
        <p>
          <span className="mono small">{problem.where}</span> {problem.message}{' '}
          <span className="soft">{problem.remedy}</span>
        </p>
      </Note>
    ))}
    <TextField label="Comment (optional)" value={comment} onChange={onComment} maxLength={longestComment} />
    {error !== null && error !== undefined && <FailureNote error={error} />}
    <div className="dialog-footer">
      <WaitsForServer />
      <button type="button" className="button" onClick={onClose}>
        {isConflict ? 'Back to the conflict' : 'Go on editing'}
      </button>
      <button type="button" className="button button-main" disabled={isSaving || isConflict} onClick={onSave}>
        {isSaving ? 'Saving …' : 'Save'}
      </button>
    </div>
  </ModalDialog>
);

/** Why the save would fail now. */
function WaitsForServer() {
  return useLostSince() === undefined ? null : <span className="soft small">The server does not answer.</span>;
}
