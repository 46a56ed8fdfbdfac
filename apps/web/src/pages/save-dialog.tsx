import { ConfigDiff } from '../editor/config-diff.tsx';
import { ModalDialog } from '../parts/dialogs.tsx';
import { useLostSince } from '../parts/contact.tsx';
import { TextField } from '../parts/fields.tsx';
import { FailureNote, Note } from '../parts/messages.tsx';
import type { ConfigProblem } from '../view/config-problems.ts';
import { isolateText } from '../view/user-text.ts';

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
    <ConfigDiff before={before} after={after} label="Changes" />
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
