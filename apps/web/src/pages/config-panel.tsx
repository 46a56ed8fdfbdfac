import type { GetConfigResponse } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { useRef, useState } from 'react';
import { ConfigEditor } from '../editor/config-editor.tsx';
import { FailureNote } from '../parts/messages.tsx';
import { formatJson, isError } from '../view/config-problems.ts';
import type { JsonSchema } from '../view/config-schema.ts';
import type { JsonPath } from '../view/json-path.ts';
import type { MachineView } from '../view/machine-status.ts';
import { useConfigChecks } from './config-checks.ts';
import { useConfigDraft } from './config-draft.ts';
import type { ConfigDraft } from './config-draft.ts';
import { ConfigState } from './config-state.tsx';
import { MaintenanceWindows } from './maintenance-windows.tsx';
import { ProblemList } from './problem-list.tsx';
import { SaveDialog } from './save-dialog.tsx';
import { VersionMenus } from './version-menus.tsx';

interface ConfigPanelProps {
  machine: MachineView;
  saved: GetConfigResponse;
  /** Newest revision on the server. */
  newest: bigint;
  schema: JsonSchema;
  reload: () => Promise<GetConfigResponse | undefined>;
}

export function ConfigPanel({ machine, saved, newest, schema, reload }: ConfigPanelProps) {
  const config = useConfigDraft({ partId: machine.partId, saved, newest, reload });
  const { base, draft, opened, open, isDirty, justSaved, isConflict } = config;
  const { problems, error, isJson, hasErrors } = useConfigChecks({ machine, draft, base, newest, schema });
  const [target, setTarget] = useState<{ path: JsonPath }>();
  const { isReviewing, reviewError, problemBox, review, save, close } = useReview(config, hasErrors);
  return (
    <div className="config-panel">
      <div className="stack">
        <ConfigState machine={machine} base={base.revision} isDirty={isDirty} justSaved={justSaved} />
        {isConflict && !isReviewing && (
          <Conflict
            isDirty={isDirty}
            newest={newest}
            onTheirs={() => void config.rebase(false)}
            onMine={() => void config.rebase(true)}
          />
        )}
        {(reviewError ?? error) && <FailureNote error={reviewError ?? error} />}
        {isJson && <VersionMenus draft={draft} platform={machine.platform} onChange={open} />}
        {isJson && <MaintenanceWindows draft={draft} onChange={open} />}
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
          onDiscard={() => open(base.text)}
          onReview={() => void review()}
        />
      </div>
      <ProblemList ref={problemBox} problems={problems} onShow={({ path }) => setTarget({ path })} />
      {isReviewing && (
        <SaveDialog
          before={base.text}
          after={draft}
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
const EditorActions = ({ isDirty, onFormat, onDiscard, onReview }: EditorActionsProps) => (
  <div className="row config-panel-actions">
    <button type="button" className="button" onClick={onFormat}>
      Tidy up
    </button>
    <button type="button" className="button" disabled={!isDirty} onClick={onDiscard}>
      Discard
    </button>
    <button type="button" className="button button-main push" disabled={!isDirty} onClick={onReview}>
      Review and save …
    </button>
  </div>
);

interface ConflictProps {
  isDirty: boolean;
  newest: bigint;
  onTheirs: () => void;
  onMine: () => void;
}
const Conflict = ({ isDirty, newest, onTheirs, onMine }: ConflictProps) => (
  <div className="note note-warn" role="status">
    <span />
    <div className="stack-tight">
      <p>
        <strong>
          The configuration was changed elsewhere{newest > 0n ? `: revision ${newest} is the newest` : ''}.
        </strong>{' '}
        {isDirty ? 'Your changes are still here and nothing was overwritten.' : 'You see an older one.'}
      </p>
      <div className="row">
        <button type="button" className="button button-small" onClick={onTheirs}>
          {isDirty ? 'Discard mine, load the newest' : 'Load the newest'}
        </button>
        {isDirty && (
          <button type="button" className="button button-small" onClick={onMine}>
            Keep mine, compare with the newest on saving
          </button>
        )}
      </div>
    </div>
  </div>
);
