import { randomUUID } from 'node:crypto';
import { PlatformError } from '@platform/contract/errors';
import {
  ModelFramework,
  ModelType,
  type SubmitCustomTrainingJobRequest,
  type SubmitTrainingJobRequest,
} from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { advice, checkSingleLabel } from '../rules/dataset-rules.ts';
import { submitted } from '../rules/job-life.ts';
import { type Caller, requireOwner } from '../rules/permissions.ts';
import * as check from '../rules/submission.ts';
import { actorOf, audit } from '../store/audit.ts';
import { membersOf } from '../store/binary-data.ts';
import { at } from '../store/database.ts';
import { freeze, writeVersion } from '../store/dataset-versions.ts';
import { findDataset } from '../store/datasets.ts';
import { writeLogs } from '../store/job-reports.ts';
import { claimVersion, insertJob, refuseTakenVersion } from '../store/jobs.ts';
import { findPackage, orgOfNamespace } from '../store/registry.ts';
import type { Deps } from './routes.ts';
import { frameworkName, kindOf } from './training-metadata.ts';

export type TrainingDeps = Pick<Deps, 'db' | 'blobs' | 'clock'>;

/** What a job may use; the runner enforces it. */
const limits = { wall_seconds: 3600, memory_mib: 2048, disk_mib: 4096 };

/** Freezes the dataset and queues the job. Nothing is claimed or written before everything was found right. */
export async function submit(deps: TrainingDeps, request: SubmitTrainingJobRequest, caller: Caller): Promise<string> {
  const { db, blobs, clock } = deps;
  const orgId = check.filled('organization_id', request.organizationId);
  requireOwner(caller, orgId);
  const datasetId = check.filled('dataset_id', request.datasetId);
  const modelName = check.packageName('model_name', request.modelName);
  const modelVersion = check.packageVersion('model_version', request.modelVersion);
  const kind = builtInKind(request.modelType);
  const framework = madeFramework(request.modelFramework);
  const labels = check.labels(request.tags);
  const settings = check.trainerArguments(request.arguments);

  const dataset = await findDataset(db, datasetId);
  if (dataset?.orgId !== orgId) throw new PlatformError('DATASET_NOT_FOUND', { datasetId });
  if (dataset.type !== 'binary_data') {
    throw new PlatformError('DATASET_TYPE_MISMATCH', { datasetId, type: 'sequences', wanted: 'pictures' });
  }
  await refuseTakenVersion(db, { orgId, modelName, modelVersion });
  const pictures = await membersOf(db, orgId, dataset.id);
  const verdict = checkSingleLabel(pictures, labels);
  if (!verdict.ok) throw new PlatformError(verdict.code, { datasetId, ...verdict.data });
  const frozen = await freeze(blobs, pictures, labels, verdict.counts);

  const id = randomUUID();
  const now = clock.wall();
  await db.transaction().execute(async (trx) => {
    await claimVersion(trx, { orgId, modelName, modelVersion, claimedBy: id, now });
    const datasetVersionId = await writeVersion(trx, { orgId, datasetId: dataset.id, frozen, now });
    const job = await insertJob(
      trx,
      {
        orgId,
        id,
        kind,
        modelName,
        modelVersion,
        modelFramework: framework,
        labels,
        arguments: JSON.stringify(settings),
        datasetId: dataset.id,
        datasetVersionId,
        manifestSha256: frozen.manifest.sha256,
        seed: check.seedOf(modelName, modelVersion),
        limits: JSON.stringify(limits),
        createdBy: actorOf(caller),
        state: submitted.at,
        attempt: submitted.attempt,
        losses: submitted.losses,
        reported: false,
        createdOn: at(now),
        changedOn: at(now),
      },
      { actor: actorOf(caller), now },
    );
    const notes = advice(verdict.counts).map((message, index) => ({
      sequence: index + 1,
      time: now,
      level: 'warn',
      message,
    }));
    await writeLogs(trx, job, 0, notes);
    await audit(trx, { orgId, caller, action: 'submit training', subject: id, details: { modelName, modelVersion } });
  });
  return id;
}

function builtInKind(type: ModelType): string {
  const kind = kindOf.get(type);
  if (!kind) {
    throw new PlatformError('INVALID_ARGUMENT', {
      field: 'model_type',
      value: type,
      limit: 'MODEL_TYPE_SINGLE_LABEL_CLASSIFICATION',
    });
  }
  if (type !== ModelType.SINGLE_LABEL_CLASSIFICATION) {
    throw new PlatformError('MODEL_TYPE_NOT_SUPPORTED', { modelType: `MODEL_TYPE_${kind.toUpperCase()}` });
  }
  return kind;
}

function madeFramework(framework: ModelFramework): string {
  if (framework === ModelFramework.UNSPECIFIED || framework === ModelFramework.ONNX) return 'onnx';
  throw new PlatformError('FRAMEWORK_NOT_SUPPORTED', { framework: frameworkName(framework).toUpperCase() });
}

/** Everything about the request is checked as it will be; running scripts needs a sandbox that the runner does not have yet. */
export async function submitCustom(
  deps: TrainingDeps,
  request: SubmitCustomTrainingJobRequest,
  caller: Caller,
): Promise<string> {
  const { db } = deps;
  const orgId = check.filled('organization_id', request.organizationId);
  requireOwner(caller, orgId);
  const datasetId = check.filled('dataset_id', request.datasetId);
  const modelName = check.packageName('model_name', request.modelName);
  const modelVersion = check.packageVersion('model_version', request.modelVersion);
  const { owner, name } = check.registryItemId('registry_item_id', request.registryItemId);
  const version = check.shortText('registry_item_version', request.registryItemVersion);
  check.scriptArguments(request.arguments);

  const dataset = await findDataset(db, datasetId);
  if (dataset?.orgId !== orgId) throw new PlatformError('DATASET_NOT_FOUND', { datasetId });
  await refuseTakenVersion(db, { orgId, modelName, modelVersion });
  const scriptOrg = await orgOfNamespace(db, owner);
  const script =
    scriptOrg === orgId ? await findPackage(db, { orgId: scriptOrg, name, version, type: 'ml_training' }) : undefined;
  if (!script) throw new PlatformError('SCRIPT_NOT_FOUND', { registryItemId: request.registryItemId, version });
  throw new PlatformError('UNSUPPORTED', { what: 'runs of custom training scripts; use a built-in model type' });
}
