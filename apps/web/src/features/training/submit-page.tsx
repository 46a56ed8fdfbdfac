import { DatasetService } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useState } from 'react';
import { DatasetIcon } from '../../ui/icons.tsx';
import { BackLink, PageHead } from '../../ui/layout.tsx';
import { EmptyState, FailureNote, Loading } from '../../ui/messages.tsx';
import { usePagedList } from '../../ui/paged-list.tsx';
import { useSession } from '../../entities/session/session.tsx';
import { SubmitBuiltIn } from './submit-built-in.tsx';
import { SubmitScript } from './submit-script.tsx';
import '../../ui/style/training.css';

const route = getRouteApi('/training/new');

export interface DatasetChoice {
  id: string;
  name: string;
}
export interface SubmitProps {
  datasets: readonly DatasetChoice[];
  datasetId: string;
  onDataset: (id: string) => void;
}

export function SubmitPage() {
  const { organizationId } = useSession().organization;
  const { dataset: wanted, script } = route.useSearch();
  const list = usePagedList(
    DatasetService.method.listDatasetsByOrganizationID,
    (pageToken) => ({ organizationId, pageToken }),
    { isWhole: true },
  );
  const datasets = list.pages?.flatMap((page) => page.datasets);
  const [chosen, setChosen] = useState(wanted);
  const datasetId = datasets?.find(({ id }) => id === chosen)?.id ?? datasets?.[0]?.id ?? '';
  const props = { datasets: datasets ?? [], datasetId, onDataset: setChosen };
  const isScript = script !== undefined;
  return (
    <div className="page page-narrow">
      <title>Train a model · Platform</title>
      <PageHead back={<BackLink to="/training">Training</BackLink>} title="Train a model" />
      {list.error && <FailureNote error={list.error} />}
      {datasets === undefined && !list.error && <Loading />}
      {datasets?.length === 0 && (
        <div className="card">
          <EmptyState icon={<DatasetIcon />} title="There is no dataset to train on">
            <p>A dataset is a set of labeled images.</p>
            <Link to="/datasets" className="button">
              How to make a dataset
            </Link>
          </EmptyState>
        </div>
      )}
      {datasets && datasets.length > 0 && (
        <>
          <WayOfTraining datasetId={datasetId} script={script} />
          {isScript ? <SubmitScript {...props} wanted={script} /> : <SubmitBuiltIn {...props} />}
        </>
      )}
    </div>
  );
}

function WayOfTraining({ datasetId, script }: { datasetId: string; script: string | undefined }) {
  const isScript = script !== undefined;
  return (
    <nav aria-label="Way of training" className="row">
      <Link
        to="/training/new"
        search={{ dataset: datasetId }}
        replace
        className="choice choice-link"
        {...(isScript ? {} : { 'aria-current': 'page' })}
      >
        Built-in
      </Link>
      <Link
        to="/training/new"
        search={{ dataset: datasetId, script: script ?? '' }}
        replace
        className="choice choice-link"
        {...(isScript ? { 'aria-current': 'page' } : {})}
      >
        Training script
      </Link>
    </nav>
  );
}
