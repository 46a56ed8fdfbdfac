import { useMutation } from '@connectrpc/connect-query';
import { MLTrainingService, ModelFramework } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { type BuiltInKind, builtInKinds, modelKinds } from '@platform/contract/job/model-kinds';
import type { RecipeName } from '@platform/contract/job/trainer-settings';
import { useState } from 'react';
import { SelectField } from '../../ui/fields.tsx';
import { FailureNote, Note } from '../../ui/messages.tsx';
import { useSession } from '../../entities/session/session.tsx';
import { toggleItem } from '../../entities/dataset/selection.ts';
import { LabelChoice, useLabelChoice } from './label-choice.tsx';
import { DatasetField, ModelVersionFields, SubmitForm, useJobFields, useOpenJob } from './submit-form.tsx';
import { LimitFields } from './submit-limits.tsx';
import type { SubmitProps } from './submit-page.tsx';

const frameworks = {
  tflite: { value: ModelFramework.TFLITE, text: 'TFLite, with ONNX beside it' },
  onnx: { value: ModelFramework.ONNX, text: 'ONNX' },
} as const;
type Framework = keyof typeof frameworks;
const noLabels: ReadonlySet<string> = new Set();

/** Trains one of the built-in model types. */
export function SubmitBuiltIn({ datasets, datasetId, onDataset }: SubmitProps) {
  const { organization } = useSession();
  const [kind, setKind] = useState<BuiltInKind>('single_label_classification');
  const [recipe, setRecipe] = useState('');
  const [framework, setFramework] = useState<Framework>();
  const [excluded, setExcluded] = useState(noLabels);
  const fields = useJobFields(() => suggestName(datasets.find(({ id }) => id === datasetId)?.name ?? ''));
  const effort = chosenRecipe(kind, recipe);
  const choice = useLabelChoice(datasetId, kind, excluded);
  const { frameworks: supported, modelType, question } = modelKinds[kind];
  const submission = useMutation(MLTrainingService.method.submitTrainingJob, { onSuccess: useOpenJob() });
  const submit = (): void => {
    if (!fields.validate() || choice.readiness?.problems.length !== 0) return;
    submission.mutate({
      ...fields.request,
      organizationId: organization.organizationId,
      datasetId,
      modelType,
      tags: choice.chosen,
      modelFramework: framework && supported.includes(framework) ? frameworks[framework].value : 0,
      arguments: effort.isDefault ? {} : { recipe: effort.value },
    });
  };
  return (
    <SubmitForm onSubmit={submit} isPending={submission.isPending} error={submission.error}>
      <div className="form-grid">
        <DatasetField
          datasets={datasets}
          datasetId={datasetId}
          onDataset={(id) => (onDataset(id), setExcluded(noLabels))}
          hint="The job takes it as it is now; later changes don’t touch the job."
        />
        <SelectField
          label="Type"
          value={kind}
          onChange={(value) => (setKind(builtInKinds.find((one) => one === value) ?? kind), setExcluded(noLabels))}
          options={builtInKinds.map((one) => ({ value: one, text: modelKinds[one].title }))}
          hint={question}
        />
        <ModelVersionFields fields={fields} nameHint="Versions of the same name follow each other." />
      </div>
      <LabelChoice
        datasetId={datasetId}
        choice={choice}
        onToggle={(label) => setExcluded((now) => toggleItem(now, label))}
      />
      <div className="form-grid">
        <SelectField label="Effort" value={effort.value} onChange={setRecipe} options={effort.options} />
        {supported.length > 1 && <FormatField supported={supported} value={framework} onChange={setFramework} />}
      </div>
      <LimitFields {...fields.limits} />
      {choice.error && <FailureNote error={choice.error} />}
      {fields.isTried && choice.readiness && choice.readiness.problems.length > 0 && (
        <Note tone="warn" isLive>
          <p>The dataset is not ready for this training: see Labels.</p>
        </Note>
      )}
    </SubmitForm>
  );
}

interface FormatFieldProps {
  supported: readonly Framework[];
  value: Framework | undefined;
  onChange: (value: Framework | undefined) => void;
}
const FormatField = ({ supported, value, onChange }: FormatFieldProps) => (
  <SelectField
    label="Format"
    value={supported.find((one) => one === value) ?? supported[0] ?? ''}
    onChange={(text) => onChange(supported.find((one) => one === text))}
    options={supported.map((one) => ({ value: one, text: frameworks[one].text }))}
  />
);

const classifierRecipes: Readonly<Record<RecipeName, string>> = {
  compact: 'Best small model',
  accurate: 'Two networks, for objects never seen',
  auto: 'The better of both, with more time',
  probe: 'First model within seconds',
};
const detectorRecipes: Readonly<Record<RecipeName, string>> = {
  ...classifierRecipes,
  accurate: 'Second network, for fewer wrong labels',
};

/** The recipes with the texts of the kind, and the selected one; the first is the default. */
function chosenRecipe(kind: BuiltInKind, selected: string) {
  const entries = Object.entries(kind === 'object_detection' ? detectorRecipes : classifierRecipes);
  const options = entries.map(([value, text]) => ({ value, text }));
  const value = options.some((one) => one.value === selected) ? selected : (options[0]?.value ?? '');
  return { value, options, isDefault: value === options[0]?.value };
}

/** Derives a model name from a dataset's name. */
const suggestName = (name: string): string =>
  name.replace(/[^A-Za-z0-9_-]+/g, '-').replace(/^[^A-Za-z0-9]+|-+$/g, '') || 'model';
