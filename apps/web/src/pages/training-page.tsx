import { useQuery } from '@connectrpc/connect-query';
import { MLTrainingService } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { Link } from '@tanstack/react-router';
import { PlusIcon, TrainingIcon } from '../parts/icons.tsx';
import { Empty, FailureNote, Waiting } from '../parts/messages.tsx';
import { Ago, useNow } from '../parts/time.tsx';
import { Badge, ProgressBar } from '../parts/words.tsx';
import { useSession } from '../session.tsx';
import { percent } from '../view/quantities.ts';
import { span } from '../view/times.ts';
import { jobView, runTime } from '../view/training-jobs.ts';
import type { JobView } from '../view/training-jobs.ts';

const refreshMs = 1500;

export function TrainingPage() {
  const { organization } = useSession();
  const { organizationId } = organization;
  const list = useQuery(MLTrainingService.method.listTrainingJobs, { organizationId }, { refetchInterval: refreshMs });
  const jobs = list.data?.jobs.map(jobView).toSorted((a, b) => (b.created ?? 0) - (a.created ?? 0));
  return (
    <div className="page">
      <title>Training · Platform</title>
      <div className="page-head">
        <div>
          <h1>Training</h1>
          <p className="soft">Every completed job is a version of a model that machines can run.</p>
        </div>
        <Link to="/training/new" className="button button-main">
          <PlusIcon />
          Train a model
        </Link>
      </div>
      {list.error && <FailureNote error={list.error} />}
      <div className="card">
        {jobs === undefined ? (
          !list.error && <Waiting />
        ) : jobs.length === 0 ? (
          <Empty icon={<TrainingIcon />} title="No training jobs yet">
            <p>
              A dataset with at least two labels and ten pictures of each is enough for a first model, in about a
              minute.
            </p>
            <Link to="/training/new" className="button">
              Train a model
            </Link>
          </Empty>
        ) : (
          <JobTable jobs={jobs} />
        )}
      </div>
    </div>
  );
}

const JobTable = ({ jobs }: { jobs: readonly JobView[] }) => (
  <table className="table table-cards">
    <thead>
      <tr>
        <th scope="col">Model</th>
        <th scope="col">Version</th>
        <th scope="col">Status</th>
        <th scope="col">Progress</th>
        <th scope="col" className="number">
          Accuracy
        </th>
        <th scope="col">Time</th>
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
      <td data-label="Status">
        <Badge word={job.status} />
      </td>
      <td data-label="Progress">{job.isActive && <Progress job={job} />}</td>
      <td data-label="Accuracy" className="number">
        {job.accuracy === undefined ? '' : percent(job.accuracy)}
      </td>
      <td data-label="Time" className="no-wrap">
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
      {Math.round(job.progress * 100)} % {job.phase}
    </span>
  </div>
);
