import { callUnaryMethod, useMutation, useQuery, useTransport } from '@connectrpc/connect-query';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { GetConfigResponse } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { useMemo, useRef, useState } from 'react';
import { ConfigEditor } from '../editor/config-editor.tsx';
import { FailureNote } from '../parts/messages.tsx';
import { useDebounced } from '../parts/time.tsx';
import { fromMachine, fromServer, fromText, isError, sortProblems, formatJson } from '../view/config-problems.ts';
import type { JsonSchema } from '../view/config-schema.ts';
import { failureOf } from '../view/failures.ts';
import { syntaxProblem } from '../view/json-path.ts';
import type { JsonPath } from '../view/json-path.ts';
import type { ConditionView, MachineView } from '../view/machine-status.ts';
import { ConfigState } from './config-state.tsx';
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

/** The text the editor started from. */
interface Base {
  revision: bigint;
  text: string;
}
const settleMs = 400;

export function ConfigPanel({ machine, saved, newest, schema, reload }: ConfigPanelProps) {
  const { partId, received } = machine;
  // As text: the page is refreshed every second, and equal conditions must not redraw the marks.
  const conditions = JSON.stringify(machine.conditions);
  const transport = useTransport();
  const [base, setBase] = useState<Base>(() => ({ revision: saved.revision, text: saved.configJson }));
  const [opened, setOpened] = useState({ text: saved.configJson, count: 0 });
  const [draft, setDraft] = useState(saved.configJson);
  const [target, setTarget] = useState<{ path: JsonPath }>();
  const [isReviewing, setReviewing] = useState(false);
  const [justSaved, setJustSaved] = useState<bigint>();
  const problemBox = useRef<HTMLElement>(null);

  const settled = useDebounced(draft, settleMs);
  const isJson = useMemo(() => syntaxProblem(settled) === undefined, [settled]);
  const check = useQuery(
    FleetService.method.checkConfig,
    { configJson: settled, partId },
    { enabled: isJson, staleTime: 60_000, gcTime: 60_000, refetchOnWindowFocus: false },
  );
  const save = useMutation(FleetService.method.saveConfig);
  const refused = save.error ? failureOf(save.error) : undefined;
  const isConflict = refused?.code === 'CONFIG_CONFLICT' || (newest > base.revision && newest !== justSaved);

  // The server knows every rule; until it has answered for this text, the schema validates.
  const problems = useMemo(() => {
    const isChecked = check.data !== undefined && settled === draft;
    const found = isChecked ? fromServer(check.data.problems) : fromText(draft, schema);
    // An offline machine reports about the last configuration that it received, which may be an older one.
    const isReported = base.revision === newest && received >= newest;
    const reported = isReported
      ? fromMachine(JSON.parse(conditions) as ConditionView[], { draft, saved: base.text, known: found })
      : [];
    return sortProblems([...found, ...reported]);
  }, [check.data, settled, draft, schema, base, newest, received, conditions]);
  const isDirty = draft !== base.text;

  const open = (text: string): void => {
    setOpened(({ count }) => ({ text, count: count + 1 }));
    setDraft(text);
  };
  const review = async (): Promise<void> => {
    save.reset();
    if (!isDirty) return;
    const isWrong =
      fromText(draft, undefined).some(isError) ||
      fromServer(
        (await callUnaryMethod(transport, FleetService.method.checkConfig, { configJson: draft, partId })).problems,
      ).some(isError);
    if (isWrong) problemBox.current?.focus();
    else setReviewing(true);
  };
  const confirm = async (): Promise<void> => {
    const { revision } = await save.mutateAsync({ partId, configJson: draft, expectedRevision: base.revision });
    setBase({ revision, text: draft });
    setJustSaved(revision);
    setReviewing(false);
  };
  const takeTheirs = async (keepMine: boolean): Promise<void> => {
    const theirs = await reload();
    if (theirs === undefined) return;
    save.reset();
    setReviewing(false);
    setBase({ revision: theirs.revision, text: theirs.configJson });
    if (!keepMine) open(theirs.configJson);
  };

  return (
    <div className="config-panel">
      <div className="stack">
        <ConfigState machine={machine} base={base.revision} isDirty={isDirty} justSaved={justSaved} />
        {isConflict && !isReviewing && (
          <Conflict
            isDirty={isDirty}
            newest={newest}
            onTheirs={() => void takeTheirs(false)}
            onMine={() => void takeTheirs(true)}
          />
        )}
        {check.error && <FailureNote error={check.error} />}
        {fromText(draft, undefined).length === 0 && (
          <VersionMenus draft={draft} platform={machine.platform} onChange={open} />
        )}
        <div className="card editor-card">
          <ConfigEditor
            key={opened.count}
            initial={opened.text}
            schema={schema}
            problems={problems}
            target={target}
            onChange={setDraft}
            onSave={() => void review()}
          />
        </div>
        <div className="row config-panel-actions">
          <button type="button" className="button" onClick={() => open(formatJson(draft))}>
            Tidy up
          </button>
          <button type="button" className="button" disabled={!isDirty} onClick={() => open(base.text)}>
            Discard
          </button>
          <button type="button" className="button button-main push" disabled={!isDirty} onClick={() => void review()}>
            Review and save …
          </button>
        </div>
      </div>
      <ProblemList ref={problemBox} problems={problems} onShow={({ path }) => setTarget({ path })} />
      {isReviewing && (
        <SaveDialog
          before={base.text}
          after={draft}
          machineName={machine.name}
          problems={problems.filter((one) => !isError(one) && !one.isReported)}
          error={save.error}
          isConflict={isConflict}
          isSaving={save.isPending}
          onSave={() => void confirm().catch(() => undefined)}
          onClose={() => setReviewing(false)}
        />
      )}
    </div>
  );
}

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
