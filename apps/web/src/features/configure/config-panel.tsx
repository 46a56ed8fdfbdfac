import { skipToken, useQuery } from '@connectrpc/connect-query';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { GetConfigResponse } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { getRouteApi } from '@tanstack/react-router';
import { useRef, useState } from 'react';
import type { ReactNode } from 'react';
import { FailureNote } from '../../ui/messages.tsx';
import { formatJson, isError } from './config-problems.ts';
import type { ConfigProblem } from './config-problems.ts';
import type { JsonSchema } from './schema/config-schema.ts';
import { parsePath, type JsonPath } from './schema/json-path.ts';
import { comparedText } from './secret-texts.ts';
import type { MachineView } from '../../entities/machine/machine-status.ts';
import { useAttributeHints } from './form/use-attribute-hints.ts';
import { useConfigChecks } from './config-checks.ts';
import { useConfigDraft } from './draft/config-draft.ts';
import type { ConfigDraft } from './draft/config-draft.ts';
import { ConfigForm } from './form/config-form.tsx';
import { FragmentsOfMachine } from './form/config-fragments.tsx';
import { ConfigState } from './config-state.tsx';
import { DraftNotes } from './draft/draft-notes.tsx';
import { EditorActions } from './editor-actions.tsx';
import { JsonSide } from './json-side.tsx';
import type { DraftStart } from './draft/kept-draft.ts';
import { ProblemList } from './problem-list.tsx';
import { RevealSecrets, SavedSecrets } from './saved-secrets.tsx';
import { SaveDialog } from './save-dialog.tsx';

const route = getRouteApi('/machines/$machineId/configure');

interface ConfigPanelProps {
  machine: MachineView;
  start: DraftStart;
  /** Newest revision on the server. */
  newest: bigint;
  schema: JsonSchema;
  reload: () => Promise<GetConfigResponse | undefined>;
  restart: () => void;
}

/** The field that the JSON shows; first the one that the URL names. */
function useTarget() {
  const { path: linked } = route.useSearch();
  const [target, setTarget] = useState<{ path: JsonPath; isQuiet?: true } | undefined>(
    linked === undefined ? undefined : { path: parsePath(linked) },
  );
  const [side, setSide] = useState<Side>(linked === undefined ? 'form' : 'json');
  return { target, setTarget, side, setSide };
}

export function ConfigPanel({ machine, start, newest, schema, reload, restart }: ConfigPanelProps) {
  const config = useConfigDraft({ partId: machine.partId, start, newest, restart });
  const { base, draft, secretsOf, opened, open, isDirty, justSaved } = config;
  const checks = useConfigChecks({ machine, draft, base, secretsOf, newest, schema });
  const problems = useAttributeHints(draft, checks.problems);
  const { target, setTarget, side, setSide } = useTarget();
  const { isReviewing, reviewError, problemBox, review, save, close } = useReview(config, checks.hasErrors);
  const show = ({ path }: ConfigProblem): void => {
    setSide('json');
    setTarget({ path });
  };
  return (
    <RevealSecrets partId={machine.partId} revision={secretsOf ?? base.revision} draft={draft}>
      <div className="config-panel" data-side={side}>
        <SideChoice side={side} onChange={setSide}>
          <ConfigState machine={machine} base={base.revision} isDirty={isDirty} justSaved={justSaved} />
        </SideChoice>
        <div className="config-form">
          <FragmentsOfMachine machineId={machine.id} draft={draft}>
            <ConfigForm
              draft={draft}
              isJson={checks.isJson}
              schema={schema}
              problems={problems}
              platform={machine.platform}
              onChange={open}
              onShow={(path) => setTarget({ path, isQuiet: true })}
            />
          </FragmentsOfMachine>
        </div>
        <div className="config-json">
          <JsonSide
            isShown={side === 'json'}
            text={draft}
            first={start.text}
            shown={opened}
            schema={schema}
            problems={problems}
            target={target}
            onChange={config.setDraft}
            onSave={() => void review()}
          />
          <SavedSecrets draft={draft} />
          <ProblemList ref={problemBox} problems={problems} onShow={show} />
        </div>
        <div className="config-foot">
          <DraftNotes config={config} newest={newest} isReviewing={isReviewing} reload={reload} />
          {(reviewError ?? checks.error) && <FailureNote error={reviewError ?? checks.error} />}
          <EditorActions
            isDirty={isDirty}
            onFormat={() => open(formatJson(draft))}
            onDiscard={config.discard}
            onReview={() => void review()}
          />
        </div>
        {isReviewing && <Review config={config} machine={machine} problems={problems} onSave={save} onClose={close} />}
      </div>
    </RevealSecrets>
  );
}

interface ReviewProps {
  config: ConfigDraft;
  machine: MachineView;
  problems: readonly ConfigProblem[];
  onSave: () => void;
  onClose: () => void;
}
function Review({ config, machine, problems, onSave, onClose }: ReviewProps) {
  const { base, draft, secretsOf } = config;
  const before = useShown(machine.partId, secretsOf === undefined ? undefined : base.revision);
  const restored = useShown(machine.partId, secretsOf);
  return (
    <SaveDialog
      before={base.text}
      after={comparedText({ text: base.text, secrets: before }, { text: draft, secrets: restored })}
      comment={config.comment}
      onComment={config.setComment}
      machineName={machine.name}
      problems={problems.filter((one) => !isError(one) && !one.isReported)}
      error={config.saveError}
      isConflict={config.isConflict}
      isSaving={config.isSaving}
      onSave={onSave}
      onClose={onClose}
    />
  );
}

/** The marks of the secrets of a revision. Without one, no query: that of revision 0 is the one that the page opens with. */
const useShown = (partId: string, revision: bigint | undefined) =>
  useQuery(
    FleetService.method.getConfig,
    revision === undefined || revision === 0n ? skipToken : { partId, revision },
    {
      staleTime: Infinity,
    },
  ).data?.secrets;

/** What a narrow screen shows: it has no room for both. */
type Side = 'form' | 'json';

function SideChoice(props: { side: Side; onChange: (side: Side) => void; children: ReactNode }) {
  const { side, onChange, children } = props;
  return (
    <div className="config-head">
      {children}
      <div className="segments config-sides" role="group" aria-label="View">
        {(['form', 'json'] as const).map((one) => (
          <button key={one} type="button" className="segment" aria-pressed={side === one} onClick={() => onChange(one)}>
            {one === 'form' ? 'Form' : 'JSON'}
          </button>
        ))}
      </div>
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
