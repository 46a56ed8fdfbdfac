import { randomUUID } from 'node:crypto';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { ambiguousAdvice } from '@platform/contract/job/dataset-rules';
import { connectCode, errorTable, PlatformError } from '@platform/contract/errors/errors';
import {
  type CheckTrainingDataRequest,
  type CheckTrainingDataResponseSchema,
  type JobResources,
  ModelFramework,
  type ModelType,
  type SubmitTrainingJobRequest,
} from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import type { JobKind, JobLimits } from '@platform/contract/job/job';
import { type BuiltInKind, builtInKinds, kindOfModelType, modelKinds } from '@platform/contract/job/model-kinds';
import type { Clock } from '@platform/kit';
import { type Caller, requireOwner } from '../access/rules/permissions.ts';
import { actorOf } from '../access/store/audit.ts';
import { audited } from '../access/store/audited.ts';
import type { BlobStore } from '../blobs/blob-store.ts';
import type { OrganizationUsage } from '../blobs/organization-usage.ts';
import { absentAdvice, advice, alikeAdvice, tagWordAdvice } from '../data/rules/dataset-rules.ts';
import { groupAdvice } from '../data/rules/split-checks.ts';
import { assessDataset, freeze, type Frozen, writeVersion } from '../data/store/dataset-versions.ts';
import { type Dataset, findDataset } from '../data/store/datasets.ts';
import { at, type Database, type Trx } from '../database/database.ts';
import { frameworkName } from '../registry/model-frameworks.ts';
import { refuseTakenName } from '../registry/store/registry.ts';
import { claimVersion, refuseTakenVersion } from '../registry/store/version-claims.ts';
import { durationMs } from '../rpc/protobuf-times.ts';
import * as check from '../rpc/rules/field-checks.ts';
import { submitted } from './rules/job-life.ts';
import { limitsOf } from './rules/resources.ts';
import { writeLogs } from './store/job-reports.ts';
import { insertJob } from './store/jobs.ts';
import { invalidArgument } from '../rpc/rules/invalid-argument.ts';

export type TrainingDeps = {
  db: Database;
  blobs: BlobStore;
  usage: OrganizationUsage;
  clock: Clock;
  stop: AbortSignal;
};

/** Queues a training of a built-in model type. @returns ID of the job. */
export async function submit(deps: TrainingDeps, request: SubmitTrainingJobRequest, caller: Caller): Promise<string> {
  const target = targetOf(request, caller);
  const kind = builtInKind(request.modelType);
  const framework = madeFramework(kind, request.modelFramework);
  const labels = check.labels(request.tags);
  const settings = check.trainerArguments(request.arguments, kind);
  const limits = resourcesOf(request.resources);
  const dataset = await ownImageDataset(deps, target);
  await refuseTaken(deps, target);
  return enqueue(deps, caller, { ...target, dataset, kind, framework, labels, arguments: settings, limits });
}

/** How a submit would split the dataset now. @throws PlatformError as a submit, except what breaks a training rule. */
export async function checkTrainingData(
  deps: TrainingDeps,
  request: CheckTrainingDataRequest,
  caller: Caller,
): Promise<MessageInitShape<typeof CheckTrainingDataResponseSchema>> {
  const orgId = check.filled('organization_id', request.organizationId);
  requireOwner(caller, orgId);
  const datasetId = check.filled('dataset_id', request.datasetId);
  const kind = builtInKind(request.modelType);
  const labels = check.labels(request.tags);
  const dataset = await ownImageDataset(deps, { orgId, datasetId });
  const assessed = await assessDataset(deps.db, { dataset, kind, labels });
  const { counts, found, used, groups, problem, files, notes } = assessed;
  const { train, validation, test } = used;
  const leftOut = counts ? absentAdvice(kind, counts, found) : [];
  if (counts && counts.ambiguous > 0) leftOut.push(ambiguousAdvice(counts.ambiguous));
  return {
    trainImages: train,
    validationImages: validation,
    testImages: test,
    ...groups,
    ...(problem && { problem: { code: connectCode[errorTable[problem.code].rpc], message: problem.message } }),
    advice: [
      ...files,
      ...tagWordAdvice(labels),
      ...alikeAdvice(labels),
      ...(problem ? [] : [...leftOut, ...groupAdvice(groups), ...notes]),
    ],
  };
}

/** Fields that every submit has, checked without the database. */
export type Target = { orgId: string; datasetId: string; modelName: string; modelVersion: string };

/** @throws PlatformError INVALID_ARGUMENT, ORGANIZATION_NOT_FOUND, NOT_OWNER */
export function targetOf(
  request: { organizationId: string; datasetId: string; modelName: string; modelVersion: string },
  caller: Caller,
): Target {
  const orgId = check.filled('organization_id', request.organizationId);
  requireOwner(caller, orgId);
  return {
    orgId,
    datasetId: check.filled('dataset_id', request.datasetId),
    modelName: check.packageName('model_name', request.modelName),
    modelVersion: check.packageVersion('model_version', request.modelVersion),
  };
}

/** @throws PlatformError INVALID_ARGUMENT */
export const resourcesOf = (requested: JobResources | undefined): JobLimits =>
  limitsOf(
    requested && {
      gpus: requested.gpus,
      timeLimitMs: durationMs(requested.timeLimit),
      memoryMib: requested.memoryMib,
      diskMib: requested.diskMib,
    },
  );

/** @throws PlatformError DATASET_NOT_FOUND, DATASET_TYPE_MISMATCH */
export async function ownImageDataset(
  { db }: TrainingDeps,
  { orgId, datasetId }: Pick<Target, 'orgId' | 'datasetId'>,
): Promise<Dataset> {
  const dataset = await findDataset(db, datasetId);
  if (dataset?.orgId !== orgId) throw new PlatformError('DATASET_NOT_FOUND', { datasetId });
  if (dataset.type !== 'binary_data') {
    throw new PlatformError('DATASET_TYPE_MISMATCH', { datasetId, type: 'sequences', wanted: 'images' });
  }
  return dataset;
}

/** @throws PlatformError MODEL_VERSION_TAKEN, NAME_TAKEN */
export async function refuseTaken({ db }: TrainingDeps, target: Target): Promise<void> {
  await refuseTakenVersion(db, target);
  await refuseTakenName(db, { orgId: target.orgId, name: target.modelName, type: 'ml_model' });
}

export type NewJob = Target & {
  dataset: Dataset;
  kind: JobKind;
  framework: string;
  labels: string[];
  arguments: Record<string, string>;
  limits: JobLimits;
  /** The package that it runs with: a script, or the model of a prediction. */
  script?: { id: string; version: string; sha256: string; modelType: string; container: string };
  /** Absent: as for a training, by its rules. */
  freeze?: () => Promise<Frozen>;
  /** Further writes of the transaction. */
  also?: (trx: Trx) => Promise<void>;
};

/** Freezes the dataset and queues the job. Claims and writes nothing until all checks have passed. */
export async function enqueue({ db, blobs, usage, clock }: TrainingDeps, caller: Caller, job: NewJob): Promise<string> {
  const { orgId, modelName, modelVersion, dataset, kind, labels, script } = job;
  using admission = await usage.admit([orgId]);
  const frozen = await (job.freeze?.() ?? freeze(db, blobs, { dataset, kind, labels }));
  const isPrediction = kind === 'predict';
  // Not inside `freeze`: it holds a database connection, and this may need another one.
  await admission.take(frozen.manifest.sizeBytes);
  const id = randomUUID();
  const now = clock.wall();
  const by = { actor: actorOf(caller), now };
  await audited({ db }, caller, async (trx, record) => {
    if (!isPrediction) await claimVersion(trx, { orgId, modelName, modelVersion, claimedBy: id, now });
    const datasetVersionId = await writeVersion(trx, { orgId, datasetId: dataset.id, frozen, now });
    const values = {
      orgId,
      id,
      kind,
      modelName,
      modelVersion,
      modelFramework: job.framework,
      labels,
      arguments: JSON.stringify(job.arguments),
      datasetId: dataset.id,
      datasetVersionId,
      manifestSha256: frozen.manifest.sha256,
      seed: check.seedOf(modelName, modelVersion),
      limits: JSON.stringify(job.limits),
      ...(script && {
        registryItemId: script.id,
        registryItemVersion: script.version,
        scriptSha256: script.sha256,
        modelType: script.modelType,
        containerVersion: script.container,
      }),
      createdBy: by.actor,
      state: submitted.at,
      attempt: submitted.attempt,
      losses: submitted.losses,
      reported: false,
      createdOn: at(now),
      changedOn: at(now),
    };
    const row = await insertJob(trx, values, by);
    const notes = [...advice(kind, frozen.counts, frozen.found), ...frozen.notes].map((message, index) => ({
      sequence: index + 1,
      time: now,
      level: 'warn',
      message,
    }));
    await writeLogs(trx, row, 0, notes);
    await job.also?.(trx);
    const action = isPrediction ? 'start prediction' : 'submit training';
    await record({ orgId, action, subject: id, details: { modelName, modelVersion } });
  });
  admission.keep();
  return id;
}

function builtInKind(type: ModelType): BuiltInKind {
  const kind = kindOfModelType(type);
  if (kind) return kind;
  throw invalidArgument(
    'model_type',
    type,
    builtInKinds.map((known) => `MODEL_TYPE_${known.toUpperCase()}`).join(', '),
  );
}

/** @throws PlatformError FRAMEWORK_NOT_SUPPORTED with the list of supported ones. */
function madeFramework(kind: BuiltInKind, requested: ModelFramework): string {
  const made = modelKinds[kind].frameworks;
  const [usual] = made;
  if (requested === ModelFramework.UNSPECIFIED) return usual;
  const name = frameworkName(requested);
  const found = made.find((one) => one === name);
  if (found) return found;
  throw new PlatformError('FRAMEWORK_NOT_SUPPORTED', {
    framework: name.toUpperCase(),
    modelType: kind,
    made: made.map((one) => `MODEL_FRAMEWORK_${one.toUpperCase()}`).join(', '),
  });
}
