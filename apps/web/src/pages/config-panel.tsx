import type { GetConfigResponse } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { useRef, useState } from 'react';
import { ConfigEditor } from '../editor/config-editor.tsx';
import { useLostSince } from '../parts/contact.tsx';
import { FailureNote } from '../parts/messages.tsx';
import { formatJson, isError } from '../view/config-problems.ts';
import type { JsonSchema } from '../view/config-schema.ts';
import type { JsonPath } from '../view/json-path.ts';
import type { MachineView } from '../view/machine-status.ts';
import { useConfigChecks } from './config-checks.ts';
import { useConfigDraft } from './config-draft.ts';
import type { ConfigDraft } from './config-draft.ts';
import { ConfigState } from './config-state.tsx';
import { DraftNotes } from './draft-notes.tsx';
import type { DraftStart } from './kept-draft.ts';
import { MaintenanceWindows } from './maintenance-windows.tsx';
import { ProblemList } from './problem-list.tsx';
import { SaveDialog } from './save-dialog.tsx';
import { VersionMenus } from './version-menus.tsx';

interface ConfigPanelProps {
  machine: MachineView;
  start: DraftStart;
  /** Newest revision on the server. */
  newest: bigint;
  schema: JsonSchema;
  reload: () => Promise<GetConfigResponse | undefined>;
  restart: () => void;
}

export function ConfigPanel({ machine, start, newest, schema, reload, restart }: ConfigPanelProps) {
  const config = useConfigDraft({ partId: machine.partId, start, newest, restart });
  const { base, draft, opened, open, isDirty, justSaved, isConflict } = config;
  const { problems, error, isJson, hasErrors } = useConfigChecks({ machine, draft, base, newest, schema });
  const [target, setTarget] = useState<{ path: JsonPath }>();
  const { isReviewing, reviewError, problemBox, review, save, close } = useReview(config, hasErrors);
  return (
    <div className="config-panel">
      <div className="stack">
        <ConfigState machine={machine} base={base.revision} isDirty={isDirty} justSaved={justSaved} />
        <DraftForms draft={draft} isJson={isJson} platform={machine.platform} onChange={open} />
        <div className="card editor-card">
          <ConfigEditor
            key={opened.count}
            initial={opened.text}
            schema={schema}
            problems={problems}
            target={target}
            onChange={config.setDraft}
            onSave={() => void review()}
          />
        </div>
        <EditorActions
          isDirty={isDirty}
          onFormat={() => open(formatJson(draft))}
          onDiscard={config.discard}
          onReview={() => void review()}
        />
        <DraftNotes config={config} newest={newest} isReviewing={isReviewing} reload={reload} />
        {(reviewError ?? error) && <FailureNote error={reviewError ?? error} />}
      </div>
      <ProblemList ref={problemBox} problems={problems} onShow={({ path }) => setTarget({ path })} />
      {isReviewing && (
        <SaveDialog
          before={base.text}
          after={draft}
          comment={config.comment}
          onComment={config.setComment}
          machineName={machine.name}
          problems={problems.filter((one) => !isError(one) && !one.isReported)}
          error={config.saveError}
          isConflict={isConflict}
          isSaving={config.isSaving}
          onSave={save}
          onClose={close}
        />
      )}
    </div>
  );
}

interface DraftFormsProps {
  draft: string;
  isJson: boolean;
  platform: string;
  onChange: (draft: string) => void;
}
/** The forms of some fields. While the text is not JSON they show its last valid state and take no input, so that nothing moves. */
function DraftForms({ draft, isJson, platform, onChange }: DraftFormsProps) {
  const [valid, setValid] = useState('{}');
  if (isJson && valid !== draft) setValid(draft);
  return (
    <fieldset className="plain-fieldset stack" disabled={!isJson} aria-label="Fields of the configuration">
      <VersionMenus draft={isJson ? draft : valid} platform={platform} onChange={onChange} />
      <MaintenanceWindows draft={isJson ? draft : valid} onChange={onChange} />
    </fieldset>
  );
}

/** The dialog that shows the changes before they are saved. It opens only if the draft has no errors. */
function useReview(config: ConfigDraft, hasErrors: () => Promise<boolean>) {
  const [isReviewing, setReviewing] = useState(false);
  const [reviewError, setReviewError] = useState<unknown>();
  const problemBox = useRef<HTMLElement>(null);
  const close = (): void => setReviewing(false);
  return {
    isReviewing,
    close,
    /** Why the last review could not begin. */
    reviewError,
    /** Gets the focus if the draft has errors. */
    problemBox,
    review: async (): Promise<void> => {
      config.clearSaveError();
      if (!config.isDirty) return;
      setReviewError(undefined);
      try {
        if (await hasErrors()) problemBox.current?.focus();
        else setReviewing(true);
      } catch (error) {
        setReviewError(error);
      }
    },
    save: (): void => {
      config.save().then(close, () => undefined); // the dialog shows the failure
    },
  };
}

interface EditorActionsProps {
  isDirty: boolean;
  onFormat: () => void;
  onDiscard: () => void;
  onReview: () => void;
}
function EditorActions({ isDirty, onFormat, onDiscard, onReview }: EditorActionsProps) {
  const isLost = useLostSince() !== undefined;
  return (
    <div className="row config-panel-actions">
      <button type="button" className="button" onClick={onFormat}>
        Tidy up
      </button>
      <button type="button" className="button" disabled={!isDirty} onClick={onDiscard}>
        Discard draft
      </button>
      <span className="soft small push">{isDirty && isLost && 'Saving waits for the server.'}</span>
      <button type="button" className="button button-main" disabled={!isDirty || isLost} onClick={onReview}>
        Review and save …
      </button>
    </div>
  );
}
