import type { ServiceImpl } from '@connectrpc/connect';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { PlatformError } from '@platform/contract/errors/errors';
import type { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { callerOf } from '../access/caller.ts';
import { organizationFor, locationFor, readableLocation } from '../access/places.ts';
import { type Caller, mayReadLocation, requireMember, requireOwner } from '../access/rules/permissions.ts';
import { newLocationId } from '../access/secrets.ts';
import { changed } from '../access/store/audit.ts';
import { audited } from '../access/store/audited.ts';
import {
  deleteLocation,
  insertLocation,
  listLocations,
  type LocationRow,
  newestOrganizations,
  type OrganizationRow,
  renameOrganization,
  updateLocation,
} from '../access/store/organizations.ts';
import type { Database } from '../database/database.ts';
import { requiredName } from '../rpc/fields.ts';
import { invalidArgument } from '../rpc/rules/invalid-argument.ts';

const organizationMessage = (row: OrganizationRow) => ({
  id: row.id,
  name: row.name,
  publicNamespace: row.publicNamespace,
  defaultRegion: 'local',
  createdOn: timestampFromMs(row.createdOn),
});

/** Hides the parent location from a caller without a right on it. */
const locationFrom = (row: LocationRow, caller: Caller) => {
  const { orgId, parentLocationId } = row;
  const isParentShown = parentLocationId !== null && mayReadLocation(caller, { orgId, locationId: parentLocationId });
  return locationMessage({ ...row, parentLocationId: isParentShown ? parentLocationId : null });
};

const locationMessage = (row: LocationRow) => ({
  id: row.id,
  name: row.name,
  createdOn: timestampFromMs(row.createdOn),
  parentLocationId: row.parentLocationId ?? '',
  organizations: [{ organizationId: row.orgId, primary: true }],
  robotCount: row.machineCount,
});

type OrganizationDeps = { db: Database };
type Calls = Partial<ServiceImpl<typeof AppService>>;

export const organizationCalls = (deps: OrganizationDeps) => ({
  ...ownOrganizationCalls(deps),
  ...locationReads(deps),
  ...locationChanges(deps),
});

const ownOrganizationCalls = ({ db }: OrganizationDeps) =>
  ({
    async listOrganizations(_, context) {
      const caller = callerOf(context);
      const ids =
        caller.kind === 'part' ? [caller.orgId] : [...new Set(caller.grants.flatMap((grant) => grant.orgId ?? []))];
      const { rows, isCut } = await newestOrganizations(db, ids);
      return { organizations: rows.map(organizationMessage), truncated: isCut };
    },
    async getOrganization({ organizationId }, context) {
      return { organization: organizationMessage(await organizationFor(db, callerOf(context), organizationId)) };
    },
    async updateOrganization({ organizationId, name }, context) {
      const caller = callerOf(context);
      const { id } = await organizationFor(db, caller, organizationId);
      requireOwner(caller, id);
      if (name !== undefined) {
        await audited({ db }, caller, async (trx, record) => {
          await renameOrganization(trx, id, requiredName('name', name));
          await record({ orgId: id, action: 'rename organization', subject: id });
        });
      }
      return { organization: organizationMessage(await organizationFor(db, caller, id)) };
    },
  }) satisfies Calls;

const locationReads = ({ db }: OrganizationDeps) =>
  ({
    async listLocations({ organizationId }, context) {
      const caller = callerOf(context);
      const { id } = await organizationFor(db, caller, organizationId);
      requireMember(caller, id);
      const { rows, isCut } = await listLocations(db, id);
      return { locations: rows.map(locationMessage), truncated: isCut };
    },
    async getLocation({ locationId }, context) {
      const caller = callerOf(context);
      return { location: locationFrom(await readableLocation(db, caller, locationId), caller) };
    },
  }) satisfies Calls;

const locationChanges = ({ db }: OrganizationDeps) =>
  ({
    async createLocation({ organizationId, name, parentLocationId }, context) {
      const caller = callerOf(context);
      const organization = await organizationFor(db, caller, organizationId);
      requireOwner(caller, organization.id);
      const parent = parentLocationId ? await locationFor(db, caller, parentLocationId) : undefined;
      if (parent && parent.orgId !== organization.id) {
        throw new PlatformError('LOCATION_NOT_FOUND', { locationId: parent.id });
      }
      const id = newLocationId();
      await audited({ db }, caller, async (trx, record) => {
        await insertLocation(trx, {
          id,
          orgId: organization.id,
          name: requiredName('name', name),
          parentLocationId: parent?.id ?? null,
        });
        await record({ orgId: organization.id, action: 'create location', subject: id });
      });
      return { location: locationMessage(await locationFor(db, caller, id)) };
    },
    async updateLocation({ locationId, name, parentLocationId }, context) {
      const caller = callerOf(context);
      const location = await locationFor(db, caller, locationId, requireOwner);
      const parent = parentLocationId ? await locationFor(db, caller, parentLocationId) : undefined;
      if (parent && (parent.orgId !== location.orgId || parent.id === location.id)) {
        throw invalidArgument('parent_location_id', parent.id, 'another location of the same organization');
      }
      const next = {
        ...(name !== undefined && { name: name === location.name ? name : requiredName('name', name) }),
        ...(parentLocationId !== undefined && { parentLocationId: parent?.id ?? null }),
      };
      const { orgId } = location;
      await audited({ db }, caller, async (trx, record) => {
        await updateLocation(trx, location.id, next);
        const details = changed({ name: location.name, parentLocationId: location.parentLocationId }, next);
        if (details) await record({ orgId, action: 'update location', subject: location.id, details });
      });
      return { location: locationMessage(await locationFor(db, caller, locationId)) };
    },
    async deleteLocation({ locationId }, context) {
      const caller = callerOf(context);
      const location = await locationFor(db, caller, locationId, requireOwner);
      if (!(await deleteLocation(db, location, caller))) {
        throw invalidArgument('location_id', location.id, 'it must be empty; delete its machines and locations first');
      }
      return {};
    },
  }) satisfies Calls;
