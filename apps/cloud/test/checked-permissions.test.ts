// CheckPermissions is accurate: each permission is compared with the result of its call, by caller and resource.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import test from 'node:test';
import type { DescService } from '@bufbuild/protobuf';
import type { Client } from '@connectrpc/connect';
import { DataService } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { DatasetService } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import { MLTrainingService } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { AuditService } from '@platform/contract/gen/platform/audit/v1/audit_pb';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { permissions, type Resource, resourceTypes } from '../src/organizations/rules/checked-permissions.ts';
import type { Grant, Role } from '../src/access/rules/permissions.ts';
import { insertKey } from '../src/access/store/keys.ts';
import { insertLocation } from '../src/access/store/organizations.ts';
import { failure } from './failure.ts';
import { type Credentials, testServer } from './server.ts';

type Clients = <S extends DescService>(service: S) => Promise<Client<S>>;
type Machine = { machineId: string; partId: string };
type Asked = { orgId: string; locationId: string; machines: readonly Machine[] };
type Call = (as: Clients, asked: Asked) => Promise<unknown>;

const names = { n: 0 };
const freshName = (): string => `name ${names.n++}`;
const forEach =
  (call: (as: Clients, machine: Machine) => Promise<unknown>): Call =>
  async (as, { machines }) => {
    for (const machine of machines) await call(as, machine);
  };

/** The call that each permission allows. */
const calls: Readonly<Record<string, Call>> = {
  read_organization: async (as, { orgId }) => (await as(AppService)).getOrganization({ organizationId: orgId }),
  edit_organization: async (as, { orgId }) =>
    (await as(AppService)).updateOrganization({ organizationId: orgId, name: freshName() }),
  read_location: async (as, { locationId }) => (await as(AppService)).getLocation({ locationId }),
  edit_location: async (as, { locationId }) => (await as(AppService)).updateLocation({ locationId, name: freshName() }),
  create_robot: async (as, { locationId }) =>
    (await as(AppService)).newRobot({ name: freshName(), location: locationId }),
  manage_keys: async (as, { orgId }) => (await as(AppService)).listKeys({ orgId }),
  read_audit: async (as, { orgId }) => (await as(AuditService)).listAuditEntries({ organizationId: orgId }),
  read_data: async (as, { orgId }) =>
    (await as(DataService)).binaryDataByFilter({ dataRequest: { filter: { organizationIds: [orgId] } } }),
  edit_data: async (as, { orgId }) =>
    (await as(DatasetService)).createDataset({ organizationId: orgId, name: freshName() }),
  train: async (as, { orgId }) => (await as(MLTrainingService)).listTrainingJobs({ organizationId: orgId }),
  read_robot: forEach(async (as, { machineId }) => (await as(AppService)).getRobot({ id: machineId })),
  control_robot: forEach(async (as, { partId }) => (await as(AppService)).markPartForRestart({ partId })),
  read_robot_logs: forEach(async (as, { partId }) => (await as(AppService)).getRobotPartLogs({ id: partId })),
  read_robot_config: forEach(async (as, { partId }) => (await as(FleetService)).getConfig({ partId })),
  edit_robot_config: forEach(async (as, { partId }) =>
    (await as(FleetService)).saveConfig({ partId, configJson: '{}' }),
  ),
  edit_robot: forEach(async (as, { machineId }) =>
    (await as(AppService)).updateRobot({ id: machineId, name: freshName() }),
  ),
  read_robot_secrets: forEach(async (as, { partId }) => (await as(FleetService)).getCredentials({ partId })),
  manage_robot_keys: forEach(async (as, { machineId }) =>
    (await as(AppService)).getRobotAPIKeys({ robotId: machineId }),
  ),
};

/** Permissions on an organization cover all of its locations. */
const ofOrganizations: typeof calls = {
  read_location: async (as, { orgId }) => (await as(AppService)).listLocations({ organizationId: orgId }),
};

test('caller × resource × permission: the answer and the call agree', async () => {
  await using on = await testServer();
  const { orgId, db } = on;
  const locationId = on.server.firstRun.locationId;
  await insertLocation(db, { id: 'location02', orgId, name: 'Second', parentLocationId: null });
  const one = await on.machine('one');
  const three = await on.machine('three');
  const { partId: partTwo } = await on.machine('two');
  const app = await on.client(AppService);
  const { robot: two } = await app
    .getRobotPart({ id: partTwo })
    .then(({ part }) => app.getRobot({ id: part?.robot ?? '' }));
  await app.updateRobot({ id: two?.id ?? '', location: 'location02' });
  const machineTwo = { machineId: two?.id ?? '', partId: partTwo };
  const other = randomUUID();
  await db.insertInto('organization').values({ id: other, name: 'Others', publicNamespace: 'others' }).execute();

  const key = async (role: Role, resource: Grant['resource'], resourceId: string): Promise<Credentials> => {
    const grants = [{ role, resource, resourceId, orgId: resourceId === other ? other : orgId }];
    const made = await insertKey(db, { orgId, name: `${resource} ${role}`, grants });
    return { type: 'api-key', entity: made.id, payload: made.key };
  };
  const callers: Readonly<Record<string, Credentials>> = {
    'first key': on.owner,
    owner: await key('owner', 'organization', orgId),
    operator: await key('operator', 'organization', orgId),
    runner: on.runner,
    'owner of the location': await key('owner', 'location', locationId),
    'operator of the location': await key('operator', 'location', locationId),
    'owner of the machine': await key('owner', 'robot', one.machineId),
    'operator of the machine': await key('operator', 'robot', one.machineId),
    'the machine': one.part,
    'foreign owner': await key('owner', 'organization', other),
  };
  const resources: Readonly<Record<string, { type: Resource['is']; id: string; asked: Asked }>> = {
    organization: { type: 'organization', id: orgId, asked: { orgId, locationId, machines: [one, three, machineTwo] } },
    location: { type: 'location', id: locationId, asked: { orgId, locationId, machines: [one, three] } },
    'second location': {
      type: 'location',
      id: 'location02',
      asked: { orgId, locationId: 'location02', machines: [machineTwo] },
    },
    machine: { type: 'robot', id: one.machineId, asked: { orgId, locationId, machines: [one] } },
    'second machine': {
      type: 'robot',
      id: machineTwo.machineId,
      asked: { orgId, locationId: 'location02', machines: [machineTwo] },
    },
  };
  const wrong: string[] = [];
  const counts = { yes: 0, no: 0 };
  for (const [who, credentials] of Object.entries(callers)) {
    const token = await on.token(credentials);
    const as: Clients = (service) => on.client(service, { token });
    for (const [what, { type, id, asked }] of Object.entries(resources)) {
      const all = Object.keys(permissions[type]);
      const { authorizedPermissions } = await (
        await as(AppService)
      ).checkPermissions({ permissions: [{ resourceType: type, resourceId: id, permissions: [...all, 'no_such'] }] });
      const answered = authorizedPermissions.flatMap((found) => found.permissions);
      for (const permission of all) {
        const call =
          (type === 'organization' ? ofOrganizations[permission] : undefined) ??
          calls[permission] ??
          assert.fail(`no call for ${permission}`);
        const error = await failure(call(as, asked));
        if (error !== 'no failure')
          assert.match(error, /NOT_OWNER|PERMISSION_DENIED|NOT_FOUND/, `${who} ${permission}`);
        const isAllowed = error === 'no failure';
        counts[isAllowed ? 'yes' : 'no']++;
        if (isAllowed !== answered.includes(permission))
          wrong.push(`${who}, ${what}, ${permission}: the call: ${error}`);
      }
      assert.ok(!answered.includes('no_such'));
    }
  }
  assert.deepEqual(wrong, []);
  assert.ok(counts.yes > 100 && counts.no > 100, JSON.stringify(counts));
});

test('what CheckPermissions refuses, and permissions on unknown resources', async () => {
  await using on = await testServer();
  const app = await on.client(AppService);
  const ask = (resourceType: string, resourceId: string, permissions_: string[]) =>
    app.checkPermissions({ permissions: [{ resourceType, resourceId, permissions: permissions_ }] });
  assert.match(await failure(app.checkPermissions({})), /INVALID_ARGUMENT/);
  for (const type of ['', 'installation', 'fragment', '__proto__'])
    assert.match(await failure(ask(type, on.orgId, ['read_organization'])), /INVALID_ARGUMENT/, type);
  for (const type of resourceTypes) {
    const answers = [
      await ask(type, randomUUID(), Object.keys(permissions[type])),
      await ask(type, 'x', Object.keys(permissions[type])),
      await ask(type, on.orgId, ['constructor', 'toString', '', 'READ_ORGANIZATION']),
    ];
    for (const { authorizedPermissions } of answers) assert.deepEqual(authorizedPermissions, [], type);
  }
});
