import type { Client } from '@connectrpc/connect';
import { AuditService } from '@platform/contract/gen/platform/audit/v1/audit_pb';
import { DataService } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { DatasetService } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import { DataSyncService } from '@platform/contract/gen/platform/app/datasync/v1/data_sync_pb';
import { MLTrainingService } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { PackageService, PackageType } from '@platform/contract/gen/platform/app/packages/v1/packages_pb';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { BulkService } from '@platform/contract/gen/platform/bulk/v1/bulk_pb';
import { ConditionService } from '@platform/contract/gen/platform/conditions/v1/conditions_pb';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { LiveService } from '@platform/contract/gen/platform/live/v1/live_pb';
import { ReleaseService } from '@platform/contract/gen/platform/release/v1/release_pb';
import { TimelineService } from '@platform/contract/gen/platform/timeline/v1/timeline_pb';
import { RunnerService } from '@platform/contract/gen/platform/runner/v1/runner_pb';
import { SuggestionService } from '@platform/contract/gen/platform/suggestions/v1/suggestions_pb';
import { SessionService } from '@platform/contract/gen/platform/session/v1/session_pb';
import { Connection, type PlatformClientOptions } from './connection.ts';
import { DataClient } from './data.ts';
import { DatasetClient } from './dataset.ts';
import { ModelClient } from './model-client.ts';
import { Packages } from './packages.ts';
import { ReleaseClient } from './release.ts';
import { TrainingScriptClient } from './script-client.ts';
import { MlTrainingClient } from './training.ts';

/** Clients of all services for one caller of one server. All calls reject with PlatformApiError. */
export interface PlatformClient {
  /** URL of the server, without a trailing slash. */
  readonly url: string;
  readonly mlTrainingClient: MlTrainingClient;
  readonly dataClient: DataClient;
  readonly datasetClient: DatasetClient;
  readonly modelClient: ModelClient;
  readonly trainingScriptClient: TrainingScriptClient;
  readonly releaseClient: ReleaseClient;
  /** The runner side of the job queue; users list runners here. */
  readonly runnerClient: Client<typeof RunnerService>;
  /** Machines, their status and configuration. */
  readonly fleetClient: Client<typeof FleetService>;
  /** Changes of many machines. */
  readonly bulkClient: Client<typeof BulkService>;
  /** What happened to a machine. */
  readonly timelineClient: Client<typeof TimelineService>;
  /** Live images of cameras. */
  readonly liveClient: Client<typeof LiveService>;
  /** What needs attention, and the numbers of an organization. */
  readonly conditionClient: Client<typeof ConditionService>;
  /** Organizations, locations, API keys, logs, registry. */
  readonly appClient: Client<typeof AppService>;
  /** Versions of models and training scripts. */
  readonly packageClient: Client<typeof PackageService>;
  /** What models suggest for the images of a dataset. */
  readonly suggestionClient: Client<typeof SuggestionService>;
  /** Audit log of changes, for owners. */
  readonly auditClient: Client<typeof AuditService>;
  /** The caller's identity; sign-in links. */
  readonly sessionClient: Client<typeof SessionService>;
  /** Sends a plain HTTP request with the caller's token to a path of the server; rejects unless the status is 2xx. */
  request(path: string, init?: RequestInit): Promise<Response>;
}

/**
 * Creates a client. It connects at the first call, authenticates itself, and renews an expired token.
 *
 * @throws PlatformApiError INVALID_ARGUMENT when URL or key are neither given nor in the environment.
 * @example
 * const client = createPlatformClient({
 *   baseUrl: 'http://127.0.0.1:8080',
 *   credentials: { type: 'api-key', authEntity: '<API key ID>', payload: '<API key>' },
 * });
 * const jobs = await client.mlTrainingClient.listTrainingJobs(organizationId, TrainingStatus.RUNNING);
 */
export function createPlatformClient(options: PlatformClientOptions = {}): PlatformClient {
  const connection = new Connection(options);
  const packages = (type: PackageType): Packages =>
    new Packages({ packages: connection.client(PackageService), app: connection.client(AppService), connection, type });
  return {
    url: connection.url,
    mlTrainingClient: new MlTrainingClient(connection.client(MLTrainingService)),
    dataClient: new DataClient(connection.client(DataService), connection.client(DataSyncService)),
    datasetClient: new DatasetClient(connection.client(DatasetService)),
    modelClient: new ModelClient(packages(PackageType.ML_MODEL)),
    trainingScriptClient: new TrainingScriptClient(packages(PackageType.ML_TRAINING), connection),
    runnerClient: connection.client(RunnerService),
    releaseClient: new ReleaseClient(connection.client(ReleaseService), connection),
    fleetClient: connection.client(FleetService),
    bulkClient: connection.client(BulkService),
    timelineClient: connection.client(TimelineService),
    liveClient: connection.client(LiveService),
    conditionClient: connection.client(ConditionService),
    appClient: connection.client(AppService),
    packageClient: connection.client(PackageService),
    suggestionClient: connection.client(SuggestionService),
    auditClient: connection.client(AuditService),
    sessionClient: connection.client(SessionService),
    request: (path, init) => connection.request(path, init),
  };
}
