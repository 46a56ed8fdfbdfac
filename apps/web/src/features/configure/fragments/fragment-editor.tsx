import { useMutation, useQuery } from '@connectrpc/connect-query';
import { AppService, type Fragment } from '@platform/contract/gen/platform/app/v1/app_pb';
import { FleetService, type PreviewFragmentResponse } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { useMemo, useRef, useState } from 'react';
import { FailureNote, Note } from '../../../ui/messages.tsx';
import { useDebounced } from '../../../ui/time.tsx';
import { missingSecretProblems } from '../draft/drafts.ts';
import { formatJson, fromServer, fromText, isError, type ConfigProblem } from '../config-problems.ts';
import type { JsonSchema } from '../schema/config-schema.ts';
import { syntaxProblem, type JsonPath } from '../schema/json-path.ts';
import { type FragmentStart, useKeepFragment } from '../draft/fragment-draft.ts';
import { FragmentEffects } from './fragment-effects.tsx';
import { EditorActions } from '../editor-actions.tsx';
import { JsonSide } from '../json-side.tsx';
import { ProblemList } from '../problem-list.tsx';
import { ModalDialog } from '../../../ui/dialogs.tsx';
import { TextField } from '../../../ui/fields.tsx';
import { LoadedLater } from '../../../ui/loaded-later.tsx';
import { formatCount } from '../../../ui/quantities.ts';
import { isolateText } from '../../../ui/user-text.ts';

interface FragmentEditorProps {
  fragment: Fragment;
  schema: JsonSchema;
  start: FragmentStart;
  onSaved: () => void;
}

const settleMs = 400;

/** The text of a fragment, and what saving it would change on which machine. */
export function FragmentEditor({ fragment, schema, start, onSaved }: FragmentEditorProps) {
  const before = fragment.fragmentJson;
  const { draft, revision, opened, write, show, forget } = useFragmentText(fragment, start);
  const [target, setTarget] = useState<{ path: JsonPath }>();
  const [isReviewing, setReviewing] = useState(false);
  const problemBox = useRef<HTMLElement>(null);
  const { preview, problems, isCurrent } = usePreview(fragment.id, draft);
  const onSuccess = (): void => (forget(), onSaved());
  const saving = useMutation(AppService.method.updateFragment, { onSuccess });
  const isDirty = draft !== before;
  const review = (): void => {
    saving.reset();
    if (problems.some(isError)) problemBox.current?.focus();
    else if (isDirty && isCurrent) setReviewing(true);
  };
  const save = (comment: string): void =>
    saving.mutate({ id: fragment.id, name: fragment.name, configJson: draft, expectedRevision: revision, comment });
  return (
    <div className="stack">
      <JsonSide
        isShown
        text={draft}
        first={start.text}
        shown={opened}
        schema={schema}
        problems={problems}
        target={target}
        onChange={write}
        onSave={review}
      />
      <ProblemList ref={problemBox} problems={problems} onShow={({ path }) => setTarget({ path })} />
      {revision !== fragment.revision && (
        <StaleDraft began={revision} newest={fragment.revision} onGoOn={() => write(draft, fragment.revision)} />
      )}
      {preview.error && <FailureNote error={preview.error} />}
      {isDirty && preview.data && <FragmentEffects of={preview.data} />}
      <EditorActions
        isDirty={isDirty}
        isReady={isCurrent}
        onFormat={() => show(formatJson(draft))}
        onDiscard={() => show(before)}
        onReview={review}
      />
      {isReviewing && preview.data && (
        <FragmentSaveDialog
          name={fragment.name}
          before={before}
          after={draft}
          preview={preview.data}
          error={saving.error}
          isSaving={saving.isPending}
          onSave={save}
          onClose={() => setReviewing(false)}
        />
      )}
    </div>
  );
}

/** What the user wrote, which the browser keeps, and what the editor shows. */
function useFragmentText(fragment: Fragment, start: FragmentStart) {
  const [{ draft, revision }, setWritten] = useState({ draft: start.text, revision: start.revision });
  const [opened, setOpened] = useState({ text: start.text });
  const { keep, forget } = useKeepFragment(fragment, start);
  const write = (text: string, base = revision): void => {
    setWritten({ draft: text, revision: base });
    keep(text, base);
  };
  return {
    draft,
    /** The one that the draft began with. */
    revision,
    opened,
    write,
    /** Replaces the text in the editor. */
    show: (text: string): void => {
      setOpened({ text });
      write(text, text === fragment.fragmentJson ? fragment.revision : revision);
    },
    forget,
  };
}

const StaleDraft = ({ began, newest, onGoOn }: { began: string; newest: string; onGoOn: () => void }) => (
  <Note
    tone="warn"
    action={
      <button type="button" className="button button-small" onClick={onGoOn}>
        Go on from revision {newest}
      </button>
    }
  >
    <p>
      Your draft began at revision {began}, and revision {newest} was saved since. The differences before saving are
      those to the newest one.
    </p>
  </Note>
);

/** What the server says of the draft, a moment after the last keystroke. */
function usePreview(fragmentId: string, draft: string) {
  const settled = useDebounced(draft, settleMs);
  const isJson = useMemo(() => syntaxProblem(settled) === undefined, [settled]);
  const preview = useQuery(
    FleetService.method.previewFragment,
    { fragmentId, configJson: settled },
    { enabled: isJson, staleTime: 60_000, gcTime: 60_000, refetchOnWindowFocus: false, retry: false },
  );
  const problems = useMemo(
    (): ConfigProblem[] =>
      settled === draft && preview.data
        ? [...missingSecretProblems(draft), ...fromServer(preview.data.problems)]
        : [...missingSecretProblems(draft), ...fromText(draft, undefined)],
    [preview.data, settled, draft],
  );
  return { preview, problems, isCurrent: settled === draft && preview.data !== undefined };
}

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
function FragmentSaveDialog(props: FragmentSaveDialogProps) {
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
