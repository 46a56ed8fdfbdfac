import { useQuery } from '@connectrpc/connect-query';
import { MLTrainingService } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { type BuiltInKind, modelKinds } from '@platform/contract/job/model-kinds';
import { FailureNote, Note } from '../../ui/messages.tsx';
import { useSession } from '../../entities/session/session.tsx';
import { previewSplit } from './split-preview.ts';

interface SplitPreviewProps {
  datasetId: string;
  kind: BuiltInKind;
  /** The labels to learn. */
  labels: readonly string[];
}

/** How the server would split the dataset for this training, and what that means for the score. */
export function SplitPreview({ datasetId, kind, labels }: SplitPreviewProps) {
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
