import { type BuiltInKind, modelKinds } from '@platform/contract/job/model-kinds';
import { Link } from '@tanstack/react-router';
import { useSession } from '../../entities/session/session.tsx';
import { assessReadiness, type Readiness } from '../../entities/dataset/dataset-readiness.ts';
import { useLabelCounts, useLabelled } from '../../entities/dataset/label-counts.ts';
import { useQuery } from '@connectrpc/connect-query';
import { MLTrainingService } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { FailureNote, Note } from '../../ui/messages.tsx';
import { previewSplit } from './split-preview.ts';

/** The labels of a dataset that a training of this kind uses, and whether they suffice for it. */
export function useLabelChoice(datasetId: string, kind: BuiltInKind, excluded: ReadonlySet<string>) {
  const { organizationId } = useSession().organization;
  const { labelSource } = modelKinds[kind];
  const { data: counts, error } = useLabelCounts(organizationId, datasetId, labelSource);
  const chosen = (counts?.labels ?? []).map(({ label }) => label).filter((label) => !excluded.has(label));
  const labelled = useLabelled(organizationId, datasetId, labelSource, chosen);
  return {
    kind,
    labelSource,
    labels: counts?.labels,
    chosen,
    readiness: counts && assessReadiness(kind, counts, new Set(chosen), labelled),
    error,
  };
}

interface LabelChoiceProps {
  datasetId: string;
  choice: ReturnType<typeof useLabelChoice>;
  onToggle: (label: string) => void;
}
export function LabelChoice({ datasetId, choice, onToggle }: LabelChoiceProps) {
  const { kind, labels, labelSource, readiness, error } = choice;
  const chosen = new Set(choice.chosen);
  return (
    <>
      <fieldset className="fields">
        <legend>Labels</legend>
        {labels === undefined ? (
          !error && <p className="soft small">Counting …</p>
        ) : labels.length === 0 ? (
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
            {labels.map(({ label, images }) => (
              <label key={label} className="choice">
                <input type="checkbox" checked={chosen.has(label)} onChange={() => onToggle(label)} />
                {label} <span className="soft numbers">{images}</span>
              </label>
            ))}
          </div>
        )}
        {readiness && labels && labels.length > 0 && <ReadinessHints readiness={readiness} />}
      </fieldset>
      {readiness?.problems.length === 0 && <SplitPreview datasetId={datasetId} kind={kind} labels={choice.chosen} />}
    </>
  );
}

const ReadinessHints = ({ readiness: { problems, advice } }: { readiness: Readiness }) => (
  <div className="stack-tight" aria-live="polite">
    {problems.map((text) => (
      <p key={text} className="field-wrong">
        {text}
      </p>
    ))}
    {advice.map((text) => (
      <p key={text} className="field-hint">
        {text}
      </p>
    ))}
  </div>
);

interface SplitPreviewProps {
  datasetId: string;
  kind: BuiltInKind;
  /** The labels to learn. */
  labels: readonly string[];
}

/** How the server would split the dataset for this training, and what that means for the score. */
function SplitPreview({ datasetId, kind, labels }: SplitPreviewProps) {
  const { organization } = useSession();
  const { data, error } = useQuery(
    MLTrainingService.method.checkTrainingData,
    {
      organizationId: organization.organizationId,
      datasetId,
      modelType: modelKinds[kind].modelType,
      tags: [...labels],
    },
    { enabled: datasetId !== '' && labels.length > 0, staleTime: 0 },
  );
  const preview = data && previewSplit(data);
  return (
    <fieldset className="fields">
      <legend>Training and test images</legend>
      <div className="stack-tight" aria-live="polite">
        {!preview && !error && <p className="soft small">Counting …</p>}
        {error && <FailureNote error={error} />}
        {preview?.problem && <p className="field-wrong">{preview.problem}</p>}
        {preview?.lines.map((text) => (
          <p key={text} className="small">
            {text}
          </p>
        ))}
        {preview && preview.warnings.length > 0 && (
          <Note tone="warn">
            {preview.warnings.map((text) => (
              <p key={text}>{text}</p>
            ))}
          </Note>
        )}
      </div>
    </fieldset>
  );
}
