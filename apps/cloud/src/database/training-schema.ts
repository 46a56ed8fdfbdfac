import type { Generated, GeneratedAlways, JSONColumnType } from 'kysely';
import type { JobLimits } from '@platform/contract/job/job';
import type { Predicted } from '@platform/contract/job/predictions';

/** ms since 1970 in memory; written with `at(ms)` of database.ts. */
type Time = number;
type Json = { [key: string]: unknown };

/** Origin of a datum, copied at the capture: renaming a machine later does not change it. */
export type Capture = {
  orgId: string;
  locationId: string;
  machineId: string | null;
  machineName: string;
  partId: string | null;
  partName: string;
  componentType: string;
  componentName: string;
  methodName: string;
  tags: string[];
};
export type BinaryData = Capture & {
  id: string;
  sha256: string;
  sizeBytes: number;
  fileName: string;
  fileExt: string;
  mimeType: string;
  methodParameters: JSONColumnType<Json> | null;
  timeRequested: Time;
  timeReceived: Time;
  identity: Buffer | null;
  /** Subset of `tags` that came with the capture. */
  captureTags: string[];
  /** What the bytes are. Null: not measured yet. */
  imageKind: Generated<'image' | 'broken' | 'too_large' | 'other' | null>;
  /** Media type by content. */
  imageType: Generated<string | null>;
  /** Upright. */
  imageWidth: Generated<number | null>;
  imageHeight: Generated<number | null>;
  /** Set if the image has 16 bits per channel. */
  imageUsedBits: Generated<number | null>;
  /** Why it cannot be used as an image, and what to do. */
  imageProblem: Generated<string | null>;
};
export type BoundingBoxRow = {
  orgId: string;
  id: string;
  binaryId: string;
  label: string;
  xMin: number;
  yMin: number;
  xMax: number;
  yMax: number;
  confidence: number | null;
  ordinal: Generated<number>;
};
export type ClassificationRow = {
  orgId: string;
  id: string;
  binaryId: string;
  label: string;
  confidence: number | null;
  ordinal: Generated<number>;
};
export type TabularDataRow = Omit<Capture, 'machineId' | 'partId'> & {
  id: string;
  machineId: string;
  partId: string;
  methodParameters: JSONColumnType<Json> | null;
  payload: JSONColumnType<Json>;
  timeRequested: Time;
  timeReceived: Time;
};
export type DatasetRow = {
  orgId: string;
  id: string;
  name: string;
  type: 'binary_data' | 'sequence_data';
  createdOn: Time;
};
/** `resourceNames` and `methodNames` are parallel lists; an empty method matches every method. */
export type SequenceRow = {
  orgId: string;
  id: string;
  partId: string;
  resourceNames: string[];
  methodNames: string[];
  tags: string[];
  startTime: Time;
  endTime: Time;
  createdOn: Time;
  updatedOn: Time;
};
export type SequenceExportRow = {
  orgId: string;
  id: string;
  datasetId: string;
  state: 'running' | 'completed' | 'failed';
  attempts: Generated<number>;
  fileSha256: string | null;
  sizeBytes: number | null;
  errorMessage: Generated<string>;
  createdOn: Time;
  completedOn: Time | null;
};
export type TrainingJobRow = {
  orgId: string;
  id: string;
  kind: string;
  modelName: string;
  modelVersion: string;
  modelFramework: string;
  labels: string[];
  arguments: JSONColumnType<Record<string, string>>;
  datasetId: string;
  datasetVersionId: string;
  manifestSha256: string;
  seed: number;
  limits: JSONColumnType<JobLimits>;
  registryItemId: Generated<string>;
  registryItemVersion: Generated<string>;
  scriptSha256: string | null;
  modelType: Generated<string>;
  containerVersion: Generated<string>;
  createdBy: string;
  state: 'pending' | 'in_progress' | 'completed' | 'failed' | 'canceling' | 'canceled';
  attempt: number;
  losses: number;
  runnerId: string | null;
  reported: boolean;
  leaseUntil: Time | null;
  notBefore: Time | null;
  cause: string | null;
  errorCode: string | null;
  errorMessage: string | null;
  phase: Generated<string>;
  progress: Generated<number>;
  etaMs: number | null;
  deadline: Time | null;
  evaluation: JSONColumnType<Json> | null;
  modelId: string | null;
  createdOn: Time;
  changedOn: Time;
  startedOn: Time | null;
  endedOn: Time | null;
  /** Order of submission over all organizations. */
  ordinal: GeneratedAlways<number>;
  gpus: GeneratedAlways<number>;
  /** The public state: a job in progress that an engine has queued is pending. */
  status: GeneratedAlways<'pending' | 'in_progress' | 'completed' | 'failed' | 'canceling' | 'canceled'>;
  scoreName: GeneratedAlways<string | null>;
  scoreValue: GeneratedAlways<number | null>;
  scoreCount: GeneratedAlways<number | null>;
};
export type StoredSuggestion = Predicted & { readonly id: string };
export type StoredContainer = {
  key: string;
  uri: string;
  framework: string;
  description: string;
  /** ms since 1970. */
  eol_ms: number | null;
};
export type PackageKind = 'archive' | 'ml_model' | 'module' | 'slam_map' | 'ml_training';
export type PackageFile = { path: string; sha256?: string; size_bytes: number };

/** Tables of captured data, datasets, training and registry. */
export type TrainingTables = {
  binaryData: BinaryData;
  boundingBox: BoundingBoxRow;
  classification: ClassificationRow;
  tabularData: TabularDataRow;
  dataset: DatasetRow;
  datasetMember: { orgId: string; datasetId: string; binaryId: string };
  sequence: SequenceRow;
  sequenceMember: { orgId: string; datasetId: string; sequenceId: string };
  sequenceExport: SequenceExportRow;
  datasetVersion: {
    orgId: string;
    id: string;
    datasetId: string;
    manifestSha256: string;
    images: number;
    counts: JSONColumnType<Json>;
    createdOn: Time;
  };
  modelVersionClaim: {
    orgId: string;
    modelName: string;
    modelVersion: string;
    claimedBy: string | null;
    claimedOn: Time;
  };
  trainingJob: TrainingJobRow;
  trainingEvent: {
    id: Generated<number>;
    orgId: string;
    jobId: string;
    at: Time;
    event: string;
    fromState: string | null;
    toState: string;
    attempt: number;
    actor: string;
    details: JSONColumnType<Json> | null;
  };
  trainingLog: {
    orgId: string;
    jobId: string;
    attempt: number;
    sequence: number;
    time: Time;
    level: string;
    message: string;
  };
  trainingMetric: {
    orgId: string;
    jobId: string;
    attempt: number;
    sequence: number;
    time: Time;
    values: JSONColumnType<Json>;
  };
  prediction: {
    orgId: string;
    datasetId: string;
    binaryId: string;
    jobId: string;
    modelName: string;
    modelVersion: string;
    modelType: string;
    suggestions: JSONColumnType<StoredSuggestion[]>;
    scores: JSONColumnType<Record<string, number>>;
    rejected: Generated<string[]>;
    copyGroup: number | null;
    madeOn: Time;
  };
  runner: {
    orgId: string;
    id: string;
    host: string;
    version: string;
    executor: string;
    kinds: string[];
    gpus: number;
    containers: JSONColumnType<StoredContainer[]>;
    noScriptsBecause: string;
    lastSeen: Time;
  };
  attemptKey: { orgId: string; jobId: string; attempt: number; id: string; keyHash: Buffer };
  registryItem: {
    orgId: string;
    name: string;
    type: PackageKind;
    visibility: Generated<'private' | 'public' | 'public_unlisted'>;
    description: Generated<string>;
    url: Generated<string>;
    metadata: JSONColumnType<Json>;
    createdOn: Time;
    updatedOn: Time;
  };
  registryVersion: {
    ordinal: Generated<number>;
    orgId: string;
    name: string;
    version: string;
    packageSha256: string;
    sizeBytes: number;
    crc32c: number;
    files: JSONColumnType<PackageFile[]>;
    metadata: JSONColumnType<Json>;
    platform: string | null;
    jobId: string | null;
    datasetVersionId: string | null;
    datasetId: string | null;
    scriptId: string | null;
    scriptVersion: string | null;
    evaluation: JSONColumnType<Json> | null;
    createdOn: Time;
  };
};
