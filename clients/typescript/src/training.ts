import { isFieldSet } from '@bufbuild/protobuf';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import type { Client } from '@connectrpc/connect';
import {
  type Container,
  GetTrainingJobResponseSchema,
  type MLTrainingService,
  type ModelFramework,
  type ModelType,
  type TrainingJobLogEntry,
  type TrainingJobMetadata,
  TrainingStatus,
} from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { now, sleep } from './clock.ts';
import { PlatformApiError, localError } from './errors.ts';

export interface WaitOptions {
  /** Called with the job after each poll. */
  readonly onProgress?: (job: TrainingJobMetadata) => void;
  /** Stops waiting, but not the job: the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Poll interval in ms. Default: 1000. */
  readonly everyMs?: number;
  /** How long the server may be unreachable while waiting, in ms. Default: 60 000. */
  readonly offlineMs?: number;
}

/** Resources of a job. The server's defaults apply to fields that are not given. */
export interface JobResources {
  /** The job waits for a runner with this number of GPUs. */
  readonly gpus?: number;
  /** Time limit of one attempt. */
  readonly timeLimitSeconds?: number;
  readonly memoryMib?: number;
  readonly diskMib?: number;
}

export interface CustomSubmitOptions {
  /** Key of listSupportedContainers. Default: the runner's. */
  readonly containerVersion?: string;
  readonly resources?: JobResources;
}

export interface FollowOptions {
  /** Stops following, but not the job. */
  readonly signal?: AbortSignal;
  /** How long the server may be unreachable while following, in ms. Default: 60 000. */
  readonly offlineMs?: number;
}

export interface SubmitOptions {
  readonly resources?: JobResources;
  /** Default: the server's. */
  readonly modelFramework?: ModelFramework;
  /** Settings of the built-in trainer, for example { recipe: 'probe' }. */
  readonly arguments?: Readonly<Record<string, string>>;
}

const ended: ReadonlySet<TrainingStatus> = new Set([
  TrainingStatus.COMPLETED,
  TrainingStatus.FAILED,
  TrainingStatus.CANCELED,
]);

/** Seconds for which the server holds one call that follows a log. */
const followSeconds = 25;

const isPassing = (error: unknown, lastSeen: number, offlineMs: number): boolean =>
  error instanceof PlatformApiError && error.retry === 'later' && now() - lastSeen < offlineMs;

function resourcesOf(asked: JobResources | undefined) {
  if (!asked) return {};
  const { timeLimitSeconds, ...rest } = asked;
  const timeLimit = timeLimitSeconds === undefined ? {} : { timeLimit: durationFromMs(timeLimitSeconds * 1000) };
  return { resources: { ...rest, ...timeLimit } };
}

/** Whether the job has ended, with any result. */
export const hasEnded = (job: TrainingJobMetadata): boolean => ended.has(job.status);

/** Training jobs of an organization; needs an API key with the owner role. */
export class MlTrainingClient {
  readonly #rpc: Client<typeof MLTrainingService>;

  constructor(rpc: Client<typeof MLTrainingService>) {
    this.#rpc = rpc;
  }

  /**
   * Queues a training of a built-in model type. Freezes the dataset at submission.
   *
   * @param modelVersion - a version not used before for this model name.
   * @param tags - labels to train on.
   * @returns the ID of the job.
   * @throws PlatformApiError MODEL_VERSION_TAKEN, DATASET_NOT_FOUND, DATASET_EMPTY, TOO_FEW_LABELS, TOO_FEW_IMAGES, NOT_OWNER.
   * @example const id = await client.mlTrainingClient.submitTrainingJob(orgId, datasetId, 'things', '1', ModelType.SINGLE_LABEL_CLASSIFICATION, ['cup', 'pen'])
   */
  async submitTrainingJob(
    organizationId: string,
    datasetId: string,
    modelName: string,
    modelVersion: string,
    modelType: ModelType,
    tags: readonly string[],
    options: SubmitOptions = {},
  ): Promise<string> {
    const framework = options.modelFramework === undefined ? {} : { modelFramework: options.modelFramework };
    const { id } = await this.#rpc.submitTrainingJob({
      organizationId,
      datasetId,
      modelName,
      modelVersion,
      modelType,
      tags: [...tags],
      arguments: { ...options.arguments },
      ...framework,
      ...resourcesOf(options.resources),
    });
    return id;
  }

  /**
   * Queues a run of a training script of the registry.
   *
   * @param registryItemId - `<namespace or organization ID>:<name>`.
   * @param registryItemVersion - `latest`: the newest.
   * @param args - passed to the script as `--key=value`.
   * @returns the ID of the job.
   * @throws PlatformApiError SCRIPT_NOT_FOUND, CONTAINER_NOT_FOUND, SCRIPTS_NOT_OFFERED, MODEL_VERSION_TAKEN, DATASET_EMPTY.
   */
  async submitCustomTrainingJob(
    organizationId: string,
    datasetId: string,
    registryItemId: string,
    registryItemVersion: string,
    modelName: string,
    modelVersion: string,
    args: Readonly<Record<string, string>> = {},
    options: CustomSubmitOptions = {},
  ): Promise<string> {
    const request = {
      organizationId,
      datasetId,
      registryItemId,
      registryItemVersion,
      modelName,
      modelVersion,
      arguments: { ...args },
      containerVersion: options.containerVersion ?? '',
      ...resourcesOf(options.resources),
    };
    const { id } = await this.#rpc.submitCustomTrainingJob(request);
    return id;
  }

  /** Returns a job with progress, metrics and final evaluation. @throws PlatformApiError TRAINING_JOB_NOT_FOUND. */
  async getTrainingJob(id: string): Promise<TrainingJobMetadata> {
    const answer = await this.#rpc.getTrainingJob({ id });
    if (!isFieldSet(answer, GetTrainingJobResponseSchema.field.metadata) || !answer.metadata) {
      throw localError('TRAINING_JOB_NOT_FOUND', `There is no training job ${id}.`, { jobId: id });
    }
    return answer.metadata;
  }

  /** Lists jobs of an organization, newest first; without a status, all jobs. */
  async listTrainingJobs(organizationId: string, status?: TrainingStatus): Promise<TrainingJobMetadata[]> {
    const jobs: TrainingJobMetadata[] = [];
    // A response without pages is limited to 10,000 jobs.
    const pages = this.pagesOfTrainingJobs(organizationId, {
      ...(status !== undefined && { status }),
      pageSize: 1_000,
    });
    for await (const page of pages) jobs.push(...page);
    return jobs;
  }

  /**
   * Iterates over the jobs of an organization, newest first, page by page. Use it for long lists.
   *
   * @example for await (const page of client.mlTrainingClient.pagesOfTrainingJobs(orgId)) for (const job of page) console.log(job.id);
   */
  async *pagesOfTrainingJobs(
    organizationId: string,
    options: { readonly status?: TrainingStatus; readonly pageSize?: number } = {},
  ): AsyncGenerator<TrainingJobMetadata[], void> {
    const { status = TrainingStatus.UNSPECIFIED, pageSize = 100 } = options;
    let pageToken = '';
    do {
      const page = await this.#rpc.listTrainingJobs({ organizationId, status, pageSize, pageToken });
      if (page.jobs.length > 0) yield page.jobs;
      pageToken = page.nextPageToken;
    } while (pageToken !== '');
  }

  /** Lists the environments in which training scripts can run. */
  async listSupportedContainers(): Promise<Container[]> {
    const { containerMap } = await this.#rpc.listSupportedContainers({});
    return Object.values(containerMap);
  }

  /** Cancels a job: CANCELING, then CANCELED. @throws PlatformApiError TRAINING_JOB_NOT_FOUND, JOB_FINISHED. */
  async cancelTrainingJob(id: string): Promise<void> {
    await this.#rpc.cancelTrainingJob({ id });
  }

  /** Deletes a job that has ended. @throws PlatformApiError TRAINING_JOB_NOT_FOUND, JOB_NOT_FINISHED. */
  async deleteCompletedTrainingJob(id: string): Promise<void> {
    await this.#rpc.deleteCompletedTrainingJob({ id });
  }

  /** Returns all log lines of a job, oldest first. */
  async getTrainingJobLogs(id: string): Promise<TrainingJobLogEntry[]> {
    const lines: TrainingJobLogEntry[] = [];
    let pageToken = '';
    do {
      const page = await this.#rpc.getTrainingJobLogs({ id, pageToken });
      lines.push(...page.logs);
      pageToken = page.nextPageToken;
    } while (pageToken !== '');
    return lines;
  }

  /**
   * Iterates over the log lines of a job as they arrive, until the job ends. Retries while the server is unreachable.
   *
   * @example for await (const { level, message } of client.mlTrainingClient.followTrainingJobLogs(id)) console.log(level, message);
   */
  async *followTrainingJobLogs(id: string, options: FollowOptions = {}): AsyncGenerator<TrainingJobLogEntry, void> {
    const { signal, offlineMs = 60_000 } = options;
    const wait = { seconds: BigInt(followSeconds), nanos: 0 };
    let pageToken = '';
    let lastSeen = now();
    for (;;) {
      signal?.throwIfAborted();
      try {
        const page = await this.#rpc.getTrainingJobLogs({ id, pageToken, wait }, signal ? { signal } : {});
        lastSeen = now();
        yield* page.logs;
        pageToken = page.nextPageToken;
        if (pageToken === '') return;
      } catch (error) {
        if (!isPassing(error, lastSeen, offlineMs)) throw error;
        await sleep(1000, signal);
      }
    }
  }

  /**
   * Waits until a job has ended and returns it: COMPLETED, FAILED or CANCELED. Retries while the server is unreachable.
   *
   * @example const job = await client.mlTrainingClient.waitForTrainingJob(id, { onProgress: (j) => console.log(j.phase, j.progress) })
   */
  async waitForTrainingJob(id: string, options: WaitOptions = {}): Promise<TrainingJobMetadata> {
    const { onProgress, signal, everyMs = 1000, offlineMs = 60_000 } = options;
    let lastSeen = now();
    for (;;) {
      signal?.throwIfAborted();
      try {
        const job = await this.getTrainingJob(id);
        lastSeen = now();
        onProgress?.(job);
        if (hasEnded(job)) return job;
      } catch (error) {
        if (!isPassing(error, lastSeen, offlineMs)) throw error;
      }
      await sleep(everyMs, signal);
    }
  }
}
