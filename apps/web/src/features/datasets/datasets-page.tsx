import { useQuery } from '@connectrpc/connect-query';
import { DataService } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { type Dataset, DatasetService } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { DatasetIcon, PlusIcon } from '../../ui/icons.tsx';
import { EmptyState, FailureNote, ListSkeleton } from '../../ui/messages.tsx';
import { ShowMore, usePagedList } from '../../ui/paged-list.tsx';
import { Ago } from '../../ui/time.tsx';
import { useSession } from '../../entities/session/session.tsx';
import { formatGrouped } from '../../ui/quantities.ts';
import { msOf } from '../../ui/times.ts';
import { CreateDataset } from './create-dataset.tsx';

const refreshMs = 5000;
const pageSize = 200;

const byName = (datasets: readonly Dataset[]): Dataset[] => datasets.toSorted((a, b) => a.name.localeCompare(b.name));

export function DatasetsPage() {
  const { organization } = useSession();
  const { organizationId } = organization;
  const list = usePagedList(
    DatasetService.method.listDatasetsByOrganizationID,
    (pageToken) => ({ organizationId, pageToken, pageSize }),
    { refreshMs },
  );
  const datasets = list.pages && byName(list.pages.flatMap((page) => page.datasets));
  const [isCreating, setCreating] = useState(false);
  return (
    <div className="page">
      <title>Datasets · Platform</title>
      <div className="page-head">
        <div>
          <h1>Datasets</h1>
          <p className="soft">Labeled images to train models on.</p>
        </div>
        <button type="button" className="button button-main" onClick={() => setCreating(true)}>
          <PlusIcon />
          New dataset
        </button>
      </div>
      {list.error && <FailureNote error={list.error} />}
      <div className="card">
        {datasets === undefined ? (
          !list.error && <ListSkeleton rows={20} />
        ) : datasets.length === 0 ? (
          <EmptyState icon={<DatasetIcon />} title="No datasets yet">
            <p>
              Create one, then add a folder that has one folder of images per label. A machine can also capture images
              into it by itself, with a data_manager service in its configuration.
            </p>
            <button type="button" className="button" onClick={() => setCreating(true)}>
              Create dataset
            </button>
          </EmptyState>
        ) : (
          <DatasetTable datasets={datasets} organizationId={organizationId} />
        )}
      </div>
      <ShowMore list={list} text="Show more datasets" />
      {isCreating && <CreateDataset onClose={() => setCreating(false)} />}
    </div>
  );
}

function DatasetTable({ datasets, organizationId }: { datasets: readonly Dataset[]; organizationId: string }) {
  return (
    <table className="table table-cards">
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col" className="number">
            Images
          </th>
          <th scope="col">Created</th>
          <th scope="col">ID</th>
        </tr>
      </thead>
      <tbody>
        {datasets.map(({ id, name, timeCreated }) => (
          <tr key={id}>
            <td className="lead">
              <Link to="/datasets/$datasetId" params={{ datasetId: id }} className="row-link">
                {name}
              </Link>
            </td>
            <td data-label="Images" className="number">
              <Count organizationId={organizationId} datasetId={id} />
            </td>
            <td data-label="Created">
              <Ago at={msOf(timeCreated)} />
            </td>
            <td data-label="ID" className="mono soft small">
              {id}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Count({ organizationId, datasetId }: { organizationId: string; datasetId: string }) {
  const filter = { organizationIds: [organizationId], datasetId };
  const query = useQuery(
    DataService.method.binaryDataByFilter,
    { dataRequest: { filter }, countOnly: true },
    { refetchInterval: refreshMs },
  );
  return query.data === undefined ? '…' : formatGrouped(query.data.count);
}
