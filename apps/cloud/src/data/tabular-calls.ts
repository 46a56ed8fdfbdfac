import { create, type JsonObject, toJson } from '@bufbuild/protobuf';
import type { ServiceImpl } from '@connectrpc/connect';
import { PlatformError } from '@platform/contract/errors/errors';
import {
  type CaptureInterval,
  type DataService,
  FilterSchema,
  Order,
} from '@platform/contract/gen/platform/app/data/v1/data_pb';
import type { Clock } from '@platform/kit';
import { callerOf } from '../access/caller.ts';
import { type Caller, isReader, memberships } from '../access/rules/permissions.ts';
import { audit } from '../access/store/audit.ts';
import type { Database } from '../database/database.ts';
import { timeOfUs, microsecondsOf } from '../rpc/protobuf-times.ts';
import { sizeOf } from '../rpc/rules/answer-bounds.ts';
import * as check from '../rpc/rules/field-checks.ts';
import { dataToken, readDataToken } from '../rpc/rules/page-tokens.ts';
import { isUuid } from '@platform/contract/text/names';
import { captureMetadata } from './binary-metadata.ts';
import { readFilter } from './data-filter.ts';
import {
  countReadings,
  deleteReadings,
  pageOfReadings,
  type ReadingRow,
  readings,
  type Readings,
} from './store/tabular-data.ts';

type SeriesRequest = {
  partId: string;
  resourceName: string;
  resourceSubtype: string;
  methodName: string;
  interval?: CaptureInterval | undefined;
};

const pageRows = 500;
const usualPage = 50;
const longestPage = 1000;
const dayMs = 24 * 3_600_000;
/** Rows per statement, so that other statements do not wait long. */
const deletedAtOnce = 5_000;

/** Calls that page through readings by a filter. */
export const readingPageCalls = ({ db }: { db: Database }) =>
  ({
    async tabularDataByFilter({ dataRequest, countOnly }, context) {
      const caller = callerOf(context);
      // Readings belong to no dataset, and a script may only read its dataset.
      if (caller.kind === 'script') throw new PlatformError('PERMISSION_DENIED', { resource: 'captured data' });
      const filter = readFilter(dataRequest?.filter, caller, 'read');
      const isOfImages = filter.mimeTypes.length > 0 || filter.boxLabels.length > 0 || filter.datasetId !== '';
      if (countOnly) {
        const { count, sizeBytes } = isOfImages ? { count: 0, sizeBytes: 0 } : await countReadings(db, filter);
        return { count: BigInt(count), totalSizeBytes: BigInt(sizeBytes) };
      }
      const last = dataRequest?.last ?? '';
      const page = {
        after: readDataToken(last),
        isAscending: dataRequest?.sortOrder === Order.ASCENDING,
        limit: Math.min(Number(dataRequest?.limit ?? 0n) || usualPage, longestPage),
      };
      const { rows } = isOfImages ? { rows: [] } : await pageOfReadings(db, filter, page);
      const end = rows.at(-1);
      return {
        ...readingsMessage(rows),
        count: BigInt(rows.length),
        totalSizeBytes: BigInt(rows.reduce((sum, { payload }) => sum + sizeOf(payload), 0)),
        // At the end, repeat the position: a client that continues gets empty pages, not the first page again.
        last: end ? dataToken({ us: end.timeRequestedUs, id: end.id }) : last,
      };
    },
  }) satisfies Partial<ServiceImpl<typeof DataService>>;

/** Calls that delete readings. */
export const readingDeletionCalls = ({ db, clock }: { db: Database; clock: Clock }) =>
  ({
    async deleteTabularData({ organizationId, deleteOlderThanDays: days, filter: sent }, context) {
      const caller = callerOf(context);
      const orgId = check.filled('organization_id', organizationId);
      const { tagsFilter, locationIds = [], robotId = '', partId = '', method = '' } = sent ?? {};
      const named = { organizationIds: [orgId], locationIds, robotId, partId, method };
      const component = { componentType: sent?.componentType ?? '', componentName: sent?.componentName ?? '' };
      const matching = create(FilterSchema, { ...named, ...component, ...(tagsFilter && { tagsFilter }) });
      const filter = {
        ...readFilter(matching, caller, 'change'),
        ...(days > 0 && { untilUs: Math.max(clock.wall() - days * dayMs, 0) * 1000 }),
      };
      let deleted = 0;
      try {
        for (let some = deletedAtOnce; some === deletedAtOnce; deleted += some)
          some = await deleteReadings(db, filter, deletedAtOnce);
      } finally {
        const details = { olderThanDays: days, deleted, ...(sent && { filter: toJson(FilterSchema, matching) }) };
        await audit(db, { orgId, caller, action: 'delete readings', subject: `${deleted} readings`, details });
      }
      return { deletedCount: BigInt(deleted) };
    },
  }) satisfies Partial<ServiceImpl<typeof DataService>>;

/** Calls that read the readings of one method of one resource. */
export const readingSeriesCalls = ({ db }: { db: Database }) =>
  ({
    async getLatestTabularData(request, context) {
      const of = readingsOf(request, callerOf(context));
      const [latest] = await readings(db, of, { after: undefined, isAscending: false, limit: 1 });
      if (!latest) return {};
      return {
        timeCaptured: timeOfUs(latest.timeRequestedUs),
        timeSynced: timeOfUs(latest.timeReceivedUs),
        payload: latest.payload as JsonObject,
      };
    },

    async *exportTabularData(request, context) {
      const of = readingsOf(request, callerOf(context));
      for (let after: { us: number; id: string } | undefined; ;) {
        const page = await readings(db, of, { after, isAscending: true, limit: pageRows });
        for (const row of page) {
          yield {
            partId: row.partId,
            resourceName: row.componentName,
            resourceSubtype: row.componentType,
            methodName: row.methodName,
            timeCaptured: timeOfUs(row.timeRequestedUs),
            organizationId: row.orgId,
            locationId: row.locationId,
            robotName: row.machineName,
            robotId: row.machineId,
            partName: row.partName,
            ...(row.methodParameters ? { methodParameters: row.methodParameters as JsonObject } : {}),
            tags: row.tags,
            payload: row.payload as JsonObject,
          };
        }
        const last = page.at(-1);
        if (!last || page.length < pageRows) return;
        after = { us: last.timeRequestedUs, id: last.id };
      }
    },
  }) satisfies Partial<ServiceImpl<typeof DataService>>;

/** Readings of a page share equal metadata. */
function readingsMessage(rows: readonly ReadingRow[]) {
  const metadata = new Map<string, { index: number; of: ReturnType<typeof captureMetadata> }>();
  const data = rows.map((row) => {
    const of = captureMetadata({ ...row, mimeType: '' });
    const key = JSON.stringify(of, (_, value: unknown) => (value instanceof Uint8Array ? [...value] : value));
    const known = metadata.get(key) ?? { index: metadata.size, of };
    metadata.set(key, known);
    return {
      data: row.payload as JsonObject,
      metadataIndex: known.index,
      timeRequested: timeOfUs(row.timeRequestedUs),
      timeReceived: timeOfUs(row.timeReceivedUs),
    };
  });
  return { metadata: [...metadata.values()].map(({ of }) => of), data };
}

/** @throws PlatformError INVALID_ARGUMENT, PART_NOT_FOUND, PERMISSION_DENIED */
function readingsOf(request: SeriesRequest, caller: Caller): Readings {
  const orgIds = memberships(caller).flatMap(({ orgId }) => (isReader(caller, orgId) ? [orgId] : []));
  if (orgIds.length === 0) throw new PlatformError('PERMISSION_DENIED', { resource: 'captured data' });
  if (!isUuid(check.filled('part_id', request.partId)))
    throw new PlatformError('PART_NOT_FOUND', { partId: request.partId });
  const { start, end } = request.interval ?? {};
  return {
    orgIds: [...new Set(orgIds)],
    partId: request.partId,
    resourceName: check.filled('resource_name', request.resourceName),
    resourceSubtype: check.filled('resource_subtype', request.resourceSubtype),
    methodName: check.filled('method_name', request.methodName),
    fromUs: start ? microsecondsOf(start) : undefined,
    untilUs: end ? microsecondsOf(end) : undefined,
  };
}
