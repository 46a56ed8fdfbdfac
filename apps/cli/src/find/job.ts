import type { TrainingJobMetadata } from '@platform/client';
import { PlatformError } from '@platform/contract/errors/errors';
import type { Connection } from '../connection.ts';

const pageSize = 500;
/** Number of newest jobs to search for a name; an ID always finds its job. */
const lookAt = 5000;

const isId = (name: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(name);

/** Matches an ID, its prefix (8 characters or more), MODEL/VERSION or MODEL. */
function isNamed(job: TrainingJobMetadata, name: string): boolean {
  if (job.modelName === name || `${job.modelName}/${job.modelVersion}` === name) return true;
  return name.length >= 8 && job.id.startsWith(name.toLowerCase());
}

async function* newestJobs(connection: Connection): AsyncGenerator<TrainingJobMetadata> {
  const { mlTrainingClient } = connection.client;
  let seen = 0;
  for await (const page of mlTrainingClient.pagesOfTrainingJobs(await connection.organizationId(), { pageSize })) {
    yield* page;
    seen += page.length;
    if (seen >= lookAt) return;
  }
}

/**
 * The newest job that matches the name.
 *
 * @throws PlatformError TRAINING_JOB_NOT_FOUND.
 */
export async function findJob(connection: Connection, name: string): Promise<TrainingJobMetadata> {
  if (isId(name)) return connection.client.mlTrainingClient.getTrainingJob(name.toLowerCase());
  for await (const job of newestJobs(connection)) {
    if (isNamed(job, name)) return connection.client.mlTrainingClient.getTrainingJob(job.id);
  }
  throw new PlatformError('TRAINING_JOB_NOT_FOUND', { jobId: name });
}

/**
 * Like findJob, for commands that end or delete a job: the name must match exactly one possible job.
 *
 * @param isPossible - whether the command applies to the job; if it applies to none, the newest match is returned.
 */
export async function findOnlyJob(
  connection: Connection,
  name: string,
  isPossible: (job: TrainingJobMetadata) => boolean,
): Promise<TrainingJobMetadata> {
  if (isId(name)) return connection.client.mlTrainingClient.getTrainingJob(name.toLowerCase());
  const fitting: TrainingJobMetadata[] = [];
  for await (const job of newestJobs(connection)) if (isNamed(job, name)) fitting.push(job);
  const [newest] = fitting;
  if (!newest) throw new PlatformError('TRAINING_JOB_NOT_FOUND', { jobId: name });
  const [job, ...more] = fitting.filter(isPossible);
  if (more.length === 0) return job ?? newest;
  const names = [job, ...more].slice(0, 5).map((one) => `${one?.modelName}/${one?.modelVersion}`);
  throw new PlatformError('INVALID_ARGUMENT', {
    field: 'job',
    value: name,
    limit: `one job; ${1 + more.length} fit: ${names.join(', ')}${more.length > 4 ? ' …' : ''}`,
  });
}
