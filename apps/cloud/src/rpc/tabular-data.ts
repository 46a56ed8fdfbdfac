import type { JsonObject } from '@bufbuild/protobuf';
import type { ServiceImpl } from '@connectrpc/connect';
import { PlatformError } from '@platform/contract/errors';
import type { CaptureInterval, DataService } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { callerOf } from '../auth/caller.ts';
import { isUuid } from '../rules/manifest.ts';
import { type Caller, isReader, memberships } from '../rules/permissions.ts';
import * as check from '../rules/submission.ts';
import { readings, type Readings } from '../store/tabular-data.ts';
import { timeOfUs, usOf } from './protobuf-times.ts';
import type { Deps } from './routes.ts';

type Asked = {
  partId: string;
  resourceName: string;
  resourceSubtype: string;
  methodName: string;
  interval?: CaptureInterval | undefined;
};

const pageRows = 500;

/** Readings that machines captured, as they were sent. */
export const tabularCalls = ({ db }: Pick<Deps, 'db'>) =>
  ({
    async getLatestTabularData(request, context) {
      const of = readingsOf(request, callerOf(context));
      const [latest] = await readings(db, of, { after: undefined, isNewestFirst: true, limit: 1 });
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
        const page = await readings(db, of, { after, isNewestFirst: false, limit: pageRows });
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

/** @throws PlatformError INVALID_ARGUMENT, PART_NOT_FOUND, PERMISSION_DENIED */
function readingsOf(asked: Asked, caller: Caller): Readings {
  const orgIds = memberships(caller).flatMap(({ orgId }) => (isReader(caller, orgId) ? [orgId] : []));
  if (orgIds.length === 0) throw new PlatformError('PERMISSION_DENIED', { resource: 'captured data' });
  if (!isUuid(check.filled('part_id', asked.partId)))
    throw new PlatformError('PART_NOT_FOUND', { partId: asked.partId });
  const { start, end } = asked.interval ?? {};
  return {
    orgIds: [...new Set(orgIds)],
    partId: asked.partId,
    resourceName: check.filled('resource_name', asked.resourceName),
    resourceSubtype: check.filled('resource_subtype', asked.resourceSubtype),
    methodName: check.filled('method_name', asked.methodName),
    fromUs: start ? usOf(start) : undefined,
    untilUs: end ? usOf(end) : undefined,
  };
}
