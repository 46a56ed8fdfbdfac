import type { ConnectRouter, ServiceImpl } from '@connectrpc/connect';
import { PlatformError } from '@platform/contract/errors/errors';
import { SuggestionService } from '@platform/contract/gen/platform/suggestions/v1/suggestions_pb';
import { isUuid } from '@platform/contract/text/names';
import { callerOf } from '../access/caller.ts';
import { type Caller, requireMember } from '../access/rules/permissions.ts';
import { binaryDataId, parseBinaryDataId } from '../data/rules/manifest.ts';
import { type Dataset, findDataset } from '../data/store/datasets.ts';
import type { Database } from '../database/database.ts';
import { timeOf } from '../rpc/protobuf-times.ts';
import * as check from '../rpc/rules/field-checks.ts';
import { reviewLabels } from './label-review.ts';
import { startPrediction } from './prediction-submit.ts';
import { findPredictions, setRejected } from './store/predictions.ts';
import { boxMessage } from './suggested-box.ts';
import type { TrainingDeps } from './training-submit.ts';

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
        throw new PlatformError('INVALID_ARGUMENT', {
          field: 'binary_data_ids',
          value,
          limit: `at most ${mostImages}`,
        });
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
      if (wrong !== undefined)
        throw new PlatformError('INVALID_ARGUMENT', {
          field: 'suggestion_ids',
          value: wrong,
          limit: 'IDs of suggestions',
        });
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
