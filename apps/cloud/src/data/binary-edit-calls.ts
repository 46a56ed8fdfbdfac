import { toJson } from '@bufbuild/protobuf';
import type { ServiceImpl } from '@connectrpc/connect';
import { isUuid } from '@platform/contract/text/names';
import { PlatformError } from '@platform/contract/errors/errors';
import { type BoundingBox, type DataService, FilterSchema } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { callerOf } from '../access/caller.ts';
import { type Caller, requireMember } from '../access/rules/permissions.ts';
import type { Database } from '../database/database.ts';
import * as check from '../rpc/rules/field-checks.ts';
import { existingKeys, type NamedDatum, namedData, namedDatum, readFilter, refuseEmpty } from './data-filter.ts';
import { boxOf, confidenceOf } from './rules/boxes.ts';
import { matchingKeys } from './store/binary-data.ts';
import {
  addBox,
  addTags,
  type BoxOutcome,
  changeLabels,
  deleteData,
  type ExpectedBox,
  removeBox,
  removeTags,
  updateBox,
} from './store/data-edits.ts';
import { addMembers, type Dataset, findDataset, removeMembers } from './store/datasets.ts';

/** Limit of tags in one call. */
const mostTags = 1000;
/** Limit of the IDs in an audit entry; the entry also has their total count. */
const idsInAudit = 100;

/** Calls that add and remove tags of images and files. */
export const tagCalls = ({ db }: { db: Database }) =>
  ({
    async addTagsToBinaryDataByIDs({ binaryDataIds, binaryIds, tags, removeLabels, expectedLabels }, context) {
      const named = namedData(binaryDataIds, binaryIds, callerOf(context), 'change');
      const keys = await existingKeys(db, named);
      const expected = expectedLabels && fewEnough('expected_labels', expectedLabels.labels);
      const remove = fewEnough('remove_labels', removeLabels);
      const conflict = await changeLabels(db, keys, { add: checkedTags(tags), remove, expected });
      if (conflict) throw labelsChanged(named, conflict, expected ?? []);
      return {};
    },
    async addTagsToBinaryDataByFilter({ filter, tags }, context) {
      const keys = await matchingKeys(db, readFilter(filter, callerOf(context), 'change'));
      await addTags(db, keys, checkedTags(tags));
      return {};
    },
    async removeTagsFromBinaryDataByIDs({ binaryDataIds, binaryIds, tags, includeClassifications }, context) {
      const keys = await existingKeys(db, namedData(binaryDataIds, binaryIds, callerOf(context), 'change'));
      return { deletedCount: BigInt(await removeTags(db, keys, tags, { classifications: includeClassifications })) };
    },
    async removeTagsFromBinaryDataByFilter({ filter, tags, includeClassifications }, context) {
      const keys = await matchingKeys(db, readFilter(filter, callerOf(context), 'change'));
      return { deletedCount: BigInt(await removeTags(db, keys, tags, { classifications: includeClassifications })) };
    },
  }) satisfies Partial<ServiceImpl<typeof DataService>>;

/** Calls that delete images and files. Deleted data are not an error, so that the calls can be repeated. */
export const binaryDeletionCalls = ({ db }: { db: Database }) =>
  ({
    async deleteBinaryDataByIDs({ binaryDataIds, binaryIds }, context) {
      const caller = callerOf(context);
      const keys = namedData(binaryDataIds, binaryIds, caller, 'change');
      const request = { by: 'ids', ids: keys.slice(0, idsInAudit).map(({ id }) => id) };
      return { deletedCount: BigInt(await deleteData(db, keys, { caller, request })) };
    },
    async deleteBinaryDataByFilter({ filter }, context) {
      const caller = callerOf(context);
      const condition = readFilter(filter, caller, 'change');
      refuseEmpty(condition);
      const keys = await matchingKeys(db, condition);
      const request = { by: 'filter', filter: filter ? toJson(FilterSchema, filter) : {} };
      return { deletedCount: BigInt(await deleteData(db, keys, { caller, request })) };
    },
  }) satisfies Partial<ServiceImpl<typeof DataService>>;

/** Calls that add images and files to a dataset and remove them from it. */
export const datasetMemberCalls = ({ db }: { db: Database }) =>
  ({
    async addBinaryDataToDatasetByIDs({ datasetId, binaryDataIds, binaryIds }, context) {
      const caller = callerOf(context);
      const dataset = await imageDataset(db, datasetId, caller);
      const keys = await existingKeys(db, namedData(binaryDataIds, binaryIds, caller, 'change'));
      const other = keys.find((key) => key.orgId !== dataset.orgId);
      if (other) throw new PlatformError('BINARY_DATA_NOT_FOUND', { binaryDataId: other.id });
      await addMembers(db, dataset, keys);
      return {};
    },
    async removeBinaryDataFromDatasetByIDs({ datasetId, binaryDataIds, binaryIds }, context) {
      const caller = callerOf(context);
      const dataset = await imageDataset(db, datasetId, caller);
      await removeMembers(db, dataset, namedData(binaryDataIds, binaryIds, caller, 'change'));
      return {};
    },
  }) satisfies Partial<ServiceImpl<typeof DataService>>;

/** Calls on the bounding boxes of an image. */
export const boxCalls = ({ db }: { db: Database }) =>
  ({
    async addBoundingBoxToImageByID({ binaryDataId, binaryId, bboxId: chosen, ...box }, context) {
      const key = namedDatum(binaryDataId, binaryId, callerOf(context));
      const bboxId = await addBox(db, key, boxOf(box), chosen === '' ? undefined : checkedNewId(chosen));
      if (bboxId === undefined) throw new PlatformError('BINARY_DATA_NOT_FOUND', { binaryDataId: key.binaryDataId });
      return { bboxId };
    },
    async updateBoundingBox({ binaryDataId, binaryId, bboxId, expected, ...change }, context) {
      const key = namedDatum(binaryDataId, binaryId, callerOf(context));
      const which = { boxId: checkedBoxId(bboxId), expected: expectedBox(expected) };
      const outcome = await updateBox(db, key, which, (box) =>
        boxOf({
          label: change.label ?? box.label,
          xMinNormalized: change.xMinNormalized ?? box.xMin,
          yMinNormalized: change.yMinNormalized ?? box.yMin,
          xMaxNormalized: change.xMaxNormalized ?? box.xMax,
          yMaxNormalized: change.yMaxNormalized ?? box.yMax,
          confidence:
            confidenceOf(change.confidence) ?? (change.clearConfidence ? undefined : (box.confidence ?? undefined)),
        }),
      );
      requireDone(bboxId, outcome);
      return {};
    },
    async removeBoundingBoxFromImageByID({ binaryDataId, binaryId, bboxId, expected }, context) {
      const key = namedDatum(binaryDataId, binaryId, callerOf(context));
      const which = { boxId: checkedBoxId(bboxId), expected: expectedBox(expected) };
      requireDone(bboxId, await removeBox(db, key, which));
      return {};
    },
  }) satisfies Partial<ServiceImpl<typeof DataService>>;

/** @throws PlatformError DATASET_NOT_FOUND, PERMISSION_DENIED, DATASET_TYPE_MISMATCH */
async function imageDataset(db: Database, id: string, caller: Caller): Promise<Dataset> {
  const absent = () => new PlatformError('DATASET_NOT_FOUND', { datasetId: id });
  const dataset = await findDataset(db, check.filled('dataset_id', id));
  if (!dataset) throw absent();
  requireMember(caller, dataset.orgId, absent);
  if (dataset.type === 'binary_data') return dataset;
  throw new PlatformError('DATASET_TYPE_MISMATCH', { datasetId: id, type: 'sequences', wanted: 'images and files' });
}

/** @throws PlatformError INVALID_ARGUMENT */
function fewEnough(field: string, labels: readonly string[]): readonly string[] {
  if (labels.length <= mostTags) return labels;
  const limit = `at most ${mostTags} in one call`;
  throw new PlatformError('INVALID_ARGUMENT', { field, value: `${labels.length} labels`, limit });
}

function checkedTags(tags: readonly string[]): string[] {
  return fewEnough('tags', tags).map((tag, index) => check.newTag(`tags[${index}]`, tag));
}

const noBox = (boundingBoxId: string): PlatformError => new PlatformError('BOUNDING_BOX_NOT_FOUND', { boundingBoxId });

const expectedBox = (sent: BoundingBox | undefined): ExpectedBox =>
  sent && {
    label: sent.label,
    xMin: sent.xMinNormalized,
    yMin: sent.yMinNormalized,
    xMax: sent.xMaxNormalized,
    yMax: sent.yMaxNormalized,
  };

/** @throws PlatformError BOUNDING_BOX_NOT_FOUND, BOUNDING_BOX_CHANGED */
function requireDone(boundingBoxId: string, outcome: BoxOutcome): void {
  if (outcome.is === 'absent') throw noBox(boundingBoxId);
  if (outcome.is === 'changed')
    throw new PlatformError('BOUNDING_BOX_CHANGED', { boundingBoxId, label: JSON.stringify(outcome.label) });
}

const listed = (labels: readonly string[]): string =>
  labels.length === 0 ? 'none' : labels.map((label) => JSON.stringify(label)).join(', ');

function labelsChanged(
  named: readonly NamedDatum[],
  { id, labels }: { id: string; labels: readonly string[] },
  expected: readonly string[],
): PlatformError {
  const binaryDataId = named.find((one) => one.id === id)?.binaryDataId ?? id;
  return new PlatformError('LABELS_CHANGED', { binaryDataId, labels: listed(labels), expected: listed(expected) });
}

function checkedNewId(id: string): string {
  if (isUuid(id)) return id.toLowerCase();
  throw new PlatformError('INVALID_ARGUMENT', { field: 'bbox_id', value: id, limit: 'it must be a UUID or empty' });
}

function checkedBoxId(boxId: string): string {
  if (!isUuid(boxId)) throw noBox(boxId);
  return boxId;
}
