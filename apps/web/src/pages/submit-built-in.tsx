import { useMutation } from '@connectrpc/connect-query';
import { MLTrainingService, ModelFramework } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { type BuiltInKind, builtInKinds, modelKinds } from '@platform/contract/model-kinds';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { FailureNote, Note } from '../parts/messages.tsx';
import { useClock } from '../parts/time.tsx';
import { useSession } from '../session.tsx';
import { judge } from '../view/material.ts';
import { versionStamp } from '../view/times.ts';
import { modelNameProblem } from '../view/training-jobs.ts';
import { useLabelCounts, useLabelled } from './label-counts.ts';
import { SelectField, TextField } from '../parts/fields.tsx';
import { LimitFields, limitsProblem, resourcesOf, useLimits } from './submit-limits.tsx';
import type { SubmitProps } from './submit-page.tsx';

const frameworks = {
  tflite: { value: ModelFramework.TFLITE, text: 'TFLite, with ONNX beside it' },
  onnx: { value: ModelFramework.ONNX, text: 'ONNX' },
} as const;
const noLabels: ReadonlySet<string> = new Set();

/** Trains one of the built-in model types. */
export function SubmitBuiltIn({ datasets, datasetId, onDataset }: SubmitProps) {
  const { organization } = useSession();
  const { organizationId } = organization;
  const clock = useClock();
  const navigate = useNavigate();
  const [kind, setKind] = useState<BuiltInKind>('single_label_classification');
  const [recipe, setRecipe] = useState('auto');
  const [framework, setFramework] = useState('');
  const [name, setName] = useState(() => suggestion(datasets.find(({ id }) => id === datasetId)?.name ?? ''));
  const [version, setVersion] = useState(() => versionStamp(clock.wall()));
  const [left, setLeft] = useState(noLabels);
  const [limits, setLimits] = useLimits();
  const [isTried, setTried] = useState(false);
  const { labelSource, frameworks: made, modelType, question } = modelKinds[kind];
  const counts = useLabelCounts(organizationId, datasetId, labelSource);
  const material = counts.data;
  const chosen = (material?.labels ?? []).map(({ label }) => label).filter((label) => !left.has(label));
  const labelled = useLabelled(organizationId, datasetId, labelSource, chosen);
  const judgement = material && judge(kind, material, new Set(chosen), labelled);
  const submission = useMutation(MLTrainingService.method.submitTrainingJob, {
    onSuccess: ({ id }) => navigate({ to: '/training/$jobId', params: { jobId: id } }),
  });
  const nameProblem = modelNameProblem(name);
  const versionProblem = version.trim() === '' ? 'Give the version a name; it is never used twice.' : undefined;
  const submit = (): void => {
    setTried(true);
    if (nameProblem ?? versionProblem ?? limitsProblem(limits)) return;
    if (judgement === undefined || judgement.problems.length > 0) return;
    submission.mutate({
      organizationId,
      datasetId,
      modelName: name,
      modelVersion: version.trim(),
      modelType,
      tags: chosen,
      modelFramework: made.find((one) => one === framework) ? frameworks[framework as 'onnx'].value : 0,
      arguments: recipe === 'auto' ? {} : { recipe },
      resources: resourcesOf(limits),
    });
  };
  const toggle = (label: string): void =>
    setLeft((now) => (now.has(label) ? new Set([...now].filter((one) => one !== label)) : new Set([...now, label])));

  return (
    <form
      className="card card-body"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <div className="form-grid">
        <SelectField
          label="Dataset"
          value={datasetId}
          onChange={(id) => (onDataset(id), setLeft(noLabels))}
          options={datasets.map((one) => ({ value: one.id, text: one.name }))}
          hint="The job takes it as it is now; later changes don’t touch the job."
        />
        <SelectField
          label="Type"
          value={kind}
          onChange={(value) => (setKind(builtInKinds.find((one) => one === value) ?? kind), setLeft(noLabels))}
          options={builtInKinds.map((one) => ({ value: one, text: modelKinds[one].title }))}
          hint={question}
        />
        <TextField
          label="Model name"
          value={name}
          onChange={setName}
          problem={isTried ? nameProblem : undefined}
          hint="Versions of the same name follow each other."
        />
        <TextField
          label="Model version"
          value={version}
          onChange={setVersion}
          problem={isTried ? versionProblem : undefined}
          hint="Never used twice, not even after a failure."
        />
      </div>
      <fieldset className="fields">
        <legend>Labels</legend>
        {material === undefined ? (
          !counts.error && <p className="soft small">Counting …</p>
        ) : material.labels.length === 0 ? (
          <p className="soft small">
            {labelSource === 'boxes'
              ? 'No image of this dataset has a box yet: '
              : 'This dataset has no labeled images yet: '}
            <Link to="/datasets/$datasetId" params={{ datasetId }}>
              add some
            </Link>
            .
          </p>
        ) : (
          <div className="row">
            {material.labels.map(({ label, images }) => (
              <label key={label} className="choice">
                <input type="checkbox" checked={!left.has(label)} onChange={() => toggle(label)} />
                {label} <span className="soft numbers">{images}</span>
              </label>
            ))}
          </div>
        )}
        {judgement && material.labels.length > 0 && (
          <div className="stack-tight" aria-live="polite">
            {judgement.problems.map((text) => (
              <p key={text} className="field-wrong">
                {text}
              </p>
            ))}
            {judgement.advice.map((text) => (
              <p key={text} className="field-hint">
                {text}
              </p>
            ))}
          </div>
        )}
      </fieldset>
      <div className="form-grid">
        <SelectField
          label="Effort"
          value={recipe}
          onChange={setRecipe}
          options={[
            { value: 'auto', text: 'Best model' },
            { value: 'probe', text: 'First model within seconds' },
          ]}
        />
        {made.length > 1 && (
          <SelectField
            label="Format"
            value={made.find((one) => one === framework) ?? made[0] ?? ''}
            onChange={setFramework}
            options={made.map((one) => ({ value: one, text: frameworks[one].text }))}
          />
        )}
      </div>
      <LimitFields limits={limits} onChange={setLimits} />
      {counts.error && <FailureNote error={counts.error} />}
      {submission.error && <FailureNote error={submission.error} />}
      {isTried && judgement && judgement.problems.length > 0 && (
        <Note tone="warn" isLive>
          <p>The dataset is not ready for this training: see Labels.</p>
        </Note>
      )}
      <div className="dialog-footer">
        <button type="submit" className="button button-main" disabled={submission.isPending}>
          {submission.isPending ? 'Submitting …' : 'Start training'}
        </button>
      </div>
    </form>
  );
}

/** Derives a model name from a dataset's name. */
const suggestion = (name: string): string =>
  name.replace(/[^A-Za-z0-9_-]+/g, '-').replace(/^[^A-Za-z0-9]+|-+$/g, '') || 'model';
