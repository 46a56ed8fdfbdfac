import type { JsonObject } from '@bufbuild/protobuf';
import { useMutation, useQuery } from '@connectrpc/connect-query';
import { DatasetService } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import { MLTrainingService } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { type ComponentProps, lazy, Suspense, useState } from 'react';
import { ConfirmDialog } from '../../ui/dialogs.tsx';
import { BackLink, Pair } from '../../ui/layout.tsx';
import { FailureNote, Note, Loading } from '../../ui/messages.tsx';
import { Ago, useNow } from '../../ui/time.tsx';
import { Badge, ProgressBar } from '../../ui/badges.tsx';
import { evaluationView } from '../../entities/training-job/evaluations.ts';
import { formatCount } from '../../ui/quantities.ts';
import { isLasting } from '../../ui/failures.ts';
import { span } from '../../ui/times.ts';
import { jobView, pointsOf, runTime } from '../../entities/training-job/training-jobs.ts';
import type { JobView } from '../../entities/training-job/training-jobs.ts';
import { EvaluationReport } from './evaluation-report.tsx';
import { JobLogs } from './job-logs.tsx';
import { ModelCard } from './registry/model-card.tsx';
import { isolateText } from '../../ui/user-text.ts';
import '../../ui/style/training.css';

const TrainingCharts = lazy(async () => ({ default: (await import('./charts/training-charts.tsx')).TrainingCharts }));
const route = getRouteApi('/training/$jobId');
const refreshMs = 1000;

export function JobPage() {
  const { jobId } = route.useParams();
  const query = useQuery(
    MLTrainingService.method.getTrainingJob,
    { id: jobId },
    {
      refetchInterval: ({ state }) =>
        isLasting(state.error) || (state.data?.metadata && !jobView(state.data.metadata).isActive) ? false : refreshMs,
    },
  );
  const metadata = query.data?.metadata;
  const failure = query.error ?? query.failureReason; // also while it is tried again
  if (metadata === undefined) {
    return (
      <div className="page">
        {back}
        {failure ? <FailureNote error={failure} /> : <Loading />}
      </div>
    );
  }
  const job = jobView(metadata);
  const evaluation = job.isPrediction ? undefined : evaluationView(metadata.evaluation);
  const points = metadata.metrics.length > 0 ? pointsOf(metadata.metrics) : (evaluation?.curve ?? []);
  return (
    <div className="page">
      <title>{`${job.modelName} ${isolateText(job.modelVersion)} · Platform`}</title>
      <div className="page-head">
        <div>
          {back}
          <h1>{job.modelName}</h1>
          <p className="soft break">Version {job.modelVersion}</p>
        </div>
        <JobActions job={job} refresh={() => void query.refetch()} />
      </div>
      {query.error && <FailureNote error={query.error} />}
      <JobState job={job} />
      {job.failure && (
        <Note tone="bad">
          <p>{job.failure.what}</p>
          {job.failure.cause && <p className="small soft">Cause: {causes[job.failure.cause] ?? job.failure.cause}</p>}
        </Note>
      )}
      {job.isPrediction && <PredictionResult job={job} counts={metadata.evaluation} />}
      {evaluation && <EvaluationReport evaluation={evaluation} />}
      {points.length > 0 && <TrainingCurve points={points} isActive={job.isActive} />}
      {job.modelId !== '' && (
        <ModelCard
          modelName={job.modelName}
          packageId={job.modelId}
          version={job.modelVersion}
          canReject={evaluation?.unlike !== undefined}
        />
      )}
      <JobLogs jobId={job.id} isActive={job.isActive} />
    </div>
  );
}

/** What a prediction found, and where its suggestions wait. */
function PredictionResult({ job, counts }: { job: JobView; counts: JsonObject | undefined }) {
  const { datasetId } = job;
  const count = (name: string): number => Number(counts?.[name] ?? 0);
  return (
    <section className="card" aria-label="Suggestions">
      <div className="card-body stack">
        {counts && (
          <p>
            {formatCount(count('suggestions'), 'suggestion')} for {count('suggested_images')} of{' '}
            {formatCount(count('images'), 'image')}
          </p>
        )}
        <p className="row">
          <Link to="/datasets/$datasetId/label" params={{ datasetId }} className="button" preload={false}>
            Label images
          </Link>
          <Link to="/datasets/$datasetId/review" params={{ datasetId }} className="button">
            Review labels
          </Link>
        </p>
      </div>
    </section>
  );
}

function TrainingCurve({ points, isActive }: ComponentProps<typeof TrainingCharts> & { isActive: boolean }) {
  return (
    <section className="card">
      <div className="card-head">
        <h2>Training curve</h2>
        {isActive && <span className="badge is-busy">live</span>}
      </div>
      <div className="card-body">
        <Suspense fallback={<Loading />}>
          <TrainingCharts points={points} />
        </Suspense>
      </div>
    </section>
  );
}

const causes: Readonly<Record<string, string>> = {
  data: 'the dataset. Mend it and submit a new job.',
  script: 'the training script. See its last log lines.',
  infrastructure: 'the host that trained, several times. See the log of the runner.',
};

const back = <BackLink to="/training">Training</BackLink>;

function JobState({ job }: { job: JobView }) {
  return (
    <section className="card" aria-label="State">
      <div className="card-body">
        <div className="row" role="status">
          <Badge state={job.status} />
          {job.phase && <span>{job.phase}</span>}
          {job.queuePosition > 0 && (
            <span className="soft">
              position {job.queuePosition} in the queue
              {job.waitingFor ? '' : '; a runner takes it as soon as one is free'}
            </span>
          )}
          {job.attempt > 1 && <span className="badge is-warn">attempt {job.attempt}</span>}
          {job.eta !== undefined && <span className="soft push numbers">about {span(job.eta)} left</span>}
        </div>
        {job.waitingFor && (
          <Note tone="warn">
            <p>
              {job.waitingFor} <Link to="/runners">Runners</Link>
            </p>
          </Note>
        )}
        {job.isActive && <ProgressBar share={job.progress} label="Progress of the job" />}
        <JobFacts job={job} />
        {job.details.length > 0 && <JobDetails job={job} />}
      </div>
    </section>
  );
}

function JobDetails({ job }: { job: JobView }) {
  return (
    <details>
      <summary>Details</summary>
      <dl className="pair-list form-more">
        {job.details.map(([name, value]) => (
          <Pair key={name} name={name} className="break">
            {value}
          </Pair>
        ))}
        <Pair name="ID" className="mono small break">
          {job.id}
        </Pair>
      </dl>
    </details>
  );
}

function JobFacts({ job }: { job: JobView }) {
  const now = useNow();
  const time = runTime(job, now);
  return (
    <dl className="pair-list">
      <Pair name="Dataset">
        <Link to="/datasets/$datasetId" params={{ datasetId: job.datasetId }}>
          <DatasetName id={job.datasetId} />
        </Link>
      </Pair>
      <Pair name="Type">{job.type}</Pair>
      {job.script && (
        <Pair name="Script">
          <Link to="/scripts">{job.script.itemId}</Link> {job.script.version}
        </Pair>
      )}
      <Pair name="Format">{job.framework}</Pair>
      <Pair name="Submitted">
        <Ago at={job.created} />
      </Pair>
      <Pair name="Running time" className="numbers">
        {time === undefined ? 'not started' : span(time)}
      </Pair>
      {!job.isPrediction && (
        <Pair name="Labels" isWide>
          {job.labels.map(isolateText).join(', ') || 'all of the dataset'}
        </Pair>
      )}
    </dl>
  );
}

function DatasetName({ id }: { id: string }) {
  const query = useQuery(DatasetService.method.listDatasetsByIDs, { ids: [id] }, { staleTime: 60_000 });
  return query.data?.datasets[0]?.name ?? 'as it was at submission';
}

function JobActions({ job, refresh }: { job: JobView; refresh: () => void }) {
  const navigate = useNavigate();
  const [open, setOpen] = useState<'nothing' | 'cancel' | 'delete'>('nothing');
  const cancel = useMutation(MLTrainingService.method.cancelTrainingJob, { onSuccess: refresh });
  const removal = useMutation(MLTrainingService.method.deleteCompletedTrainingJob, {
    onSuccess: () => navigate({ to: '/training' }),
  });
  const error = cancel.error ?? removal.error;
  const close = (): void => setOpen('nothing');
  return (
    <div className="row">
      {job.mayCancel && (
        <button type="button" className="button" disabled={cancel.isPending} onClick={() => setOpen('cancel')}>
          Cancel job
        </button>
      )}
      {job.mayDelete && (
        <button type="button" className="button" disabled={removal.isPending} onClick={() => setOpen('delete')}>
          Delete job
        </button>
      )}
      {error && <FailureNote error={error} />}
      <ConfirmDialog
        title="Cancel this job?"
        text={
          job.isPrediction
            ? 'The prediction stops, and no suggestions are made.'
            : `Training stops and no model version is made. The version ${job.modelVersion} stays used up.`
        }
        verb="Cancel the job"
        isDangerous
        isOpen={open === 'cancel'}
        onClose={close}
        onConfirm={() => cancel.mutate({ id: job.id })}
      />
      <ConfirmDialog
        title="Delete this job?"
        text={
          job.isPrediction
            ? 'Its log is deleted. The suggestions stay.'
            : 'Its log, curve and evaluation are deleted. The model version stays in the registry.'
        }
        verb="Delete the job"
        isDangerous
        isOpen={open === 'delete'}
        onClose={close}
        onConfirm={() => removal.mutate({ id: job.id })}
      />
    </div>
  );
}
