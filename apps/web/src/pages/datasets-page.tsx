import { useQuery } from '@connectrpc/connect-query';
import { DataService } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { DatasetService } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import { Link } from '@tanstack/react-router';
import { Command } from '../parts/copying.tsx';
import { DatasetIcon } from '../parts/icons.tsx';
import { Empty, FailureNote, Waiting } from '../parts/messages.tsx';
import { Ago } from '../parts/time.tsx';
import { useSession } from '../session.tsx';
import { grouped } from '../view/quantities.ts';
import { msOf } from '../view/times.ts';

const refreshMs = 5000;

export function DatasetsPage() {
  const { organization } = useSession();
  const { organizationId } = organization;
  const list = useQuery(
    DatasetService.method.listDatasetsByOrganizationID,
    { organizationId },
    { refetchInterval: refreshMs },
  );
  const datasets = list.data?.datasets;
  return (
    <div className="page">
      <title>Datasets · Platform</title>
      <div className="page-head">
        <div>
          <h1>Datasets</h1>
          <p className="soft">Labeled pictures to train models on.</p>
        </div>
      </div>
      {list.error && <FailureNote error={list.error} />}
      <div className="card">
        {datasets === undefined ? (
          !list.error && <Waiting />
        ) : datasets.length === 0 ? (
          <Empty icon={<DatasetIcon />} title="No datasets yet">
            <p>Upload a folder that has one folder of pictures per label; the folder’s name becomes the label:</p>
            <Command text="npm run -s platform -- dataset upload my-objects ./pictures" />
            <p>
              A machine can also capture pictures into a dataset by itself, with a data_manager service in its
              configuration.
            </p>
          </Empty>
        ) : (
          <table className="table table-cards">
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col" className="number">
                  Pictures
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
                  <td data-label="Pictures" className="number">
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
        )}
      </div>
    </div>
  );
}

function Count({ organizationId, datasetId }: { organizationId: string; datasetId: string }) {
  const filter = { organizationIds: [organizationId], datasetId };
  const query = useQuery(
    DataService.method.binaryDataByFilter,
    { dataRequest: { filter }, countOnly: true },
    { refetchInterval: refreshMs },
  );
  return query.data === undefined ? '…' : grouped(query.data.count);
}
