import type { ServiceImpl } from '@connectrpc/connect';
import { create as message, toJson } from '@bufbuild/protobuf';
import { timestampFromMs, TimestampSchema } from '@bufbuild/protobuf/wkt';
import { PlatformError } from '@platform/contract/errors';
import type { AppService, Authorization } from '@platform/contract/gen/platform/app/v1/app_pb';
import { callerOf } from '../auth/caller.ts';
import { type Caller, type Grant, requireMachineOwner, requireOwner, type Role } from '../rules/permissions.ts';
import { audit } from '../store/audit.ts';
import type { Database } from '../store/database.ts';
import {
  deleteKey,
  findKey,
  insertKey,
  type KeyRow,
  type KeyWithGrants,
  listKeys,
  renameKey,
  rotateKey,
} from '../store/keys.ts';
import { locationFor, organizationFor } from './app-organizations.ts';
import { requiredName } from './fields.ts';
import { operatedMachine } from './part-access.ts';
import type { Deps } from './routes.ts';

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

/** The right that is asked for, if the caller may give it: owners give what they have. */
async function grantFrom(db: Database, caller: Caller, asked: Authorization): Promise<Grant<Role> & { orgId: string }> {
  const [resource, role] = asked.authorizationId.split('_') as [string, Role | undefined];
  const isKnown = role === 'owner' || role === 'operator' || (role === 'runner' && resource === 'organization');
  if (!isKnown || resource !== asked.resourceType || !['organization', 'location', 'robot'].includes(resource)) {
    throw new PlatformError('INVALID_ARGUMENT', {
      field: 'authorizations.authorization_id',
      value: asked.authorizationId,
      limit:
        'organization, location or robot with _owner or _operator, or organization_runner; the same resource_type beside it',
    });
  }
  if (resource === 'organization') {
    const { id } = await organizationFor(db, caller, asked.resourceId || asked.organizationId);
    requireOwner(caller, id);
    return { role, resource, resourceId: id, orgId: id };
  }
  if (resource === 'location') {
    const location = await locationFor(db, caller, asked.resourceId, requireOwner);
    return { role, resource, resourceId: location.id, orgId: location.orgId };
  }
  const machine = await operatedMachine(db, caller, asked.resourceId, requireMachineOwner);
  return { role, resource: 'robot', resourceId: machine.id, orgId: machine.orgId };
}

async function ownedKey(db: Database, caller: Caller, id: string): Promise<KeyRow> {
  const key = await findKey(db, id);
  const absent = () => new PlatformError('KEY_NOT_FOUND', { keyId: id });
  if (!key) throw absent();
  requireOwner(caller, key.orgId, absent);
  return key;
}

export const keyCalls = ({ db, changes, clock }: Deps) => {
  const create = async (caller: Caller, name: string, grants: readonly (Grant<Role> & { orgId: string })[]) => {
    const [first] = grants;
    if (!first)
      throw new PlatformError('INVALID_ARGUMENT', { field: 'authorizations', limit: 'at least one is required' });
    if (grants.some((grant) => grant.orgId !== first.orgId)) {
      throw new PlatformError('INVALID_ARGUMENT', { field: 'authorizations', limit: 'all of one organization' });
    }
    const keyName = name === '' ? `${caller.name} ${timeText(clock.wall())}` : requiredName('name', name);
    return db.transaction().execute(async (trx) => {
      const created = await insertKey(trx, { orgId: first.orgId, name: keyName, grants });
      await audit(trx, {
        orgId: first.orgId,
        caller,
        action: 'create key',
        subject: created.id,
        details: { grants: grants.map((grant) => `${grant.resource}_${grant.role} ${grant.resourceId}`) },
      });
      return created;
    });
  };
  return {
    async createKey({ authorizations, name }, context) {
      const caller = callerOf(context);
      return create(caller, name, await Promise.all(authorizations.map((asked) => grantFrom(db, caller, asked))));
    },
    async createKeyFromExistingKeyAuthorizations({ id }, context) {
      const caller = callerOf(context);
      const { orgId, name } = await ownedKey(db, caller, id);
      const key = (await listKeys(db, orgId)).find((one) => one.id === id.toLowerCase());
      const grants = (key?.grants ?? []).flatMap((grant) =>
        grant.orgId === undefined ? [] : [{ ...grant, orgId: grant.orgId }],
      );
      return create(caller, `${name} (copy)`, grants);
    },
    async listKeys({ orgId }, context) {
      const caller = callerOf(context);
      const { id } = await organizationFor(db, caller, orgId);
      requireOwner(caller, id);
      return { apiKeys: (await listKeys(db, id)).map(keyMessage) };
    },
    async getRobotAPIKeys({ robotId }, context) {
      const machine = await operatedMachine(db, callerOf(context), robotId, requireMachineOwner);
      const keys = await listKeys(db, machine.orgId);
      return {
        apiKeys: keys.filter((key) => key.grants.some((grant) => grant.resourceId === machine.id)).map(keyMessage),
      };
    },
    async deleteKey({ id }, context) {
      const caller = callerOf(context);
      const key = await ownedKey(db, caller, id);
      await db.transaction().execute(async (trx) => {
        await deleteKey(trx, key.id);
        await audit(trx, {
          orgId: key.orgId,
          caller,
          action: 'delete key',
          subject: key.id,
          details: { name: key.name },
        });
      });
      changes.tell('api_key', key.id);
      return {};
    },
    async rotateKey({ id }, context) {
      const caller = callerOf(context);
      const found = await ownedKey(db, caller, id);
      const key = await db.transaction().execute(async (trx) => {
        await audit(trx, { orgId: found.orgId, caller, action: 'rotate key', subject: found.id });
        return rotateKey(trx, found.id);
      });
      changes.tell('api_key', found.id);
      return { id: found.id, key };
    },
    async renameKey({ id, name }, context) {
      const found = await ownedKey(db, callerOf(context), id);
      await renameKey(db, found.id, requiredName('name', name));
      changes.tell('api_key', found.id);
      return { id: found.id, name: name.trim() };
    },
  } satisfies Partial<ServiceImpl<typeof AppService>>;
};

/** RFC 3339, to the second. */
const timeText = (ms: number): string => {
  const { seconds } = timestampFromMs(ms);
  return toJson(TimestampSchema, message(TimestampSchema, { seconds }));
};
