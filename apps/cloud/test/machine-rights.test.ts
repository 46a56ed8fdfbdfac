// Rights on a machine within its organization; tenancy.test.ts covers other organizations.
import assert from 'node:assert/strict';
import test from 'node:test';
import type { Client } from '@connectrpc/connect';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { failure } from './failure.ts';
import { testServer } from './server.ts';

const notOwner = 'PermissionDenied NOT_OWNER';
const denied = 'PermissionDenied PERMISSION_DENIED';
const fine = 'no failure';
type Calls = { fleet: Client<typeof FleetService>; app: Client<typeof AppService> };
type Machine = { machineId: string; partId: string; orgId: string };

/** The least role for each call; owners may make all of them. Calls that delete the machine come last. */
const table: [name: string, least: 'operators' | 'owners', call: (by: Calls, of: Machine) => Promise<unknown>][] = [
  ['see it', 'operators', ({ fleet }, { machineId: id }) => fleet.getMachine({ id })],
  ['see its configuration', 'operators', ({ fleet }, { partId }) => fleet.getConfig({ partId })],
  ['see what was saved', 'operators', ({ fleet }, { partId }) => fleet.listConfigRevisions({ partId })],
  ['check a configuration', 'operators', ({ fleet }, { partId }) => fleet.checkConfig({ partId, configJson: '{}' })],
  ['save a configuration', 'operators', ({ fleet }, { partId }) => fleet.saveConfig({ partId, configJson: '{}' })],
  ['have it restarted', 'operators', ({ fleet }, { partId }) => fleet.restartPart({ partId })],
  ['have it restarted, by the public call', 'operators', ({ app }, { partId }) => app.markPartForRestart({ partId })],
  ['let it try versions again', 'operators', ({ fleet }, { partId }) => fleet.clearQuarantine({ partId })],
  ['upgrade its operating system', 'operators', ({ fleet }, { partId }) => fleet.upgradeSystem({ partId })],
  ['read its credentials', 'owners', ({ fleet }, { partId }) => fleet.getCredentials({ partId })],
  ['make a secret for it', 'owners', ({ app }, { partId }) => app.createRobotPartSecret({ partId })],
  ['create another', 'owners', ({ fleet }, { orgId }) => fleet.createMachine({ organizationId: orgId, name: 'x' })],
  ['delete it, by the public call', 'owners', ({ app }, { machineId: id }) => app.deleteRobot({ id })],
  ['delete it', 'owners', ({ fleet }, { machineId: id }) => fleet.deleteMachine({ id })],
];

test('what owners, operators, runners and machines may do with a machine', async () => {
  await using on = await testServer();
  const other = await on.machine('other');
  const grants = [
    {
      authorizationType: 'role',
      authorizationId: 'organization_operator',
      resourceType: 'organization',
      resourceId: on.orgId,
    },
  ];
  const made = await (await on.client(AppService)).createKey({ authorizations: grants });
  const operator = { type: 'api-key', entity: made.id, payload: made.key } as const;
  const as = async (who: Parameters<typeof on.client>[1]): Promise<Calls> => ({
    fleet: await on.client(FleetService, who),
    app: await on.client(AppService, who),
  });
  const machine = await on.machine('press');
  const of = { machineId: machine.machineId, partId: machine.partId, orgId: on.orgId };
  const callers = {
    operator: await as(operator),
    runner: await as(on.runner),
    'another machine': await as(other.part),
    'the machine itself': await as(machine.part),
  };
  const heard: Record<string, string> = {};
  const expected: Record<string, string> = {};
  for (const [name, least, call] of table)
    for (const [who, by] of Object.entries(callers)) {
      heard[`${who}: ${name}`] = await failure(call(by, of));
      expected[`${who}: ${name}`] = least === 'owners' ? notOwner : who === 'operator' ? fine : denied;
    }
  assert.deepEqual(heard, expected);

  // An operator sees the part without its secret.
  const { part } = await callers.operator.app.getRobotPart({ id: machine.partId });
  assert.deepEqual([part?.secret, part?.secrets], ['', []]);
  const owner = await as(on.owner);
  for (const [name, , call] of table.slice(0, -2)) assert.equal(await failure(call(owner, of)), fine, `owner: ${name}`);
  assert.equal(await failure(owner.fleet.deleteMachine({ id: of.machineId })), fine);
});
