// One rule covers new names; names stored before it stay valid. Other values are refused with their own names.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import test from 'node:test';
import { DataService } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { DatasetService } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import {
  MLTrainingService,
  type TrainingStatus,
} from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { PackageType } from '@platform/contract/gen/platform/app/packages/v1/packages_pb';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { failure } from './failure.ts';
import { testServer, type TestServer } from './server.ts';

const harmful = ['a\u202eb', 'a\u2066b', 'a\u200fb', 'a\u061cb', 'a\u200bb', 'a\u001b[31mb', 'a\nb', ''];

async function namingCalls(on: TestServer): Promise<Record<string, (name: string) => Promise<unknown>>> {
  const [app, fleet, datasets] = [
    await on.client(AppService),
    await on.client(FleetService),
    await on.client(DatasetService),
  ];
  const data = await on.client(DataService);
  const { orgId } = on;
  const locationId = on.server.firstRun.locationId;
  const { machineId, partId } = await on.machine('press');
  const { partId: second } = await app.newRobotPart({ robotId: machineId, partName: 'second' });
  const { id: datasetId } = await datasets.createDataset({ organizationId: orgId, name: 'parts' });
  const grant = { authorizationType: 'role', authorizationId: 'organization_owner', resourceType: 'organization' };
  const ofOrganization = { ...grant, resourceId: orgId, identityType: 'api-key' };
  const { id: keyId } = await app.createKey({ name: 'key', authorizations: [ofOrganization] });
  const filter = { organizationIds: [orgId] };
  return {
    'a new machine': (name) => fleet.createMachine({ organizationId: orgId, name }),
    'a new robot': (name) => app.newRobot({ name, location: locationId }),
    'a machine': (name) => app.updateRobot({ id: machineId, name }),
    'a new part': (name) => app.newRobotPart({ robotId: machineId, partName: name }),
    'a part': (name) => app.updateRobotPart({ id: second, name }),
    'the organization': (name) => app.updateOrganization({ organizationId: orgId, name }),
    'a new location': (name) => app.createLocation({ organizationId: orgId, name }),
    'a location': (name) => app.updateLocation({ locationId, name }),
    'a new key': (name) => app.createKey({ name, authorizations: [ofOrganization] }),
    'a key': (name) => app.renameKey({ id: keyId, name }),
    'a new dataset': (name) => datasets.createDataset({ organizationId: orgId, name }),
    'a dataset': (name) => datasets.renameDataset({ id: datasetId, name }),
    'a tag': (name) => data.addTagsToBinaryDataByFilter({ filter: { ...filter, partId }, tags: [name] }),
  };
}

/** An empty name has a meaning here: keep the current name, or generate one. */
const mayBeEmpty = new Set(['a machine', 'a part', 'a new key']);

test('names that turn text around, hide in it or drive a terminal are refused everywhere', async () => {
  await using on = await testServer();
  const wrong: string[] = [];
  for (const [what, call] of Object.entries(await namingCalls(on))) {
    for (const name of harmful) {
      if (name === '' && mayBeEmpty.has(what)) continue;
      const error = await failure(call(name));
      if (!/InvalidArgument INVALID_ARGUMENT/.test(error)) wrong.push(`${what} ${JSON.stringify(name)}: ${error}`);
    }
    for (const name of [`${what} مكبس`, `${what} 工場 👩\u200d🔧`]) {
      const error = await failure(call(name));
      if (error !== 'no failure') wrong.push(`${what} ${name}: ${error}`);
    }
  }
  assert.deepEqual(wrong, []);
});

test('a name in the form of an ID is refused for whatever has an ID, and no other', async () => {
  await using on = await testServer();
  const id = '11111111-2222-4333-8444-555555555555';
  const refused: string[] = [];
  for (const [what, call] of Object.entries(await namingCalls(on))) {
    const error = await failure(call(id.toUpperCase()));
    if (error === 'InvalidArgument INVALID_ARGUMENT') refused.push(what);
    else assert.equal(error, 'no failure', what);
    assert.equal(await failure(call(`${what} ${id}`.slice(0, 60))), 'no failure', 'it only contains one');
  }
  assert.deepEqual(
    Object.keys(await namingCalls(on)).filter((what) => !refused.includes(what)),
    ['a tag'],
  );
});

test('a model in the form of an ID is refused; one of before stays usable', async () => {
  await using on = await testServer();
  const app = await on.client(AppService);
  const name = '11111111-2222-4333-8444-555555555555';
  const item = { organizationId: on.orgId, name, type: PackageType.ML_MODEL };
  assert.equal(await failure(app.createRegistryItem(item)), 'InvalidArgument INVALID_ARGUMENT');
  await app.createRegistryItem({ ...item, name: 'parts' });
  await on.db.updateTable('registryItem').set({ name }).where('name', '=', 'parts').execute();
  assert.equal(await failure(app.createRegistryItem(item)), 'AlreadyExists NAME_TAKEN', 'not for its form');
});

test('the server finds a machine by its ID or part ID, else by its name', async () => {
  await using on = await testServer();
  const [app, fleet] = [await on.client(AppService), await on.client(FleetService)];
  const one = await on.machine('one');
  const two = await on.machine('Größe'.normalize('NFD'));
  await on.machine('one more');
  const { location } = await app.createLocation({ organizationId: on.orgId, name: 'hall' });
  const { id: other } = await app.newRobot({ name: 'one', location: location?.id ?? '' });
  // Stored under earlier rules.
  await on.db.updateTable('machine').set({ name: one.machineId }).where('id', '=', two.machineId).execute();
  const find = async (named: string): Promise<string[]> => {
    const { machines } = await fleet.listMachines({ organizationId: on.orgId, named });
    return machines.map(({ id }) => id).toSorted();
  };
  assert.deepEqual(await find(one.machineId), [one.machineId], 'an ID wins over a name');
  assert.deepEqual(await find(one.partId.toUpperCase()), [one.machineId]);
  assert.deepEqual(await find('one'), [one.machineId, other].toSorted());
  assert.deepEqual([await find('ONE'), await find("o'; --"), await find(on.orgId)], [[], [], []]);
  await on.db.updateTable('machine').set({ name: on.orgId }).where('id', '=', two.machineId).execute();
  assert.deepEqual(await find(on.orgId), [two.machineId], 'an old name in the form of an ID that nothing has');
  await on.db
    .updateTable('machine')
    .set({ name: 'Größe'.normalize('NFD') })
    .where('id', '=', two.machineId)
    .execute();
  assert.deepEqual(await find('Größe'.normalize('NFC')), [two.machineId], 'another form of the same letters');
});

test('names that were stored under earlier rules go on to work', async () => {
  await using on = await testServer();
  const old = 'old\u202ename';
  const { machineId, partId } = await on.machine('press');
  const key = await (
    await on.client(AppService)
  ).createKey({
    name: 'key',
    authorizations: [
      {
        authorizationType: 'role',
        authorizationId: 'organization_operator',
        resourceType: 'organization',
        resourceId: on.orgId,
        identityType: 'api-key',
      },
    ],
  });
  for (const [table, id] of [
    ['machine', machineId],
    ['apiKey', key.id],
    ['location', on.server.firstRun.locationId],
    ['organization', on.orgId],
  ] as const)
    await on.db.updateTable(table).set({ name: old }).where('id', '=', id).execute();
  const app = await on.client(AppService);
  const { location } = await app.createLocation({ organizationId: on.orgId, name: 'hall' });
  assert.equal((await app.getRobot({ id: machineId })).robot?.name, old);
  assert.equal((await app.updateRobot({ id: machineId, name: old, location: location?.id ?? '' })).robot?.name, old);
  await app.updateLocation({ locationId: on.server.firstRun.locationId, name: old });
  await app.createKeyFromExistingKeyAuthorizations({ id: key.id });
  await app.rotateKey({ id: key.id });
  await (await on.client(FleetService)).getConfig({ partId });
  assert.equal((await app.listOrganizations({})).organizations[0]?.name, old);
});

test('a machine takes no used name: by a new name, by a move, and when two take it at once', async () => {
  await using on = await testServer();
  const app = await on.client(AppService);
  const { machineId: one } = await on.machine('one');
  const { machineId: two } = await on.machine('two');
  assert.match(await failure(app.updateRobot({ id: two, name: 'one' })), /AlreadyExists NAME_TAKEN/);
  const { location } = await app.createLocation({ organizationId: on.orgId, name: 'hall' });
  const { id: there } = await app.newRobot({ name: 'one', location: location?.id ?? '' });
  assert.match(await failure(app.updateRobot({ id: one, location: location?.id ?? '' })), /AlreadyExists NAME_TAKEN/);
  for (let round = 0; round < 10; round++) {
    const name = `both ${round}`;
    const errors = await Promise.all([one, two].map((id) => failure(app.updateRobot({ id, name }))));
    assert.deepEqual(errors.toSorted(), ['AlreadyExists NAME_TAKEN', 'no failure']);
  }
  assert.ok(there);
  const { partId } = await app.newRobotPart({ robotId: one, partName: 'arm' });
  await app.newRobotPart({ robotId: one, partName: 'leg' });
  assert.match(await failure(app.updateRobotPart({ id: partId, name: 'leg' })), /AlreadyExists NAME_TAKEN/);
});

test('a file with another hash is 422, an unknown status of a training job INVALID_ARGUMENT', async () => {
  await using on = await testServer();
  const put = async (sha256: string): Promise<{ status: number; text: string }> => {
    const authorization = `Bearer ${await on.token(on.owner)}`;
    const answer = await fetch(`${on.url}/blobs/${sha256}`, {
      method: 'PUT',
      body: 'bytes',
      headers: { authorization },
    });
    return { status: answer.status, text: await answer.text() };
  };
  const wrong = await put('0'.repeat(64));
  assert.equal(wrong.status, 422);
  assert.match(wrong.text, /HASH_MISMATCH/);
  assert.equal((await put(createHash('sha256').update('bytes').digest('hex'))).status, 201);
  const training = await on.client(MLTrainingService);
  for (const [status, error] of [
    [0, 'no failure'],
    [1, 'no failure'],
    [6, 'no failure'],
    [99, 'InvalidArgument INVALID_ARGUMENT'],
    [-1, 'InvalidArgument INVALID_ARGUMENT'],
  ] as const)
    assert.equal(
      await failure(training.listTrainingJobs({ organizationId: on.orgId, status: status as TrainingStatus })),
      error,
      String(status),
    );
});
