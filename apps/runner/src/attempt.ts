/** Runs one attempt on one job, from lease to end. */
import type { Job } from '@platform/contract/gen/platform/runner/v1/runner_pb';
import { parseJobSpec, type JobExit } from '@platform/contract/job/job';
import { errorText, Inbox, run, Secret } from '@platform/kit';
import { removeTree } from '@platform/sandbox/removal';
import { deadline, initial, step, type Effect, type Event, type Limits, type State } from './attempt-life.ts';
import type { AttemptId } from './cloud/queue.ts';
import { failureOfError } from './failures.ts';
import { createJobFolder, writeExit } from './job/folder.ts';
import { reportFinalStatus, type AttemptResult } from './final-report.ts';
import { Reporter } from './reporter.ts';
import { Work } from './work.ts';
import type { Workspace } from './workspace.ts';

/** Never throws: it reports every failure to the queue. */
export async function runAttempt(workspace: Workspace, job: Job, shutdown: AbortSignal): Promise<void> {
  const attempt: AttemptId = { jobId: job.id, attempt: job.attempt };
  const log = workspace.log.child('job', { ...attempt });
  try {
    await perform({ ...workspace, log }, job, attempt, shutdown);
  } catch (error) {
    log.error('the attempt broke off', { error: errorText(error) });
    await reportFinalStatus(workspace, attempt, { do: 'fail', failure: failureOfError(error) }, shutdown);
  }
  const removed = await workspace.cache.trim();
  if (removed > 0) log.info('the image cache was trimmed', { removedBytes: removed });
  const forgotten = await workspace.checkpoints.trim();
  if (forgotten > 0) log.info('old checkpoints were removed', { jobs: forgotten });
}

async function perform(workspace: Workspace, job: Job, attempt: AttemptId, shutdown: AbortSignal): Promise<void> {
  const { clock, log } = workspace;
  // The message is authoritative for the queue's identifiers; the spec is what the trainer receives.
  const spec = parseJobSpec({ ...job.spec, id: job.id, attempt: job.attempt, org_id: job.organizationId });
  const folder = await createJobFolder(workspace.root, job.id, job.attempt);
  const started = new Date(clock.wall()).toISOString();
  const inbox = new Inbox<Event>();
  const reporter = new Reporter(workspace.queue, attempt, { clock, log });
  const { manifestSha256, scriptCredentials: key } = job;
  const credentials = key && { id: key.apiKeyId, key: new Secret(key.apiKey) };
  const work = new Work(workspace, { spec, manifestSha256, credentials, folder, reporter, push: inbox.push });
  const limits: Limits = { wallMs: spec.limits.wall_seconds * 1000, isBuiltIn: spec.kind !== 'custom' };

  const ended = new AbortController();
  const reporting = new AbortController();
  const reports = reporter.run(inbox.push, reporting.signal);
  let isJobOver = false;
  const onShutdown = (): void => inbox.push({ is: 'shutdown' });
  shutdown.addEventListener('abort', onShutdown, { once: true });
  if (shutdown.aborted) onShutdown();
  const close = async (ending: AttemptResult): Promise<Event> => {
    await writeExit(folder, exitOf(ending, started, new Date(clock.wall()).toISOString()));
    reporting.abort();
    await reports;
    if (!shutdown.aborted) await reporter.flush(shutdown);
    const reported = await reportFinalStatus(workspace, attempt, ending, shutdown);
    isJobOver = reported.isJobOver;
    return reported.event;
  };

  try {
    inbox.push({ is: 'begin' });
    await run<State, Event, Effect>(
      {
        initial,
        deadline,
        step: (state, event, now) => step(state, event, now, limits),
        perform: (effect) => performEffect(effect, work, close),
      },
      inbox,
      ({ at }) => {
        if (at === 'ended') ended.abort();
      },
      { clock, log },
      ended.signal,
    );
  } finally {
    shutdown.removeEventListener('abort', onShutdown);
    reporting.abort();
    await Promise.all([work.abandon(), reports]);
    if (!workspace.keepJobs) await removeTree(folder.path);
    if (isJobOver) await workspace.checkpoints.remove(job.id);
  }
}

async function performEffect(
  effect: Effect,
  work: Work,
  close: (ending: AttemptResult) => Promise<Event>,
): Promise<Event | void> {
  switch (effect.do) {
    case 'prepare':
    case 'train':
    case 'upload':
      return work.begin(effect.do);
    case 'abandon':
      return work.abandon();
    case 'complete':
      return close({ do: 'complete', files: work.outputs ?? { files: [], evaluation: undefined, leftOut: [] } });
    case 'fail':
    case 'confirmStop':
      return close(effect);
  }
}

function exitOf(ending: AttemptResult, started: string, ended: string): JobExit {
  const times = { started, ended };
  switch (ending.do) {
    case 'complete':
      return { result: 'done', ...times };
    case 'confirmStop':
      return { result: 'stopped', ...times };
    case 'fail': {
      const { cause, code, message } = ending.failure;
      return { result: cause, code, message, ...times };
    }
  }
}
