import type { ServiceImpl } from '@connectrpc/connect';
import { PlatformError } from '@platform/contract/errors/errors';
import type { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { isUuid } from '@platform/contract/text/names';
import { callerOf } from '../access/caller.ts';
import { belongsTo } from '../access/rules/permissions.ts';
import { findLocation, findOrganizations } from '../access/store/organizations.ts';
import type { Database } from '../database/database.ts';
import { findMachine } from '../machines/store/machines.ts';
import { granted, type Resource, resourceTypes } from './rules/checked-permissions.ts';
import { invalidArgument } from '../rpc/rules/invalid-argument.ts';

const mostResources = 1000;

/**
 * Undefined: not found. The caller cannot distinguish that from a resource of another organization: both give no
 * permission.
 */
async function findResource(db: Database, type: Resource['is'], id: string): Promise<Resource | undefined> {
  if (type === 'organization') {
    const [found] = isUuid(id) ? await findOrganizations(db, [id]) : [];
    return found && { is: type, orgId: found.id };
  }
  if (type === 'location') {
    const found = await findLocation(db, id);
    return found && { is: type, orgId: found.orgId, locationId: found.id };
  }
  const found = await findMachine(db, id);
  return found && { is: type, place: { ...found, machineId: found.id } };
}

export const permissionCalls = ({ db }: { db: Database }) =>
  ({
    async checkPermissions({ permissions: asked }, context) {
      const caller = callerOf(context);
      if (asked.length === 0 || asked.length > mostResources) {
        const limit = `1 to ${mostResources} resources`;
        throw new PlatformError('INVALID_ARGUMENT', { field: 'permissions', value: asked.length, limit });
      }
      const authorizedPermissions = [];
      for (const { resourceType, resourceId, permissions } of asked) {
        const type = resourceTypes.find((one) => one === resourceType);
        if (!type) {
          const limit = resourceTypes.join(', ');
          throw invalidArgument('resource_type', resourceType.slice(0, 80), limit);
        }
        const resource = await findResource(db, type, resourceId);
        const orgId = resource?.is === 'robot' ? resource.place.orgId : resource?.orgId;
        if (!resource || orgId === undefined || !belongsTo(caller, orgId)) continue;
        const own = granted(caller, resource, permissions);
        if (own.length > 0) authorizedPermissions.push({ resourceType, resourceId, permissions: own });
      }
      return { authorizedPermissions };
    },
  }) satisfies Partial<ServiceImpl<typeof AppService>>;
