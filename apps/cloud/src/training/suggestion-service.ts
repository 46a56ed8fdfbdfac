import type { ConnectRouter, ServiceImpl } from '@connectrpc/connect';
import { PlatformError } from '@platform/contract/errors/errors';
import {
  type ReviewLabelsResponseSchema,
  type StartPredictionRequest,
  SuggestionService,
} from '@platform/contract/gen/platform/suggestions/v1/suggestions_pb';
import { isUuid } from '@platform/contract/text/names';
import { callerOf } from '../access/caller.ts';
import { type Caller, requireMember, requireOwner } from '../access/rules/permissions.ts';
import { binaryDataId, parseBinaryDataId } from '../data/rules/manifest.ts';
import { type Dataset, findDataset } from '../data/store/datasets.ts';
import type { Database } from '../database/database.ts';
import { timeOf } from '../rpc/protobuf-times.ts';
import * as check from '../rpc/rules/field-checks.ts';
import { findPredictions, type PredictedImage, predictedImages, setRejected } from './store/predictions.ts';
import { boxMessage } from './suggested-box.ts';
import { enqueue, ownImageDataset, resourcesOf, type TrainingDeps } from './training-submit.ts';
import { modelFiles } from '@platform/contract/job/job';
import { type ModelKind, modelKind } from '@platform/contract/job/model-kinds';
import { freezeForPrediction } from '../data/store/prediction-manifest.ts';
import { findPackage, type Version } from '../registry/store/registry.ts';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { labelsOf } from '../data/rules/dataset-rules.ts';
import type { DatasetKey } from '../data/store/dataset-members.ts';
import { type Doubt, doubtsOf, strengthOf } from './rules/doubtful-labels.ts';
import { invalidArgument } from '../rpc/rules/invalid-argument.ts';

const mostImages = 500;
const mostRejected = 500;

/** Calls on what models suggest for the images of a dataset. */
const suggestionCalls = (deps: TrainingDeps) => {
  const { db } = deps;
  return {
    startPrediction: async (request, context) => ({ jobId: await startPrediction(deps, request, callerOf(context)) }),

    async listSuggestions({ datasetId, binaryDataIds }, context) {
      const dataset = await memberDataset(db, datasetId, callerOf(context));
      if (binaryDataIds.length > mostImages) {
        const value = `${binaryDataIds.length} IDs`;
        throw invalidArgument('binary_data_ids', value, `at most ${mostImages}`);
      }
      const ids = binaryDataIds.map((id) => idIn(dataset, id));
      const found = new Map((await findPredictions(db, dataset, ids)).map((row) => [row.binaryId, row]));
      const images = [...new Set(ids)].flatMap((id) => {
        const row = found.get(id);
        return row ? [imageMessage(row)] : [];
      });
      return { images };
    },

    async rejectSuggestions({ datasetId, binaryDataId: id, suggestionIds: ids, undo }, context) {
      const dataset = await memberDataset(db, datasetId, callerOf(context));
      if (ids.length > mostRejected) {
        const [field, value] = ['suggestion_ids', `${ids.length} IDs`];
        throw new PlatformError('INVALID_ARGUMENT', { field, value, limit: `at most ${mostRejected}` });
      }
      const wrong = ids.find((one) => !isUuid(one));
      if (wrong !== undefined) throw invalidArgument('suggestion_ids', wrong, 'IDs of suggestions');
      const isThere = await setRejected(db, dataset, idIn(dataset, id), { ids, undo });
      if (!isThere) throw new PlatformError('BINARY_DATA_NOT_FOUND', { binaryDataId: id });
      return {};
    },

    async reviewLabels({ datasetId }, context) {
      return reviewLabels(db, await memberDataset(db, datasetId, callerOf(context)));
    },
  } satisfies ServiceImpl<typeof SuggestionService>;
};

export const suggestionRoutes =
  (deps: TrainingDeps) =>
  (router: ConnectRouter): void => {
    router.service(SuggestionService, suggestionCalls(deps));
  };

function imageMessage(row: Awaited<ReturnType<typeof findPredictions>>[number]) {
  return {
    binaryDataId: binaryDataId({ orgId: row.orgId, locationId: row.locationId, id: row.binaryId }),
    suggestions: row.suggestions.map(({ id, label, score, box }) => ({
      id,
      label,
      score,
      ...(box && { box: boxMessage(box) }),
      rejected: row.rejected.includes(id),
    })),
    modelName: row.modelName,
    modelVersion: row.modelVersion,
    jobId: row.jobId,
    madeOn: timeOf(row.madeOn),
  };
}

/** @throws PlatformError DATASET_NOT_FOUND, PERMISSION_DENIED */
async function memberDataset(db: Database, id: string, caller: Caller): Promise<Dataset> {
  const absent = () => new PlatformError('DATASET_NOT_FOUND', { datasetId: id });
  const dataset = await findDataset(db, check.filled('dataset_id', id));
  if (!dataset) throw absent();
  requireMember(caller, dataset.orgId, absent);
  return dataset;
}

/** @throws PlatformError BINARY_DATA_NOT_FOUND for a malformed ID or one of another organization. */
function idIn(dataset: Dataset, id: string): string {
  const key = parseBinaryDataId(id);
  if (key?.orgId.toLowerCase() !== dataset.orgId)
    throw new PlatformError('BINARY_DATA_NOT_FOUND', { binaryDataId: id });
  return key.id.toLowerCase();
}

/** Queues a job that predicts labels or boxes for images of a dataset. @returns ID of the job. */
async function startPrediction(deps: TrainingDeps, request: StartPredictionRequest, caller: Caller): Promise<string> {
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

/** What of a dataset's labels a user should look at again. */

const mostDoubtful = 500;
const mostGroups = 500;
const mostCopies = 20;

type Named = { binaryDataId: string; fileName: string };
type Copy = Named & { labels: string[] };

async function reviewLabels(
  db: Database,
  dataset: DatasetKey,
): Promise<MessageInitShape<typeof ReviewLabelsResponseSchema>> {
  let doubtful: (Doubt & Named)[] = [];
  const groups = new Map<string, Copy[]>();
  let isCut = false;
  for await (const page of predictedImages(db, dataset)) {
    for (const image of page) {
      const labels = labelsOf(image);
      const named = namedImage(dataset, image);
      doubtful.push(...doubtsOf({ ...image, labels }).map((doubt) => ({ ...doubt, ...named })));
      if (image.copyGroup !== null) addTo(groups, `${image.jobId} ${image.copyGroup}`, copyOf(image, labels, named));
    }
    // Only the strongest stay in memory.
    isCut ||= doubtful.length > mostDoubtful;
    doubtful = doubtful.toSorted((a, b) => strengthOf(b) - strengthOf(a)).slice(0, mostDoubtful);
  }
  const copies = [...groups.values()]
    .filter(({ length }) => length > 1)
    .map((images) => ({ images, labelsDiffer: new Set(images.map(({ labels }) => labels.join('\0'))).size > 1 }))
    .toSorted((a, b) => Number(b.labelsDiffer) - Number(a.labelsDiffer));
  return {
    doubtful: doubtful.map(({ box, ...one }) => ({ ...one, ...(box && { box: boxMessage(box) }) })),
    nearCopies: copies.slice(0, mostGroups).map(({ images, labelsDiffer }) => ({
      images: images.slice(0, mostCopies),
      labelsDiffer,
    })),
    truncated: isCut || copies.length > mostGroups,
  };
}

const namedImage = ({ orgId }: DatasetKey, { locationId, binaryId: id, fileName }: PredictedImage): Named => ({
  binaryDataId: binaryDataId({ orgId, locationId, id }),
  fileName,
});

/** Labels of the image, then those of its boxes. */
const copyOf = ({ boxes }: PredictedImage, labels: readonly string[], named: Named): Copy => ({
  ...named,
  labels: [...new Set([...labels, ...boxes.map(({ label }) => label).toSorted()])],
});

function addTo<T>(groups: Map<string, T[]>, key: string, item: T): void {
  const known = groups.get(key);
  if (known) known.push(item);
  else groups.set(key, [item]);
}
