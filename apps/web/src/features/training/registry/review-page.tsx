import { useMutation, useQuery } from '@connectrpc/connect-query';
import { DatasetService } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import type { DoubtfulLabel, NearCopies } from '@platform/contract/gen/platform/suggestions/v1/suggestions_pb';
import { SuggestionService } from '@platform/contract/gen/platform/suggestions/v1/suggestions_pb';
import { PackageService, PackageType } from '@platform/contract/gen/platform/app/packages/v1/packages_pb';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { SelectField } from '../../../ui/fields.tsx';
import { BackLink, Card, PageHead } from '../../../ui/layout.tsx';
import { FailureNote, Loading, TruncatedNote } from '../../../ui/messages.tsx';
import { usePagedList } from '../../../ui/paged-list.tsx';
import { useSession } from '../../../entities/session/session.tsx';
import { formatCount, percent } from '../../../ui/quantities.ts';
import { listModels } from '../../../entities/registry/registry.ts';
import { isolateText } from '../../../ui/user-text.ts';
import '../../../ui/style/training.css';

const route = getRouteApi('/datasets/$datasetId/review');

/** Starts predictions for a dataset, and lists what their results say about its labels. */
export function ReviewPage() {
  const { datasetId } = route.useParams();
  const { data } = useQuery(DatasetService.method.listDatasetsByIDs, { ids: [datasetId] });
  const review = useQuery(SuggestionService.method.reviewLabels, { datasetId });
  const name = data?.datasets[0]?.name ?? 'Dataset';
  return (
    <div className="page">
      <title>{`Review ${isolateText(name)} · Platform`}</title>
      <PageHead
        back={
          <BackLink to="/datasets/$datasetId" params={{ datasetId }}>
            {name}
          </BackLink>
        }
        title="Suggestions and review"
        lead="A model predicts the images of this dataset. Its results are suggestions: no training uses one until you accept it."
      >
        <Link to="/datasets/$datasetId/label" params={{ datasetId }} className="button" preload={false}>
          Label images
        </Link>
      </PageHead>
      <StartPrediction datasetId={datasetId} />
      {review.error && <FailureNote error={review.error} />}
      {review.isPending && <Loading />}
      {review.data && (
        <>
          <TruncatedNote isTruncated={review.data.truncated} what="doubtful labels or near copies" />
          <Doubtful datasetId={datasetId} labels={review.data.doubtful} />
          <Copies datasetId={datasetId} groups={review.data.nearCopies} />
        </>
      )}
    </div>
  );
}

/** Versions that built-in trainers made, newest first. */
function useModels(): { value: string; text: string; name: string; version: string }[] | undefined {
  const { organizationId } = useSession().organization;
  const list = usePagedList(
    PackageService.method.listPackages,
    (pageToken) => ({ organizationId, type: PackageType.ML_MODEL, pageToken, pageSize: 1000 }),
    { isWhole: true },
  );
  const models = list.pages && listModels(list.pages.flatMap((page) => page.packages));
  return models?.flatMap(({ versions }) =>
    versions.flatMap(({ name, version, origin }) =>
      origin && origin.script === ''
        ? [{ value: JSON.stringify([name, version]), text: `${name} ${version}`, name, version }]
        : [],
    ),
  );
}

function StartPrediction({ datasetId }: { datasetId: string }) {
  const { organization } = useSession();
  const navigate = useNavigate();
  const models = useModels();
  const [chosen, setChosen] = useState('');
  const [isWhole, setWhole] = useState(true);
  const start = useMutation(SuggestionService.method.startPrediction, {
    onSuccess: ({ jobId }) => navigate({ to: '/training/$jobId', params: { jobId } }),
  });
  const model = models?.find(({ value }) => value === chosen) ?? models?.[0];
  if (models?.length === 0)
    return (
      <p className="soft">
        Suggestions need a model that a built-in trainer made.{' '}
        <Link to="/training/new" search={{ dataset: datasetId }}>
          Train one
        </Link>{' '}
        on the images that are labeled already.
      </p>
    );
  return (
    <form
      className="card"
      onSubmit={(event) => {
        event.preventDefault();
        if (!model) return;
        const { name: modelName, version: modelVersion } = model;
        const { organizationId } = organization;
        start.mutate({ organizationId, datasetId, modelName, modelVersion, unlabeledOnly: !isWhole });
      }}
    >
      <div className="card-body stack">
        <SelectField label="Model" value={model?.value ?? ''} options={models ?? []} onChange={setChosen} />
        <div className="row">
          <label className="choice">
            <input type="checkbox" checked={isWhole} onChange={() => setWhole(!isWhole)} />
            Labeled images, too, to find doubtful labels
          </label>
        </div>
        {start.error && <FailureNote error={start.error} />}
        <div className="row">
          <button type="submit" className="button button-main" disabled={!model || start.isPending}>
            Make suggestions
          </button>
        </div>
      </div>
    </form>
  );
}

function disagreement({ label, labelScore, predicted, predictedScore }: DoubtfulLabel): string {
  if (label === '') return `lacks ${isolateText(predicted)}, ${percent(predictedScore, 0)}`;
  if (predicted === '') return `the model does not find it, ${percent(labelScore, 0)}`;
  return `${isolateText(predicted)}, ${percent(predictedScore, 0)}`;
}

interface ImageLinkProps {
  datasetId: string;
  id: string;
  name: string;
}
const ImageLink = ({ datasetId, id, name }: ImageLinkProps) => (
  <Link to="/datasets/$datasetId/label" params={{ datasetId }} search={{ id }} preload={false}>
    {name || 'an image'}
  </Link>
);

const Doubtful = ({ datasetId, labels }: { datasetId: string; labels: readonly DoubtfulLabel[] }) => (
  <Card title={formatCount(labels.length, 'doubtful label')}>
    {labels.length === 0 ? (
      <p className="card-body soft">The model disagrees strongly with no label that it has seen.</p>
    ) : (
      <table className="table">
        <thead>
          <tr>
            <th scope="col">Image</th>
            <th scope="col">Label</th>
            <th scope="col">The model says</th>
          </tr>
        </thead>
        <tbody>
          {labels.map((one) => (
            <tr key={JSON.stringify([one.binaryDataId, one.label, one.predicted, one.box?.xMinNormalized])}>
              <td className="break">
                <ImageLink datasetId={datasetId} id={one.binaryDataId} name={one.fileName} />
              </td>
              <td className="break">{one.label === '' ? 'none' : isolateText(one.label)}</td>
              <td className="break">{disagreement(one)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    )}
  </Card>
);

const Copies = ({ datasetId, groups }: { datasetId: string; groups: readonly NearCopies[] }) => (
  <section className="card" aria-labelledby="copies">
    <div className="card-head">
      <h2 id="copies">{formatCount(groups.length, 'group')} of near copies</h2>
    </div>
    <div className="card-body stack">
      {groups.length === 0 && <p className="soft">No images are near copies of each other.</p>}
      {groups.map(({ images, labelsDiffer }) => (
        <p key={images[0]?.binaryDataId} className="break">
          {labelsDiffer && <span className="badge is-warn">different labels</span>}{' '}
          {images.map(({ binaryDataId, fileName, labels }, at) => (
            <span key={binaryDataId}>
              {at > 0 && ' · '}
              <ImageLink datasetId={datasetId} id={binaryDataId} name={fileName} />{' '}
              <span className="soft">{labels.map(isolateText).join(', ') || 'no label'}</span>
            </span>
          ))}
        </p>
      ))}
    </div>
  </section>
);
