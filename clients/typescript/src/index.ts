export { createPlatformClient, type PlatformClient } from './client.ts';
export type { ApiKeyCredentials, Credentials, PartCredentials, PlatformClientOptions } from './connection.ts';
export type { Box, DataClient, Filter, ImageUpload, Page, UploadManyOptions, UploadOptions } from './data.ts';
export type { DatasetClient } from './dataset.ts';
export type { DownloadOptions } from './download.ts';
export { PlatformApiError } from './errors.ts';
export { allMachines, machinesNamed } from './machines.ts';
export type { ModelClient } from './model-client.ts';
export type { PackageVersion } from './packages.ts';
export { allPages } from './pages.ts';
export type { ReleaseClient, ReleaseFile } from './release.ts';
export type { ScriptUploadOptions, TrainingScriptClient } from './script-client.ts';
export {
  type CustomSubmitOptions,
  type FollowOptions,
  type JobResources,
  type MlTrainingClient,
  type SubmitOptions,
  type WaitOptions,
  hasEnded,
} from './training.ts';
export {
  type Container,
  ModelFramework,
  ModelType,
  type TrainingJobLogEntry,
  type TrainingJobMetadata,
  TrainingStatus,
} from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
