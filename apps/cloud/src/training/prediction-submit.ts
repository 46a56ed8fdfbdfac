import { PlatformError } from '@platform/contract/errors/errors';
import type { StartPredictionRequest } from '@platform/contract/gen/platform/suggestions/v1/suggestions_pb';
import { modelFiles } from '@platform/contract/job/job';
import { type ModelKind, modelKind } from '@platform/contract/job/model-kinds';
import { type Caller, requireOwner } from '../access/rules/permissions.ts';
import { freezeForPrediction } from '../data/store/prediction-manifest.ts';
import { findPackage, type Version } from '../registry/store/registry.ts';
import * as check from '../rpc/rules/field-checks.ts';
import { enqueue, ownImageDataset, resourcesOf, type TrainingDeps } from './training-submit.ts';

/** Queues a job that predicts labels or boxes for images of a dataset. @returns ID of the job. */
export async function startPrediction(
  deps: TrainingDeps,
  request: StartPredictionRequest,
  caller: Caller,
): Promise<string> {
  const orgId = check.filled('organization_id', request.organizationId);
  requireOwner(caller, orgId);
  const datasetId = check.filled('dataset_id', request.datasetId);
  const modelName = check.packageName('model_name', request.modelName);
  const wanted = check.shortText('model_version', request.modelVersion);
  const limits = resourcesOf(request.resources);
  const dataset = await ownImageDataset(deps, { orgId, datasetId });
  const version = await findPackage(deps.db, { orgId, name: modelName, version: wanted, type: 'ml_model' });
  if (!version) throw new PlatformError('PACKAGE_NOT_FOUND', { packageId: modelName, version: wanted });
  const { modelType, labelSource } = usableModel(version);
  const { db, blobs } = deps;
  const unlabelled = request.unlabeledOnly ? labelSource : undefined;
  return enqueue(deps, caller, {
    orgId,
    datasetId,
    modelName,
    modelVersion: version.version,
    dataset,
    kind: 'predict',
    framework: 'onnx',
    labels: [],
    arguments: {},
    limits,
    script: {
      id: `${orgId}:${modelName}`,
      version: version.version,
      sha256: version.packageSha256,
      modelType,
      container: '',
    },
    freeze: () => freezeForPrediction(db, blobs, { dataset, unlabelled }),
  });
}

/** @throws PlatformError MODEL_CANNOT_SUGGEST for every model that no built-in trainer made, or that has no ONNX file. */
function usableModel(version: Version): { modelType: string; labelSource: ModelKind['labelSource'] } {
  const refused = (problem: string): PlatformError =>
    new PlatformError('MODEL_CANNOT_SUGGEST', { modelName: version.name, version: version.version, problem });
  if (version.scriptId !== null) throw refused(`the training script ${version.scriptId} made it`);
  if (version.jobId === null) throw refused('it was uploaded, and its format is not known');
  const modelType = version.metadata['model_type'];
  const facts = modelKind(typeof modelType === 'string' ? modelType : undefined);
  if (!facts || typeof modelType !== 'string') throw refused(`its type "${String(modelType ?? '')}" is not known`);
  const paths = new Set(version.files.map((file) => file.path));
  for (const needed of [`${version.name}.onnx`, modelFiles.labels])
    if (!paths.has(needed)) throw refused(`it has no file ${needed}`);
  return { modelType, labelSource: facts.labelSource };
}
