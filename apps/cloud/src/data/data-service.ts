import { toJson } from '@bufbuild/protobuf';
import type { ConnectRouter, HandlerContext } from '@connectrpc/connect';
import { PlatformError } from '@platform/contract/errors';
import { DataService, FilterSchema, Order } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import type { Clock } from '@platform/kit';
import { callerOf } from '../access/caller.ts';
import { type Caller, requireMember } from '../access/rules/permissions.ts';
import type { Secrets } from '../access/secrets.ts';
import { signedPath } from '../access/signed-urls.ts';
import { readBlob } from '../blobs/blob-store.ts';
import type { BlobStore } from '../blobs/blob-store.ts';
import type { Database } from '../database/database.ts';
import { timeOf } from '../rpc/protobuf-times.ts';
import { pageBytes, readBounded } from '../rpc/rules/answer-bounds.ts';
import * as check from '../rpc/rules/field-checks.ts';
import { dataToken, readDataToken } from '../rpc/rules/page-tokens.ts';
import { isUuid } from '@platform/contract/names';
import { baseUrlOf } from '../wire/base-url.ts';
import type { Addresses } from '../wire/base-url.ts';
import { binaryMetadata } from './binary-metadata.ts';
import { dataPath } from './data-downloads.ts';
import { inOrder, mayRead, type NamedDatum, namedData, namedDatum, readFilter, refuseEmpty } from './data-filter.ts';
import { boxOf, confidenceOf } from './rules/boxes.ts';
import { sequenceCalls } from './sequence-calls.ts';
import {
  boxLabelsOf,
  countData,
  type DatumKey,
  findData,
  findKeys,
  type FullDatum,
  labelsOfData,
  matchingKeys,
  pageOfData,
  tagsOf,
} from './store/binary-data.ts';
import { addBox, addTags, deleteData, removeBox, removeTags, updateBox } from './store/data-edits.ts';
import { addMembers, type Dataset, findDataset, removeMembers } from './store/datasets.ts';
import { tabularCalls } from './tabular-calls.ts';

type DataDeps = { db: Database; blobs: BlobStore; clock: Clock; addresses: Addresses; secrets: Secrets };

const defaultPage = 50;
const longestPage = 1000;
/** Larger contents must be downloaded from their URI. */
const contentLimitBytes = 31 * 1024 * 1024;
/** Limit of the IDs in an audit entry; the entry also has their total count. */
const idsInAudit = 100;
const linkMinutes = { usual: 15, most: 7 * 24 * 60 };

export const dataRoutes =
  (deps: DataDeps) =>
  (router: ConnectRouter): void => {
    const { db, blobs, clock } = deps;
    const answered = async (data: readonly FullDatum[], withContent: boolean, context: HandlerContext) => {
      const baseUrl = baseUrlOf(deps, context);
      const answers = [];
      for (const datum of data) {
        const content = withContent ? { binary: await readBlob(blobs, datum.sha256) } : {};
        answers.push({ ...content, metadata: binaryMetadata(datum, baseUrl) });
      }
      return answers;
    };
    /** Checks that the data exist. Reads only keys, because there may be many. */
    const existingKeys = async (keys: readonly NamedDatum[]): Promise<DatumKey[]> =>
      inOrder(keys, await findKeys(db, keys));
    const pictureDataset = async (id: string, caller: Caller): Promise<Dataset> => {
      const absent = () => new PlatformError('DATASET_NOT_FOUND', { datasetId: id });
      const dataset = await findDataset(db, check.filled('dataset_id', id));
      if (!dataset) throw absent();
      requireMember(caller, dataset.orgId, absent);
      if (dataset.type === 'binary_data') return dataset;
      throw new PlatformError('DATASET_TYPE_MISMATCH', {
        datasetId: id,
        type: 'sequences',
        wanted: 'pictures and files',
      });
    };

    router.service(DataService, {
      ...tabularCalls(deps),
      ...sequenceCalls(deps),

      async binaryDataByFilter({ dataRequest, includeBinary, countOnly }, context) {
        const filter = readFilter(dataRequest?.filter, callerOf(context), 'look');
        if (countOnly) {
          const { count, sizeBytes } = await countData(db, filter);
          return { count: BigInt(count), totalSizeBytes: BigInt(sizeBytes) };
        }
        const last = dataRequest?.last ?? '';
        const limit = Math.min(Number(dataRequest?.limit ?? 0n) || defaultPage, longestPage);
        const isAscending = dataRequest?.sortOrder === Order.ASCENDING;
        const after = readDataToken(last);
        // Tags, boxes and parameters of one image may be long.
        const { rows: found } = await readBounded<FullDatum>(
          { rows: limit, bytes: pageBytes, atOnce: 100 },
          (end, atOnce) =>
            pageOfData(db, filter, {
              after: end ? { us: end.timeRequestedUs, id: end.id } : after,
              isAscending,
              limit: atOnce,
            }),
        );
        const page = includeBinary ? startOf(found) : found;
        const end = page.at(-1);
        return {
          data: await answered(page, includeBinary, context),
          count: BigInt(page.length),
          totalSizeBytes: BigInt(totalBytes(page)),
          // At the end, repeat the position: a client that continues gets empty pages, not the first page again.
          last: end ? dataToken({ us: end.timeRequestedUs, id: end.id }) : last,
        };
      },

      async binaryDataByIDs({ binaryDataIds, binaryIds, includeBinary }, context) {
        const caller = callerOf(context);
        const keys = namedData(binaryDataIds, binaryIds, caller, 'look');
        const data = inOrder(
          keys,
          (await findData(db, keys)).filter((datum) => mayRead(caller, datum)),
        );
        if (includeBinary) refuseTooLarge(totalBytes(data));
        return { data: await answered(data, includeBinary, context), count: BigInt(data.length) };
      },

      async tagsByFilter({ filter, after, labelsOnly }, context) {
        const list = labelsOnly ? labelsOfData : tagsOf;
        const { rows, isCut } = await list(db, readFilter(filter, callerOf(context), 'look'), after);
        return { tags: rows, truncated: isCut };
      },
      async boundingBoxLabelsByFilter({ filter, after }, context) {
        const { rows, isCut } = await boxLabelsOf(db, readFilter(filter, callerOf(context), 'look'), after);
        return { labels: rows, truncated: isCut };
      },

      async addTagsToBinaryDataByIDs({ binaryDataIds, binaryIds, tags }, context) {
        const keys = await existingKeys(namedData(binaryDataIds, binaryIds, callerOf(context), 'change'));
        await addTags(db, keys, checkedTags(tags));
        return {};
      },
      async addTagsToBinaryDataByFilter({ filter, tags }, context) {
        const keys = await matchingKeys(db, readFilter(filter, callerOf(context), 'change'));
        await addTags(db, keys, checkedTags(tags));
        return {};
      },
      async removeTagsFromBinaryDataByIDs({ binaryDataIds, binaryIds, tags, includeClassifications }, context) {
        const keys = await existingKeys(namedData(binaryDataIds, binaryIds, callerOf(context), 'change'));
        return { deletedCount: BigInt(await removeTags(db, keys, tags, { classifications: includeClassifications })) };
      },
      async removeTagsFromBinaryDataByFilter({ filter, tags, includeClassifications }, context) {
        const keys = await matchingKeys(db, readFilter(filter, callerOf(context), 'change'));
        return { deletedCount: BigInt(await removeTags(db, keys, tags, { classifications: includeClassifications })) };
      },

      // Deleted data are not an error, so that the call can be repeated.
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

      async addBinaryDataToDatasetByIDs({ datasetId, binaryDataIds, binaryIds }, context) {
        const caller = callerOf(context);
        const dataset = await pictureDataset(datasetId, caller);
        const keys = await existingKeys(namedData(binaryDataIds, binaryIds, caller, 'change'));
        const other = keys.find((key) => key.orgId !== dataset.orgId);
        if (other) throw new PlatformError('BINARY_DATA_NOT_FOUND', { binaryDataId: other.id });
        await addMembers(db, dataset, keys);
        return {};
      },
      async removeBinaryDataFromDatasetByIDs({ datasetId, binaryDataIds, binaryIds }, context) {
        const caller = callerOf(context);
        const dataset = await pictureDataset(datasetId, caller);
        await removeMembers(db, dataset, namedData(binaryDataIds, binaryIds, caller, 'change'));
        return {};
      },

      async addBoundingBoxToImageByID({ binaryDataId, binaryId, ...box }, context) {
        const key = namedDatum(binaryDataId, binaryId, callerOf(context));
        const bboxId = await addBox(db, key, boxOf(box));
        if (bboxId === undefined) throw new PlatformError('BINARY_DATA_NOT_FOUND', { binaryDataId: key.binaryDataId });
        return { bboxId };
      },
      async updateBoundingBox({ binaryDataId, binaryId, bboxId, ...change }, context) {
        const key = namedDatum(binaryDataId, binaryId, callerOf(context));
        const isThere = await updateBox(db, key, checkedBoxId(bboxId), (box) =>
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
        if (!isThere) throw noBox(bboxId);
        return {};
      },
      async removeBoundingBoxFromImageByID({ binaryDataId, binaryId, bboxId }, context) {
        const key = namedDatum(binaryDataId, binaryId, callerOf(context));
        if (!(await removeBox(db, key, checkedBoxId(bboxId)))) throw noBox(bboxId);
        return {};
      },

      async createBinaryDataSignedURL({ binaryDataId, expirationMinutes }, context) {
        const minutes = expirationMinutes ?? linkMinutes.usual;
        if (minutes < 1 || minutes > linkMinutes.most) {
          throw new PlatformError('INVALID_ARGUMENT', {
            field: 'expiration_minutes',
            value: minutes,
            limit: `1 to ${linkMinutes.most}`,
          });
        }
        const key = namedDatum(binaryDataId, undefined, callerOf(context));
        await existingKeys([key]);
        const expiresAt = Math.floor(clock.wall() / 1000) * 1000 + minutes * 60_000;
        const path = signedPath(deps.secrets.signingKey, dataPath(binaryDataId), expiresAt, callerOf(context));
        return { signedUrl: `${baseUrlOf(deps, context)}${path}`, expiresAt: timeOf(expiresAt) };
      },
    });
  };

const totalBytes = (data: readonly FullDatum[]): number => data.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
/** Limit of tags in one call. */
const mostTags = 1000;
function checkedTags(tags: readonly string[]): string[] {
  if (tags.length > mostTags) {
    const limit = `at most ${mostTags} in one call`;
    throw new PlatformError('INVALID_ARGUMENT', { field: 'tags', value: `${tags.length} tags`, limit });
  }
  return tags.map((tag, index) => check.newName(`tags[${index}]`, tag));
}
const noBox = (boundingBoxId: string): PlatformError => new PlatformError('BOUNDING_BOX_NOT_FOUND', { boundingBoxId });

function checkedBoxId(boxId: string): string {
  if (!isUuid(boxId)) throw noBox(boxId);
  return boxId;
}

function refuseTooLarge(sizeBytes: number): void {
  if (sizeBytes > contentLimitBytes)
    throw new PlatformError('INCLUDE_BINARY_TOO_LARGE', { limitBytes: contentLimitBytes, sizeBytes });
}

/** The first data whose contents fit into one response, at least one. */
function startOf(page: readonly FullDatum[]): readonly FullDatum[] {
  let sizeBytes = 0;
  const end = page.findIndex((datum, index) => (sizeBytes += datum.sizeBytes) > pageBytes && index > 0);
  const [first] = page;
  if (first) refuseTooLarge(first.sizeBytes);
  return end < 0 ? page : page.slice(0, end);
}
