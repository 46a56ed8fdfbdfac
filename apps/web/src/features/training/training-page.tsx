import { MLTrainingService } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { getRouteApi, Link } from '@tanstack/react-router';
import { PlusIcon, RunnerIcon, TrainingIcon } from '../../ui/icons.tsx';
import { PageHead } from '../../ui/layout.tsx';
import { EmptyState, FailureNote } from '../../ui/messages.tsx';
import { ShowMore, usePagedList } from '../../ui/paged-list.tsx';
import { type Columns, ListTable } from '../../ui/table.tsx';
import { Ago, useNow } from '../../ui/time.tsx';
import { Badge, ProgressBar } from '../../ui/badges.tsx';
import { useSession } from '../../entities/session/session.tsx';
import { span } from '../../ui/times.ts';
import { jobView, runTime, statusFilters } from '../../entities/training-job/training-jobs.ts';
import type { JobView } from '../../entities/training-job/training-jobs.ts';
import '../../ui/style/training.css';

const route = getRouteApi('/training');
const refreshMs = 2000;
const pageSize = 50;

export function TrainingPage() {
  const { organizationId } = useSession().organization;
  const { status: word = 'all' } = route.useSearch();
  const filter = statusFilters[word] ?? statusFilters['all'];
  const list = usePagedList(
    MLTrainingService.method.listTrainingJobs,
    (pageToken) => ({ organizationId, status: filter?.status ?? 0, pageSize, pageToken, includePredictions: true }),
    { refreshMs },
  );
  const jobs = list.pages?.flatMap((page) => page.jobs.map(jobView));
  return (
    <div className="page">
      <title>Training · Platform</title>
      <PageHead title="Training" lead="Every completed job is a version of a model that machines can run.">
        <div className="row">
          <Link to="/runners" className="button">
            <RunnerIcon />
            Runners
          </Link>
          <Link to="/training/new" className="button button-main">
            <PlusIcon />
            Train a model
          </Link>
        </div>
      </PageHead>
      <StatusFilter />
      {list.error && <FailureNote error={list.error} />}
      <div className="card">
        <ListTable
          rows={jobs}
          error={list.error}
          skeletonRows={20}
          empty={word === 'all' ? <NoJobs /> : <EmptyState icon={<TrainingIcon />} title="No such job" />}
          keyOf={({ id }) => id}
          columns={columns}
        />
      </div>
      <ShowMore list={list} text="Show older jobs" />
    </div>
  );
}

function StatusFilter() {
  return (
    <nav aria-label="Jobs by status" className="row">
      {Object.entries(statusFilters).map(([name, { text }]) => (
        <Link
          key={name}
          to="/training"
          search={name === 'all' ? {} : { status: name }}
          activeOptions={{ exact: true, includeSearch: true }}
          className="choice choice-link"
        >
          {text}
        </Link>
      ))}
    </nav>
  );
}

const NoJobs = () => (
  <EmptyState icon={<TrainingIcon />} title="No training jobs yet">
    <p>A dataset with at least two labels and ten images of each is enough for a first model, in about a minute.</p>
    <Link to="/training/new" className="button">
      Train a model
    </Link>
  </EmptyState>
);

const columns: Columns<JobView> = [
  {
    title: 'Model',
    cell: ({ id, modelName }) => (
      <Link to="/training/$jobId" params={{ jobId: id }} className="row-link">
        {modelName}
      </Link>
    ),
  },
  { title: 'Version', className: 'break', cell: ({ modelVersion }) => modelVersion },
  { title: 'Type', cell: ({ type }) => type },
  { title: 'Status', cell: ({ status }) => <Badge state={status} /> },
  { title: 'Progress', cell: (job) => job.isActive && <Progress job={job} /> },
  { title: 'Score', isNumber: true, cell: ({ score }) => score?.value, tooltip: ({ score }) => score?.name },
  { title: 'Time', isNumber: true, cell: (job) => <RunTime job={job} /> },
  { title: 'Submitted', className: 'no-wrap', cell: ({ created }) => <Ago at={created} /> },
];

function RunTime({ job }: { job: JobView }) {
  const time = runTime(job, useNow());
  return time === undefined ? '' : span(time);
}

const Progress = ({ job }: { job: JobView }) => (
  <div className="job-progress">
    <ProgressBar share={job.progress} label={`Progress of ${job.modelName}`} isThin />
    <span className="small soft no-wrap">
      {job.queuePosition > 0
        ? `position ${job.queuePosition} in the queue`
        : `${Math.round(job.progress * 100)} % ${job.phase}`}
    </span>
  </div>
);
