import { MLTrainingService } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { getRouteApi, Link } from '@tanstack/react-router';
import { PlusIcon, RunnerIcon, TrainingIcon } from '../../ui/icons.tsx';
import { EmptyState, FailureNote, ListSkeleton } from '../../ui/messages.tsx';
import { ShowMore, usePagedList } from '../../ui/paged-list.tsx';
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
  const { organization } = useSession();
  const { organizationId } = organization;
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
      <div className="page-head">
        <div>
          <h1>Training</h1>
          <p className="soft">Every completed job is a version of a model that machines can run.</p>
        </div>
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
      </div>
      <StatusFilter />
      {list.error && <FailureNote error={list.error} />}
      <div className="card">
        {jobs === undefined ? (
          !list.error && <ListSkeleton rows={20} />
        ) : jobs.length === 0 ? (
          word === 'all' ? (
            <NoJobs />
          ) : (
            <EmptyState icon={<TrainingIcon />} title="No such job" />
          )
        ) : (
          <JobTable jobs={jobs} />
        )}
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

const JobTable = ({ jobs }: { jobs: readonly JobView[] }) => (
  <table className="table table-cards">
    <thead>
      <tr>
        <th scope="col">Model</th>
        <th scope="col">Version</th>
        <th scope="col">Type</th>
        <th scope="col">Status</th>
        <th scope="col">Progress</th>
        <th scope="col" className="number">
          Score
        </th>
        <th scope="col" className="number">
          Time
        </th>
        <th scope="col">Submitted</th>
      </tr>
    </thead>
    <tbody>
      {jobs.map((job) => (
        <JobRow key={job.id} job={job} />
      ))}
    </tbody>
  </table>
);

function JobRow({ job }: { job: JobView }) {
  const now = useNow();
  const time = runTime(job, now);
  return (
    <tr>
      <td className="lead">
        <Link to="/training/$jobId" params={{ jobId: job.id }} className="row-link">
          {job.modelName}
        </Link>
      </td>
      <td data-label="Version" className="break">
        {job.modelVersion}
      </td>
      <td data-label="Type">{job.type}</td>
      <td data-label="Status">
        <Badge state={job.status} />
      </td>
      <td data-label="Progress">{job.isActive && <Progress job={job} />}</td>
      <td data-label="Score" className="number" title={job.score?.name}>
        {job.score?.value}
      </td>
      <td data-label="Time" className="number">
        {time === undefined ? '' : span(time)}
      </td>
      <td data-label="Submitted" className="no-wrap">
        <Ago at={job.created} />
      </td>
    </tr>
  );
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
