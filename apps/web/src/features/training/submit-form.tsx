import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { ReactNode } from 'react';
import { SelectField, TextField } from '../../ui/fields.tsx';
import { FailureNote } from '../../ui/messages.tsx';
import { useClock } from '../../ui/time.tsx';
import { versionStamp } from '../../ui/times.ts';
import { modelNameProblem } from '../../entities/training-job/training-jobs.ts';
import { limitsProblem, resourcesOf, useLimits } from './submit-limits.tsx';
import type { SubmitProps } from './submit-page.tsx';

/** The fields that every training job has: name and version of its model, and its limits. */
export function useJobFields(suggestName: () => string) {
  const clock = useClock();
  const [name, setName] = useState(suggestName);
  const [version, setVersion] = useState(() => versionStamp(clock.wall()));
  const [limits, setLimits] = useLimits();
  const [isTried, setTried] = useState(false);
  const nameProblem = modelNameProblem(name);
  const versionProblem = version.trim() === '' ? 'Give the version a name; it is never used twice.' : undefined;
  return {
    name: { value: name, onChange: setName, problem: isTried ? nameProblem : undefined },
    version: { value: version, onChange: setVersion, problem: isTried ? versionProblem : undefined },
    limits: { limits, onChange: setLimits },
    /** Whether the user tried to submit: problems show from then on. */
    isTried,
    /** Returns whether all fields are valid, and shows their problems. */
    validate: (): boolean => {
      setTried(true);
      return (nameProblem ?? versionProblem ?? limitsProblem(limits)) === undefined;
    },
    /** The fields as the request carries them. */
    request: { modelName: name, modelVersion: version.trim(), resources: resourcesOf(limits) },
  };
}

export const DatasetField = ({ datasets, datasetId, onDataset, hint }: SubmitProps & { hint: string }) => (
  <SelectField
    label="Dataset"
    value={datasetId}
    onChange={onDataset}
    options={datasets.map((one) => ({ value: one.id, text: one.name }))}
    hint={hint}
  />
);

interface ModelVersionFieldsProps {
  fields: ReturnType<typeof useJobFields>;
  nameHint: string;
}
export const ModelVersionFields = ({ fields, nameHint }: ModelVersionFieldsProps) => (
  <>
    <TextField label="Model name" {...fields.name} hint={nameHint} />
    <TextField label="Model version" {...fields.version} hint="Never used twice, not even after a failure." />
  </>
);

/** Opens the page of a job that was just submitted. */
export function useOpenJob() {
  const navigate = useNavigate();
  return ({ id }: { id: string }) => navigate({ to: '/training/$jobId', params: { jobId: id } });
}

interface SubmitFormProps {
  onSubmit: () => void;
  isPending: boolean;
  error: unknown;
  children: ReactNode;
}
export const SubmitForm = ({ onSubmit, isPending, error, children }: SubmitFormProps) => (
  <form
    className="card card-body"
    noValidate
    onSubmit={(event) => {
      event.preventDefault();
      onSubmit();
    }}
  >
    {children}
    {error ? <FailureNote error={error} /> : null}
    <div className="dialog-footer">
      <button type="submit" className="button button-main" disabled={isPending}>
        {isPending ? 'Submitting …' : 'Start training'}
      </button>
    </div>
  </form>
);
