import { useMutation, useQuery } from '@connectrpc/connect-query';
import { MLTrainingService } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { PackageType } from '@platform/contract/gen/platform/app/packages/v1/packages_pb';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { Link } from '@tanstack/react-router';
import { useId, useState } from 'react';
import { Command } from '../../ui/copying.tsx';
import { ModelIcon } from '../../ui/icons.tsx';
import { EmptyState, FailureNote, Note, Loading } from '../../ui/messages.tsx';
import { useSession } from '../../entities/session/session.tsx';
import { argumentLines, listScripts } from './registry/scripts.ts';
import type { ScriptView } from './registry/scripts.ts';
import { SelectField } from '../../ui/fields.tsx';
import { DatasetField, ModelVersionFields, SubmitForm, useJobFields, useOpenJob } from './submit-form.tsx';
import { LimitFields } from './submit-limits.tsx';
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

type ScriptFormProps = SubmitProps & { wanted: string; scripts: readonly ScriptView[] };

function ScriptForm({ wanted, scripts, ...dataset }: ScriptFormProps) {
  const { organization } = useSession();
  const [itemId, setItemId] = useState(
    () => (scripts.find((one) => one.itemId === wanted) ?? scripts[0])?.itemId ?? '',
  );
  const script = scripts.find((one) => one.itemId === itemId);
  const [scriptVersion, setScriptVersion] = useState('latest');
  const [container, setContainer] = useState('');
  const [args, setArgs] = useState('');
  const fields = useJobFields(() => `${(script?.name ?? 'model').slice(0, 120)}-model`);
  const environments = useEnvironments();
  const submission = useMutation(MLTrainingService.method.submitCustomTrainingJob, { onSuccess: useOpenJob() });
  const parsed = argumentLines(args);
  const submit = (): void => {
    if (!fields.validate() || parsed.problem !== undefined) return;
    submission.mutate({
      ...fields.request,
      organizationId: organization.organizationId,
      datasetId: dataset.datasetId,
      registryItemId: itemId,
      registryItemVersion: scriptVersion,
      arguments: parsed.args,
      containerVersion: container,
    });
  };
  return (
    <SubmitForm onSubmit={submit} isPending={submission.isPending} error={submission.error}>
      {environments?.length === 0 && <NoEnvironment />}
      <div className="form-grid">
        <DatasetField {...dataset} hint="The script gets all of its images and labels, as they are now." />
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
          options={script ? versionOptions(script) : []}
        />
        <SelectField
          label="Environment"
          value={container}
          onChange={setContainer}
          options={[{ value: '', text: 'any that a runner offers' }, ...(environments ?? [])]}
        />
        <ModelVersionFields fields={fields} nameHint="Another name than the script’s." />
      </div>
      <ArgumentsField value={args} onChange={setArgs} problem={parsed.problem} />
      <LimitFields {...fields.limits} />
    </SubmitForm>
  );
}

/** The Python environments that runners offer, as options; undefined until the server has answered. */
function useEnvironments() {
  const { data } = useQuery(MLTrainingService.method.listSupportedContainers, {});
  return (
    data &&
    Object.values(data.containerMap)
      .toSorted((a, b) => a.key.localeCompare(b.key))
      .map(({ key, description }) => ({ value: key, text: `${key} ${description && `· ${description}`}` }))
  );
}

const NoEnvironment = () => (
  <Note tone="warn">
    <p>
      No runner offers an environment for scripts. <Link to="/runners">Runners</Link> says why.
    </p>
  </Note>
);

const versionOptions = ({ versions }: ScriptView) => [
  { value: 'latest', text: `latest (${versions[0]?.version ?? ''})` },
  ...versions.map(({ version }) => ({ value: version, text: version })),
];

interface ArgumentsFieldProps {
  value: string;
  onChange: (value: string) => void;
  problem: string | undefined;
}
function ArgumentsField({ value, onChange, problem }: ArgumentsFieldProps) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>Arguments</label>
      <textarea
        id={id}
        className="input input-lines mono"
        rows={3}
        value={value}
        spellCheck={false}
        placeholder={'epochs=20\nlearning_rate=0.001'}
        onChange={(event) => onChange(event.target.value)}
        aria-invalid={problem !== undefined}
        aria-describedby={`${id}-hint`}
      />
      <p id={`${id}-hint`} className={problem === undefined ? 'field-hint' : 'field-wrong'}>
        {problem ?? 'One key=value per line; the script gets each as --key=value.'}
      </p>
    </div>
  );
}
