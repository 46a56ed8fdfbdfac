import { PlatformError } from '@platform/contract/errors/errors';
import type { Database } from '../database/database.ts';
import { isUuid } from '@platform/contract/text/names';
import { belongsTo, type Caller, mayReadLocation, requireMember } from './rules/permissions.ts';
import { findLocation, findOrganizations, type LocationRow, type OrganizationRow } from './store/organizations.ts';

/** @throws PlatformError ORGANIZATION_NOT_FOUND */
export async function organizationFor(db: Database, caller: Caller, orgId: string): Promise<OrganizationRow> {
  const absent = new PlatformError('ORGANIZATION_NOT_FOUND', { organizationId: orgId });
  if (!isUuid(orgId) || !belongsTo(caller, orgId.toLowerCase())) throw absent;
  const [found] = await findOrganizations(db, [orgId]);
  if (!found) throw absent;
  return found;
}

/** @throws PlatformError LOCATION_NOT_FOUND, PERMISSION_DENIED */
export async function locationFor(
  db: Database,
  caller: Caller,
  id: string,
  require = requireMember,
): Promise<LocationRow> {
  const found = await findLocation(db, id);
  const absent = () => new PlatformError('LOCATION_NOT_FOUND', { locationId: id });
  if (!found) throw absent();
  require(caller, found.orgId, absent);
  return found;
}

/**
 * Like `locationFor`; also allows owners and operators of only this location.
 *
 * @throws PlatformError LOCATION_NOT_FOUND, PERMISSION_DENIED
 */
export const readableLocation = (db: Database, caller: Caller, id: string): Promise<LocationRow> =>
  locationFor(db, caller, id, (who, orgId, absent) => {
    if (!mayReadLocation(who, { orgId, locationId: id })) requireMember(who, orgId, absent);
  });
