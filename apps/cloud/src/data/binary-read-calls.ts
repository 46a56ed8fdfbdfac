import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import { PlatformError } from '@platform/contract/errors/errors';
import { type DataService, Order } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import type { Clock } from '@platform/kit';
import { callerOf } from '../access/caller.ts';
import type { Secrets } from '../access/secrets.ts';
import { signedPath } from '../access/signed-urls.ts';
import { readBlob, type BlobStore } from '../blobs/blob-store.ts';
import type { Database } from '../database/database.ts';
import { timeOf } from '../rpc/protobuf-times.ts';
import { pageBytes, readBounded } from '../rpc/rules/answer-bounds.ts';
import { dataToken, readDataToken } from '../rpc/rules/page-tokens.ts';
import { baseUrlOf, type Addresses } from '../wire/base-url.ts';
import { binaryMetadata } from './binary-metadata.ts';
import { dataPath } from './data-downloads.ts';
import { existingKeys, inOrder, mayRead, namedData, namedDatum, readFilter } from './data-filter.ts';
import {
  boxLabelsOf,
  countData,
  findData,
  type FullDatum,
  labelsOfData,
  pageOfData,
  tagsOf,
} from './store/binary-data.ts';
import { invalidArgument } from '../rpc/rules/invalid-argument.ts';

type ReadDeps = { db: Database; blobs: BlobStore; addresses: Addresses };

const defaultPage = 50;
const longestPage = 1000;
/** Larger contents must be downloaded from their URI. */
const contentLimitBytes = 31 * 1024 * 1024;
const linkMinutes = { usual: 15, most: 7 * 24 * 60 };

/** The data as messages, with their contents if requested. */
async function dataMessages(
  deps: ReadDeps,
  data: readonly FullDatum[],
  { withContent, context }: { withContent: boolean; context: HandlerContext },
) {
  const baseUrl = baseUrlOf(deps, context);
  const messages = [];
  for (const datum of data) {
    const content = withContent ? { binary: await readBlob(deps.blobs, datum.sha256) } : {};
    messages.push({ ...content, metadata: binaryMetadata(datum, baseUrl) });
  }
  return messages;
}

/** Calls that read images and files. */
export const binaryReadCalls = (deps: ReadDeps) => {
  const { db } = deps;
  return {
    async binaryDataByFilter({ dataRequest, includeBinary, countOnly }, context) {
      const filter = readFilter(dataRequest?.filter, callerOf(context), 'read');
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
        data: await dataMessages(deps, page, { withContent: includeBinary, context }),
        count: BigInt(page.length),
        totalSizeBytes: BigInt(totalBytes(page)),
        // At the end, repeat the position: a client that continues gets empty pages, not the first page again.
        last: end ? dataToken({ us: end.timeRequestedUs, id: end.id }) : last,
      };
    },

    async binaryDataByIDs({ binaryDataIds, binaryIds, includeBinary }, context) {
      const caller = callerOf(context);
      const keys = namedData(binaryDataIds, binaryIds, caller, 'read');
      const data = inOrder(
        keys,
        (await findData(db, keys)).filter((datum) => mayRead(caller, datum)),
      );
      if (includeBinary) refuseTooLarge(totalBytes(data));
      return {
        data: await dataMessages(deps, data, { withContent: includeBinary, context }),
        count: BigInt(data.length),
      };
    },
  } satisfies Partial<ServiceImpl<typeof DataService>>;
};

/** Calls that list the tags and labels of images and files. */
export const labelListCalls = ({ db }: { db: Database }) =>
  ({
    async tagsByFilter({ filter, after, labelsOnly }, context) {
      const list = labelsOnly ? labelsOfData : tagsOf;
      const { rows, isCut } = await list(db, readFilter(filter, callerOf(context), 'read'), after);
      return { tags: rows, truncated: isCut };
    },
    async boundingBoxLabelsByFilter({ filter, after }, context) {
      const { rows, isCut } = await boxLabelsOf(db, readFilter(filter, callerOf(context), 'read'), after);
      return { labels: rows, truncated: isCut };
    },
  }) satisfies Partial<ServiceImpl<typeof DataService>>;

/** Calls that create download links. */
export const binaryLinkCalls = (deps: { db: Database; clock: Clock; addresses: Addresses; secrets: Secrets }) =>
  ({
    async createBinaryDataSignedURL({ binaryDataId, expirationMinutes }, context) {
      const minutes = expirationMinutes ?? linkMinutes.usual;
      if (minutes < 1 || minutes > linkMinutes.most) {
        throw invalidArgument('expiration_minutes', minutes, `1 to ${linkMinutes.most}`);
      }
      const key = namedDatum(binaryDataId, undefined, callerOf(context));
      await existingKeys(deps.db, [key]);
      const expiresAt = Math.floor(deps.clock.wall() / 1000) * 1000 + minutes * 60_000;
      const path = signedPath(deps.secrets.signingKey, dataPath(binaryDataId), expiresAt, callerOf(context));
      return { signedUrl: `${baseUrlOf(deps, context)}${path}`, expiresAt: timeOf(expiresAt) };
    },
  }) satisfies Partial<ServiceImpl<typeof DataService>>;

const totalBytes = (data: readonly FullDatum[]): number => data.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);

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
