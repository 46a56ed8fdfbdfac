import { useQuery, useMutation } from '@connectrpc/connect-query';
import { DataService } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { type Dataset, DatasetService } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { DatasetIcon, PlusIcon } from '../../ui/icons.tsx';
import { PageHead } from '../../ui/layout.tsx';
import { EmptyState, FailureNote } from '../../ui/messages.tsx';
import { ShowMore, usePagedList } from '../../ui/paged-list.tsx';
import { ListTable } from '../../ui/table.tsx';
import { Ago } from '../../ui/time.tsx';
import { useSession } from '../../entities/session/session.tsx';
import { formatGrouped } from '../../ui/quantities.ts';
import { msOf } from '../../ui/times.ts';
import { FormDialog } from '../../ui/dialogs.tsx';
import { TextField } from '../../ui/fields.tsx';

const refreshMs = 5000;
const pageSize = 200;

const byName = (datasets: readonly Dataset[]): Dataset[] => datasets.toSorted((a, b) => a.name.localeCompare(b.name));

export function DatasetsPage() {
  const { organizationId } = useSession().organization;
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
      <PageHead title="Datasets" lead="Labeled images to train models on.">
        <button type="button" className="button button-main" onClick={() => setCreating(true)}>
          <PlusIcon />
          New dataset
        </button>
      </PageHead>
      {list.error && <FailureNote error={list.error} />}
      <div className="card">
        <ListTable
          rows={datasets}
          error={list.error}
          skeletonRows={20}
          empty={
            <EmptyState icon={<DatasetIcon />} title="No datasets yet">
              <p>
                Create one, then add a folder that has one folder of images per label. A machine can also capture images
                into it by itself, with a data_manager service in its configuration.
              </p>
              <button type="button" className="button" onClick={() => setCreating(true)}>
                Create dataset
              </button>
            </EmptyState>
          }
          keyOf={({ id }) => id}
          columns={[
            {
              title: 'Name',
              cell: ({ id, name }) => (
                <Link to="/datasets/$datasetId" params={{ datasetId: id }} className="row-link">
                  {name}
                </Link>
              ),
            },
            {
              title: 'Images',
              isNumber: true,
              cell: ({ id }) => <Count organizationId={organizationId} datasetId={id} />,
            },
            { title: 'Created', cell: ({ timeCreated }) => <Ago at={msOf(timeCreated)} /> },
            { title: 'ID', className: 'mono soft small', cell: ({ id }) => id },
          ]}
        />
      </div>
      <ShowMore list={list} text="Show more datasets" />
      {isCreating && <CreateDataset onClose={() => setCreating(false)} />}
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
  return query.data === undefined ? '…' : formatGrouped(query.data.count);
}

/** Prompts for a name, then opens the new dataset. */
function CreateDataset({ onClose }: { onClose: () => void }) {
  const { organization } = useSession();
  const navigate = useNavigate();
  const [name, setName] = useState('');
  const creation = useMutation(DatasetService.method.createDataset, {
    onSuccess: ({ id }) => navigate({ to: '/datasets/$datasetId', params: { datasetId: id } }),
  });
  return (
    <FormDialog
      title="Create dataset"
      verb="Create"
      isDisabled={name.trim() === '' || creation.isPending}
      error={creation.error}
      onSubmit={() => creation.mutate({ organizationId: organization.organizationId, name: name.trim() })}
      onClose={onClose}
    >
      <TextField
        label="Name"
        value={name}
        onChange={setName}
        maxLength={128}
        isRequired
        placeholder="for example parts-on-the-belt"
      />
    </FormDialog>
  );
}
