import { useMutation, useQuery } from '@connectrpc/connect-query';
import { DataService } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { DatasetService } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import { MLTrainingService, ModelType } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useId, useState } from 'react';
import { BackIcon, DatasetIcon } from '../parts/icons.tsx';
import { Empty, FailureNote, Waiting } from '../parts/messages.tsx';
import { useClock } from '../parts/time.tsx';
import { useSession } from '../session.tsx';
import { versionStamp } from '../view/times.ts';
import { labelsAmong, modelNameProblem, modelTypeText } from '../view/training-jobs.ts';

const route = getRouteApi('/training/new');
const fewestLabels = 2;
const types = [ModelType.SINGLE_LABEL_CLASSIFICATION, ModelType.MULTI_LABEL_CLASSIFICATION, ModelType.OBJECT_DETECTION];
const noLabels: ReadonlySet<string> = new Set();

export function SubmitPage() {
  const { organization } = useSession();
  const list = useQuery(DatasetService.method.listDatasetsByOrganizationID, {
    organizationId: organization.organizationId,
  });
  const datasets = list.data?.datasets;
  return (
    <div className="page page-narrow">
      <title>Train a model · Platform</title>
      <div className="page-head">
        <div>
          <Link to="/training" className="crumb">
            <BackIcon />
            Training
          </Link>
          <h1>Train a model</h1>
        </div>
      </div>
      {list.error && <FailureNote error={list.error} />}
      {datasets === undefined && !list.error && <Waiting />}
      {datasets?.length === 0 && (
        <div className="card">
          <Empty icon={<DatasetIcon />} title="There is no dataset to train on">
            <p>A dataset is a set of labeled pictures.</p>
            <Link to="/datasets" className="button">
              How to make a dataset
            </Link>
          </Empty>
        </div>
      )}
      {datasets && datasets.length > 0 && <SubmitForm datasets={datasets.map(({ id, name }) => ({ id, name }))} />}
    </div>
  );
}

function SubmitForm({ datasets }: { datasets: readonly { id: string; name: string }[] }) {
  const { organization } = useSession();
  const { organizationId } = organization;
  const { dataset: wanted } = route.useSearch();
  const clock = useClock();
  const navigate = useNavigate();
  const fields = useId();
  const [datasetId, setDatasetId] = useState(
    () => datasets.find(({ id }) => id === wanted)?.id ?? datasets[0]?.id ?? '',
  );
  const [type, setType] = useState<ModelType>(ModelType.SINGLE_LABEL_CLASSIFICATION);
  const [name, setName] = useState(() => suggestion(datasets.find(({ id }) => id === datasetId)?.name ?? ''));
  const [version, setVersion] = useState(() => versionStamp(clock.wall()));
  const [left, setLeft] = useState(noLabels);
  const [isTried, setTried] = useState(false);
  const tags = useQuery(DataService.method.tagsByFilter, { filter: { organizationIds: [organizationId], datasetId } });
  const labels = labelsAmong(tags.data?.tags ?? []);
  const chosen = labels.filter((label) => !left.has(label));
  const submission = useMutation(MLTrainingService.method.submitTrainingJob, {
    onSuccess: ({ id }) => navigate({ to: '/training/$jobId', params: { jobId: id } }),
  });
  const nameProblem = modelNameProblem(name);
  const labelProblem = chosen.length < fewestLabels ? `Choose at least ${fewestLabels} labels.` : undefined;
  const versionProblem = version.trim() === '' ? 'Give the version a name; it is never used twice.' : undefined;
  const submit = (): void => {
    setTried(true);
    if (nameProblem ?? labelProblem ?? versionProblem) return;
    submission.mutate({
      organizationId,
      datasetId,
      modelName: name,
      modelVersion: version.trim(),
      modelType: type,
      tags: chosen,
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
        <div className="field">
          <label htmlFor={`${fields}-dataset`}>Dataset</label>
          <select
            id={`${fields}-dataset`}
            className="select"
            value={datasetId}
            onChange={(event) => (setDatasetId(event.target.value), setLeft(noLabels))}
          >
            {datasets.map((one) => (
              <option key={one.id} value={one.id}>
                {one.name}
              </option>
            ))}
          </select>
          <p className="field-hint">The job takes it as it is now; later changes don’t touch the job.</p>
        </div>
        <div className="field">
          <label htmlFor={`${fields}-type`}>Type</label>
          <select
            id={`${fields}-type`}
            className="select"
            value={type}
            onChange={(event) => setType(types.find((one) => String(one) === event.target.value) ?? type)}
          >
            {[
              ModelType.SINGLE_LABEL_CLASSIFICATION,
              ModelType.MULTI_LABEL_CLASSIFICATION,
              ModelType.OBJECT_DETECTION,
            ].map((one) => (
              <option key={one} value={one}>
                {modelTypeText(one)}
              </option>
            ))}
          </select>
        </div>
        <TextField
          id={`${fields}-name`}
          label="Model name"
          value={name}
          onChange={setName}
          problem={isTried ? nameProblem : undefined}
          hint="Versions of the same name follow each other."
        />
        <TextField
          id={`${fields}-version`}
          label="Model version"
          value={version}
          onChange={setVersion}
          problem={isTried ? versionProblem : undefined}
          hint="Never used twice, not even after a failure."
        />
      </div>
      <fieldset className="fields">
        <legend>Labels</legend>
        {tags.isPending ? (
          <p className="soft small">Loading …</p>
        ) : labels.length === 0 ? (
          <p className="soft small">
            This dataset has no labeled pictures yet:{' '}
            <Link to="/datasets/$datasetId" params={{ datasetId }}>
              add some
            </Link>
            .
          </p>
        ) : (
          <div className="row">
            {labels.map((label) => (
              <label key={label} className="choice">
                <input type="checkbox" checked={!left.has(label)} onChange={() => toggle(label)} />
                {label}
              </label>
            ))}
          </div>
        )}
        {isTried && labelProblem && <p className="field-wrong">{labelProblem}</p>}
      </fieldset>
      {tags.error && <FailureNote error={tags.error} />}
      {submission.error && <FailureNote error={submission.error} />}
      <div className="dialog-foot">
        <button type="submit" className="button button-main" disabled={submission.isPending}>
          {submission.isPending ? 'Submitting …' : 'Start training'}
        </button>
      </div>
    </form>
  );
}

interface TextFieldProps {
  id: string;
  label: string;
  value: string;
  onChange: (value: string) => void;
  problem: string | undefined;
  hint: string;
}
const TextField = ({ id, label, value, onChange, problem, hint }: TextFieldProps) => (
  <div className="field">
    <label htmlFor={id}>{label}</label>
    <input
      id={id}
      className="input"
      value={value}
      autoComplete="off"
      onChange={(event) => onChange(event.target.value)}
      aria-invalid={problem !== undefined}
      aria-describedby={`${id}-hint`}
    />
    <p id={`${id}-hint`} className={problem === undefined ? 'field-hint' : 'field-wrong'}>
      {problem ?? hint}
    </p>
  </div>
);

/** A model name made of a dataset's name. */
const suggestion = (name: string): string =>
  name.replace(/[^A-Za-z0-9._-]+/g, '-').replace(/^[^A-Za-z0-9]+|-+$/g, '') || 'model';
