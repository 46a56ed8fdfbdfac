import { isFieldSet } from '@bufbuild/protobuf';
import type { Client } from '@connectrpc/connect';
import {
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
  /** Called with the job whenever it was read. */
  readonly onProgress?: (job: TrainingJobMetadata) => void;
  /** Ends the waiting (not the job): the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Time between two looks in ms. Default: 1000. */
  readonly everyMs?: number;
  /** How long the server may be out of reach meanwhile, in ms. Default: 60 000. */
  readonly offlineMs?: number;
}

export interface SubmitOptions {
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

/** Whether a job reached its end, whatever its result. */
export const hasEnded = (job: TrainingJobMetadata): boolean => ended.has(job.status);

/** Training jobs of an organization; needs an API key with the owner role. */
export class MlTrainingClient {
  readonly #rpc: Client<typeof MLTrainingService>;

  constructor(rpc: Client<typeof MLTrainingService>) {
    this.#rpc = rpc;
  }

  /**
   * Queues a training of a built-in model type. The dataset is frozen at this moment.
   *
   * @param modelVersion - never used before for this model name.
   * @param tags - labels to train on.
   * @returns the ID of the job.
   * @throws PlatformApiError MODEL_VERSION_TAKEN, DATASET_NOT_FOUND, DATASET_EMPTY, TOO_FEW_LABELS, TOO_FEW_PICTURES, NOT_OWNER.
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
    });
    return id;
  }

  /**
   * Queues a run of a training script of the registry.
   *
   * @param registryItemId - `<namespace or organization ID>:<name>`.
   * @param args - passed to the script as `--key=value`.
   * @returns the ID of the job.
   */
  async submitCustomTrainingJob(
    organizationId: string,
    datasetId: string,
    registryItemId: string,
    registryItemVersion: string,
    modelName: string,
    modelVersion: string,
    args: Readonly<Record<string, string>> = {},
  ): Promise<string> {
    const request = {
      organizationId,
      datasetId,
      registryItemId,
      registryItemVersion,
      modelName,
      modelVersion,
      arguments: { ...args },
    };
    const { id } = await this.#rpc.submitCustomTrainingJob(request);
    return id;
  }

  /** A job with its progress, metrics and, at its end, evaluation. @throws PlatformApiError TRAINING_JOB_NOT_FOUND. */
  async getTrainingJob(id: string): Promise<TrainingJobMetadata> {
    const answer = await this.#rpc.getTrainingJob({ id });
    if (!isFieldSet(answer, GetTrainingJobResponseSchema.field.metadata) || !answer.metadata) {
      throw localError('TRAINING_JOB_NOT_FOUND', `There is no training job ${id}.`, { jobId: id });
    }
    return answer.metadata;
  }

  /** Jobs of an organization, newest first; without a status all of them. */
  async listTrainingJobs(organizationId: string, status?: TrainingStatus): Promise<TrainingJobMetadata[]> {
    const { jobs } = await this.#rpc.listTrainingJobs({ organizationId, status: status ?? TrainingStatus.UNSPECIFIED });
    return jobs;
  }

  /** Asks a job to stop; it becomes CANCELING, then CANCELED. @throws PlatformApiError TRAINING_JOB_NOT_FOUND, JOB_FINISHED. */
  async cancelTrainingJob(id: string): Promise<void> {
    await this.#rpc.cancelTrainingJob({ id });
  }

  /** Deletes a job that ended, whether it succeeded or failed. @throws PlatformApiError TRAINING_JOB_NOT_FOUND, JOB_NOT_FINISHED. */
  async deleteCompletedTrainingJob(id: string): Promise<void> {
    await this.#rpc.deleteCompletedTrainingJob({ id });
  }

  /** All log lines of a job, oldest first. */
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
   * Waits until a job ended and returns it: COMPLETED, FAILED or CANCELED. Bridges a server that is out of reach for a while.
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
        const isPassing = error instanceof PlatformApiError && error.retry === 'later' && now() - lastSeen < offlineMs;
        if (!isPassing) throw error;
      }
      await sleep(everyMs, signal);
    }
  }
}
