import { useQuery } from '@connectrpc/connect-query';
import {
  MLTrainingService,
  TrainingStatus,
  type TrainingJobMetadata,
} from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { PackageService, PackageType } from '@platform/contract/gen/platform/app/packages/v1/packages_pb';
import { AppService, type RegistryItem } from '@platform/contract/gen/platform/app/v1/app_pb';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useEffect, useState } from 'react';
import { ModalDialog } from '../../../ui/dialogs.tsx';
import { ModelIcon } from '../../../ui/icons.tsx';
import { PageHead } from '../../../ui/layout.tsx';
import { EmptyState, FailureNote, ListSkeleton } from '../../../ui/messages.tsx';
import { ShowMore, usePagedList } from '../../../ui/paged-list.tsx';
import { Table } from '../../../ui/table.tsx';
import { Ago } from '../../../ui/time.tsx';
import { useSession } from '../../../entities/session/session.tsx';
import { listModels, type ModelOrigin, type ModelVersion } from '../../../entities/registry/registry.ts';
import { visibilityTexts } from './scripts.ts';
import { bytes, formatCount } from '../../../ui/quantities.ts';
import { EditItem } from './edit-item.tsx';
import { ModelCard } from './model-card.tsx';
import { RegistryTabs, VersionName } from './registry-tabs.tsx';
import { isolateText } from '../../../ui/user-text.ts';
import { jobView } from '../../../entities/training-job/training-jobs.ts';
import '../../../ui/style/training.css';

const refreshMs = 5000;
const pageSize = 500;

/** The organization's models, their descriptions in the registry, and the scores of the jobs that made them. */
function useModels() {
  const { organizationId } = useSession().organization;
  const list = usePagedList(
    PackageService.method.listPackages,
    (pageToken) => ({ organizationId, type: PackageType.ML_MODEL, pageToken, pageSize }),
    { refreshMs },
  );
  const registry = useQuery(
    AppService.method.listRegistryItems,
    { organizationId, types: [PackageType.ML_MODEL] },
    { refetchInterval: refreshMs },
  );
  const jobs = useQuery(
    MLTrainingService.method.listTrainingJobs,
    { organizationId, status: TrainingStatus.COMPLETED, pageSize: 1000 },
    { refetchInterval: refreshMs, retry: false },
  );
  return {
    list,
    registry,
    models: list.pages && listModels(list.pages.flatMap((page) => page.packages)),
    scores: readScores(jobs.data?.jobs ?? []),
  };
}

/** A link may name one model; the list comes after the page. */
const useLinkedModel = (isThere: boolean): void =>
  useEffect(() => {
    if (isThere) document.getElementById(location.hash.slice(1))?.scrollIntoView();
  }, [isThere]);

export function ModelsPage() {
  const { list, registry, models, scores } = useModels();
  const [shown, setShown] = useState<ModelVersion>();
  const [edited, setEdited] = useState<RegistryItem>();
  const itemOf = (name: string): RegistryItem | undefined => registry.data?.items.find((item) => item.name === name);
  useLinkedModel(models !== undefined);
  const close = (): void => {
    setEdited(undefined);
    void registry.refetch();
  };
  return (
    <div className="page">
      <title>Models · Platform</title>
      <PageHead title="Registry" lead="Trained models. Each version stays as it is for ever." />
      <RegistryTabs />
      {list.error && <FailureNote error={list.error} />}
      {models === undefined && !list.error && <ListSkeleton isCard />}
      {models?.length === 0 && (
        <div className="card">
          <EmptyState icon={<ModelIcon />} title="No models yet">
            <p>A completed training job puts its model here.</p>
            <Link to="/training/new" className="button">
              Train a model
            </Link>
          </EmptyState>
        </div>
      )}
      {models?.map(({ name, versions }) => (
        <section key={name} id={`model-${name}`} className="card" aria-label={name}>
          <div className="card-head">
            <h2>{name}</h2>
            <ItemActions item={itemOf(name)} onEdit={setEdited}>
              <span className="soft small">{formatCount(versions.length, 'version')}</span>
            </ItemActions>
          </div>
          <VersionTable versions={versions} scores={scores} onUse={setShown} />
        </section>
      ))}
      <ShowMore list={list} text="Show more versions" />
      {shown && (
        <ModalDialog
          title={`${shown.name} ${isolateText(shown.version)}`}
          isOpen
          onClose={() => setShown(undefined)}
          isWide
        >
          <ModelCard modelName={shown.name} packageId={shown.packageId} version={shown.version} />
        </ModalDialog>
      )}
      {edited && <EditItem item={edited} onClose={close} />}
    </div>
  );
}

interface VersionTableProps {
  /** The newest first. */
  versions: readonly ModelVersion[];
  scores: ReturnType<typeof readScores>;
  onUse: (version: ModelVersion) => void;
}
const VersionTable = ({ versions, scores, onUse }: VersionTableProps) => (
  <Table
    rows={versions}
    keyOf={({ version }) => version}
    columns={[
      { title: 'Version', cell: ({ version }, at) => <VersionName version={version} isLatest={at === 0} /> },
      { title: 'Size', isNumber: true, cell: ({ sizeBytes }) => bytes(sizeBytes) },
      {
        title: 'Made from',
        cell: ({ origin }) => <Origin origin={origin} score={scores.get(origin?.jobId ?? '')} />,
      },
      { title: 'Published', cell: ({ created }) => <Ago at={created} /> },
      {
        title: 'Use',
        isHidden: true,
        cell: (version) => (
          <button type="button" className="button button-small" onClick={() => onUse(version)}>
            Use<span className="hidden-text"> version {version.version}</span>
          </button>
        ),
      },
    ]}
  />
);

interface ItemActionsProps {
  item: RegistryItem | undefined;
  onEdit: (item: RegistryItem) => void;
  children: ReactNode;
}

const ItemActions = ({ item, onEdit, children }: ItemActionsProps) =>
  item === undefined ? (
    children
  ) : (
    <>
      <span className="badge">{visibilityTexts[item.visibility]}</span>
      {children}
      <button type="button" className="button button-small push" onClick={() => onEdit(item)}>
        Edit<span className="hidden-text"> {item.name}</span>
      </button>
    </>
  );

/** The job that created a version, and its training data. */
const Origin = ({ origin, score }: { origin: ModelOrigin | undefined; score: string | undefined }) =>
  origin ? (
    <span className="row row-tight">
      <Link to="/training/$jobId" params={{ jobId: origin.jobId }}>
        job
      </Link>
      <Link to="/datasets/$datasetId" params={{ datasetId: origin.datasetId }}>
        dataset
      </Link>
      {origin.script !== '' && <span className="break">script {origin.script}</span>}
      {score && <span className="soft">{score}</span>}
    </span>
  ) : (
    <span className="soft">uploaded</span>
  );

/** "accuracy 91.5 %" by the ID of the job. */
const readScores = (jobs: readonly TrainingJobMetadata[]): ReadonlyMap<string, string> =>
  new Map(
    jobs.flatMap((job) => {
      const { id, score } = jobView(job);
      return score ? [[id, `${score.name} ${score.value}`] as const] : [];
    }),
  );
