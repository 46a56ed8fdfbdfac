import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import { create as message, toJson } from '@bufbuild/protobuf';
import { timestampFromMs, TimestampSchema } from '@bufbuild/protobuf/wkt';
import { PlatformError } from '@platform/contract/errors/errors';
import type { AppService, Authorization } from '@platform/contract/gen/platform/app/v1/app_pb';
import type { Clock } from '@platform/kit';
import { cookieOf } from '../access/session-cookie.ts';
import { callerOf } from '../access/caller.ts';
import { locationFor, organizationFor } from '../access/places.ts';
import {
  belongsTo,
  type Caller,
  type Grant,
  mayGive,
  type Place,
  requireInstallationOwner,
  requireMachineOwner,
  requireOwner,
  type Role,
} from '../access/rules/permissions.ts';
import { audited, type Record } from '../access/store/audited.ts';
import {
  deleteKey,
  insertKey,
  type KeyRow,
  type KeyWithGrants,
  listKeys,
  lockKey,
  ownedByKeyAlone,
  renameKey,
  rotateKey,
} from '../access/store/keys.ts';
import { endSessionsOfKey } from '../access/store/sessions.ts';
import type { Changes } from '../database/changes.ts';
import type { Database } from '../database/database.ts';
import type { JsonObject } from '../database/schema.ts';
import { operatedMachine } from '../machines/part-access.ts';
import { findMachine } from '../machines/store/machines.ts';
import { requiredName } from '../rpc/fields.ts';

const authorizationOf = (grant: Grant, orgId: string) => ({
  authorizationType: 'role',
  authorizationId: `${grant.resource}_${grant.role}`,
  resourceType: grant.resource,
  resourceId: grant.resourceId,
  orgId,
});
const keyMessage = (key: KeyWithGrants) => ({
  apiKey: { id: key.id, name: key.name, createdOn: timestampFromMs(key.createdOn) },
  authorizations: key.grants.map((grant) => authorizationOf(grant, key.orgId)),
});

/** A right with the organization of the key that gets it. */
type Given = { grant: Grant<Role>; orgId: string };

const isGrantable = (resource: string, role: Role | undefined): role is Role => {
  if (resource === 'installation') return role === 'metrics';
  if (!['organization', 'location', 'robot'].includes(resource)) return false;
  return role === 'owner' || role === 'operator' || (role === 'runner' && resource === 'organization');
};

/** The requested right, if the caller may grant it: owners grant what they own. */
async function grantFrom({ db, installationId }: KeyDeps, caller: Caller, asked: Authorization): Promise<Given> {
  const [resource, role] = asked.authorizationId.split('_') as [string, Role | undefined];
  if (!isGrantable(resource, role) || resource !== asked.resourceType) {
    throw new PlatformError('INVALID_ARGUMENT', {
      field: 'authorizations.authorization_id',
      value: asked.authorizationId,
      limit:
        'organization, location or robot with _owner or _operator, organization_runner, or installation_metrics; the same resource_type beside it',
    });
  }
  if (resource === 'installation') {
    const { id } = await organizationFor(db, caller, asked.organizationId);
    requireOwner(caller, id);
    requireInstallationOwner(caller);
    return { grant: { role, resource, resourceId: installationId, orgId: undefined }, orgId: id };
  }
  if (resource === 'organization') {
    const { id } = await organizationFor(db, caller, asked.resourceId || asked.organizationId);
    requireOwner(caller, id);
    return { grant: { role, resource, resourceId: id, orgId: id }, orgId: id };
  }
  if (resource === 'location') {
    const { id, orgId } = await locationFor(db, caller, asked.resourceId, requireOwner);
    return { grant: { role, resource, resourceId: id, orgId }, orgId };
  }
  const { id, orgId } = await operatedMachine(db, caller, asked.resourceId, requireMachineOwner);
  return { grant: { role, resource: 'robot', resourceId: id, orgId }, orgId };
}

/**
 * Locks and returns the key if the caller could have granted all of its rights. Whoever rotates or copies a key gets
 * these rights.
 *
 * @throws PlatformError KEY_NOT_FOUND, NOT_OWNER, PERMISSION_DENIED
 */
async function managedKey(trx: Database, caller: Caller, id: string): Promise<KeyWithGrants> {
  const key = await lockKey(trx, id);
  if (!key || !belongsTo(caller, key.orgId)) throw new PlatformError('KEY_NOT_FOUND', { keyId: id });
  // A key without any rights left belongs to the organization.
  const grants = key.grants.length > 0 ? key.grants : [wholeOrganization(key.orgId)];
  for (const grant of grants) {
    if (mayGive(caller, grant, await placeOf(trx, grant))) continue;
    if (grant.resource === 'installation') {
      throw new PlatformError('PERMISSION_DENIED', { resource: `key ${key.id}, which has rights on the installation` });
    }
    throw new PlatformError('NOT_OWNER', { organizationId: key.orgId });
  }
  return key;
}

const wholeOrganization = (orgId: string): Grant<Role> => ({
  role: 'owner',
  resource: 'organization',
  resourceId: orgId,
  orgId,
});

async function placeOf(db: Database, grant: Grant): Promise<Place | undefined> {
  if (grant.resource !== 'robot') return undefined;
  const machine = await findMachine(db, grant.resourceId);
  return machine && { ...machine, machineId: machine.id };
}

/** The browser session of the call, which stays when its key ends. */
const sessionOf = (context: HandlerContext): string | undefined => cookieOf(context.requestHeader.get('cookie') ?? '');

/** Removes repeated rights. */
const withoutRepeats = <G extends Grant<Role>>(grants: readonly G[]): G[] => [
  ...new Map(grants.map((grant) => [`${grant.resource} ${grant.role} ${grant.resourceId}`, grant])).values(),
];

/** Cache entries of the key and of the ended sessions, which are stale now. */
const secretChanged = ({ id }: KeyRow, ended: readonly string[]) => [
  ['api_key', id] as const,
  ...ended.map((hash) => ['session', hash] as const),
];

const named = ({ name }: KeyRow): { details: JsonObject } => ({ details: { name } });

type KeyCalls = Partial<ServiceImpl<typeof AppService>>;

type NewKey = { orgId: string; name: string; grants: readonly Grant<Role>[] };

async function createRecorded(trx: Database, record: Record, key: NewKey, more: JsonObject = {}) {
  const created = await insertKey(trx, key);
  const { orgId, name } = key;
  const grants = key.grants.map((grant) => `${grant.resource}_${grant.role} ${grant.resourceId}`);
  await record({ orgId, action: 'create key', subject: created.id, details: { name, grants, ...more } });
  return created;
}

type KeyDeps = { db: Database; changes: Changes; clock: Clock; installationId: string };

export const keyCalls = (deps: KeyDeps) => ({ ...creatingCalls(deps), ...listingCalls(deps), ...changingCalls(deps) });

const creatingCalls = (deps: KeyDeps) =>
  ({
    async createKey({ authorizations, name }, context) {
      const { db, clock } = deps;
      const caller = callerOf(context);
      const given = await Promise.all(authorizations.map((asked) => grantFrom(deps, caller, asked)));
      const [first] = given;
      if (!first)
        throw new PlatformError('INVALID_ARGUMENT', { field: 'authorizations', limit: 'at least one is required' });
      if (given.some(({ orgId }) => orgId !== first.orgId)) {
        throw new PlatformError('INVALID_ARGUMENT', { field: 'authorizations', limit: 'all of one organization' });
      }
      const keyName = name === '' ? `${caller.name} ${timeText(clock.wall())}` : requiredName('name', name);
      const { orgId } = first;
      const grants = withoutRepeats(given.map(({ grant }) => grant));
      return audited({ db }, caller, (trx, record) => createRecorded(trx, record, { orgId, name: keyName, grants }));
    },
    async createKeyFromExistingKeyAuthorizations({ id }, context) {
      const caller = callerOf(context);
      return audited(deps, caller, async (trx, record) => {
        const { id: copyOf, orgId, name, grants } = await managedKey(trx, caller, id);
        return createRecorded(trx, record, { orgId, name: `${name} (copy)`, grants }, { copy_of: copyOf });
      });
    },
  }) satisfies KeyCalls;

const listingCalls = ({ db }: KeyDeps) =>
  ({
    async listKeys({ orgId }, context) {
      const caller = callerOf(context);
      const { id } = await organizationFor(db, caller, orgId);
      requireOwner(caller, id);
      const { rows, isCut } = await listKeys(db, id);
      return { apiKeys: rows.map(keyMessage), truncated: isCut };
    },
    async getRobotAPIKeys({ robotId }, context) {
      const machine = await operatedMachine(db, callerOf(context), robotId, requireMachineOwner);
      const { rows, isCut } = await listKeys(db, machine.orgId, machine.id);
      return { apiKeys: rows.map(keyMessage), truncated: isCut };
    },
  }) satisfies KeyCalls;

const changingCalls = ({ db, changes }: KeyDeps) =>
  ({
    async deleteKey({ id }, context) {
      const caller = callerOf(context);
      await audited({ db, changes }, caller, async (trx, record) => {
        const found = await managedKey(trx, caller, id);
        const orphan = await ownedByKeyAlone(trx, found);
        if (orphan) throw new PlatformError('LAST_OWNER', { resource: `${orphan.resource} ${orphan.resourceId}` });
        const ended = await endSessionsOfKey(trx, found.id, sessionOf(context));
        await deleteKey(trx, found.id);
        await record(
          { orgId: found.orgId, action: 'delete key', subject: found.id, ...named(found) },
          ...secretChanged(found, ended),
        );
      });
      return {};
    },
    async rotateKey({ id }, context) {
      const caller = callerOf(context);
      return audited({ db, changes }, caller, async (trx, record) => {
        const found = await managedKey(trx, caller, id);
        const ended = await endSessionsOfKey(trx, found.id, sessionOf(context));
        await record(
          { orgId: found.orgId, action: 'rotate key', subject: found.id, ...named(found) },
          ...secretChanged(found, ended),
        );
        return { id: found.id, key: await rotateKey(trx, found.id) };
      });
    },
    async renameKey({ id, name }, context) {
      const caller = callerOf(context);
      const newName = requiredName('name', name);
      return audited({ db, changes }, caller, async (trx, record) => {
        const found = await managedKey(trx, caller, id);
        await renameKey(trx, found.id, newName);
        const details = { from: found.name, to: newName };
        await record({ orgId: found.orgId, action: 'rename key', subject: found.id, details }, ['api_key', found.id]);
        return { id: found.id, name: newName };
      });
    },
  }) satisfies KeyCalls;

/** RFC 3339, in whole seconds. */
const timeText = (ms: number): string => {
  const { seconds } = timestampFromMs(ms);
  return toJson(TimestampSchema, message(TimestampSchema, { seconds }));
};
