import { useMutation, useQuery } from '@connectrpc/connect-query';
import { MLTrainingService } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { PackageType } from '@platform/contract/gen/platform/app/packages/v1/packages_pb';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { Link, useNavigate } from '@tanstack/react-router';
import { useId, useState } from 'react';
import { Command } from '../parts/copying.tsx';
import { ModelIcon } from '../parts/icons.tsx';
import { EmptyState, FailureNote, Note, Loading } from '../parts/messages.tsx';
import { useClock } from '../parts/time.tsx';
import { useSession } from '../session.tsx';
import { argumentLines, listScripts } from '../view/scripts.ts';
import type { ScriptView } from '../view/scripts.ts';
import { versionStamp } from '../view/times.ts';
import { modelNameProblem } from '../view/training-jobs.ts';
import { SelectField, TextField } from '../parts/fields.tsx';
import { LimitFields, limitsProblem, resourcesOf, useLimits } from './submit-limits.tsx';
import type { SubmitProps } from './submit-page.tsx';

const uploadCommand = 'npm run -s platform -- training-script upload --path FOLDER --name NAME';

/** Runs a training script of the registry. */
export function SubmitScript(props: SubmitProps & { wanted: string }) {
  const { organization } = useSession();
  const list = useQuery(AppService.method.listRegistryItems, {
    organizationId: organization.organizationId,
    types: [PackageType.ML_TRAINING],
  });
  const scripts = list.data && listScripts(list.data.items).filter((one) => one.versions.length > 0);
  if (list.error) return <FailureNote error={list.error} />;
  if (scripts === undefined) return <Loading />;
  if (scripts.length === 0)
    return (
      <div className="card">
        <EmptyState icon={<ModelIcon />} title="There is no training script yet">
          <p>A script is a Python project with model/training.py. Upload its folder:</p>
          <Command text={uploadCommand} />
        </EmptyState>
      </div>
    );
  return <ScriptForm {...props} scripts={scripts} />;
}

function ScriptForm({
  datasets,
  datasetId,
  onDataset,
  wanted,
  scripts,
}: SubmitProps & { wanted: string; scripts: readonly ScriptView[] }) {
  const { organization } = useSession();
  const clock = useClock();
  const navigate = useNavigate();
  const field = useId();
  const [itemId, setItemId] = useState(
    () => (scripts.find((one) => one.itemId === wanted) ?? scripts[0])?.itemId ?? '',
  );
  const script = scripts.find((one) => one.itemId === itemId);
  const [scriptVersion, setScriptVersion] = useState('latest');
  const [container, setContainer] = useState('');
  const [args, setArgs] = useState('');
  const [name, setName] = useState(() => `${(script?.name ?? 'model').slice(0, 120)}-model`);
  const [version, setVersion] = useState(() => versionStamp(clock.wall()));
  const [limits, setLimits] = useLimits();
  const [isTried, setTried] = useState(false);
  const containers = useQuery(MLTrainingService.method.listSupportedContainers, {});
  const offered = Object.values(containers.data?.containerMap ?? {}).toSorted((a, b) => a.key.localeCompare(b.key));
  const submission = useMutation(MLTrainingService.method.submitCustomTrainingJob, {
    onSuccess: ({ id }) => navigate({ to: '/training/$jobId', params: { jobId: id } }),
  });
  const parsed = argumentLines(args);
  const nameProblem = modelNameProblem(name);
  const versionProblem = version.trim() === '' ? 'Give the version a name; it is never used twice.' : undefined;
  const submit = (): void => {
    setTried(true);
    if (nameProblem ?? versionProblem ?? parsed.problem ?? limitsProblem(limits)) return;
    submission.mutate({
      organizationId: organization.organizationId,
      datasetId,
      registryItemId: itemId,
      registryItemVersion: scriptVersion,
      modelName: name,
      modelVersion: version.trim(),
      arguments: parsed.args,
      containerVersion: container,
      resources: resourcesOf(limits),
    });
  };
  return (
    <form
      className="card card-body"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      {containers.data && offered.length === 0 && (
        <Note tone="warn">
          <p>
            No runner offers an environment for scripts. <Link to="/runners">Runners</Link> says why.
          </p>
        </Note>
      )}
      <div className="form-grid">
        <SelectField
          label="Dataset"
          value={datasetId}
          onChange={onDataset}
          options={datasets.map((one) => ({ value: one.id, text: one.name }))}
          hint="The script gets all of its images and labels, as they are now."
        />
        <SelectField
          label="Script"
          value={itemId}
          onChange={(id) => (setItemId(id), setScriptVersion('latest'))}
          options={scripts.map((one) => ({ value: one.itemId, text: one.name }))}
          hint={script?.description || undefined}
        />
        <SelectField
          label="Version of the script"
          value={scriptVersion}
          onChange={setScriptVersion}
          options={[
            { value: 'latest', text: `latest (${script?.versions[0]?.version ?? ''})` },
            ...(script?.versions ?? []).map((one) => ({ value: one.version, text: one.version })),
          ]}
        />
        <SelectField
          label="Environment"
          value={container}
          onChange={setContainer}
          options={[
            { value: '', text: 'any that a runner offers' },
            ...offered.map((one) => ({
              value: one.key,
              text: `${one.key} ${one.description && `· ${one.description}`}`,
            })),
          ]}
        />
        <TextField
          label="Model name"
          value={name}
          onChange={setName}
          problem={isTried ? nameProblem : undefined}
          hint="Another name than the script’s."
        />
        <TextField
          label="Model version"
          value={version}
          onChange={setVersion}
          problem={isTried ? versionProblem : undefined}
          hint="Never used twice, not even after a failure."
        />
      </div>
      <div className="field">
        <label htmlFor={field}>Arguments</label>
        <textarea
          id={field}
          className="input input-lines mono"
          rows={3}
          value={args}
          spellCheck={false}
          placeholder={'epochs=20\nlearning_rate=0.001'}
          onChange={(event) => setArgs(event.target.value)}
          aria-invalid={parsed.problem !== undefined}
          aria-describedby={`${field}-hint`}
        />
        <p id={`${field}-hint`} className={parsed.problem === undefined ? 'field-hint' : 'field-wrong'}>
          {parsed.problem ?? 'One key=value per line; the script gets each as --key=value.'}
        </p>
      </div>
      <LimitFields limits={limits} onChange={setLimits} />
      {submission.error && <FailureNote error={submission.error} />}
      <div className="dialog-footer">
        <button type="submit" className="button button-main" disabled={submission.isPending}>
          {submission.isPending ? 'Submitting …' : 'Start training'}
        </button>
      </div>
    </form>
  );
}
