// A machine's secret reaches the packages that its configuration names; a script's key, those that its job names.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { DataService } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { DatasetService } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import { DataSyncService } from '@platform/contract/gen/platform/app/datasync/v1/data_sync_pb';
import { MLTrainingService } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { PackageService } from '@platform/contract/gen/platform/app/packages/v1/packages_pb';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { RunnerService } from '@platform/contract/gen/platform/runner/v1/runner_pb';
import { smallPng } from '@platform/kit/testing';
import { dataServiceFor } from './captured-uploads.ts';
import { failure } from './failure.ts';
import { archiveOf, scriptEntries } from './script-archive.ts';
import { type Credentials, testServer, type TestServer } from './server.ts';

const notNamed = 'PermissionDenied RESOURCE_NOT_NAMED';
const denied = 'PermissionDenied PERMISSION_DENIED';
const fine = 'no failure';

async function publish(on: TestServer, name: string, type = 'ml_training'): Promise<void> {
  const answer = await fetch(`${on.url}/packages/${on.orgId}/${name}?type=${type}&version=1`, {
    method: 'POST',
    headers: { authorization: `Bearer ${await on.token(on.owner)}` },
    body: new Uint8Array(await archiveOf(scriptEntries(name))),
  });
  assert.equal(answer.status, 201);
}

/** Returns the packages that the credentials reach through every interface; all interfaces must agree. */
async function reached(on: TestServer, who: Credentials, names: readonly string[]): Promise<string[]> {
  const packages = await on.client(PackageService, who);
  const app = await on.client(AppService, who);
  const headers = { authorization: `Bearer ${await on.token(who)}` };
  const listed = (await packages.listPackages({ organizationId: on.orgId })).packages.map(({ info }) => info?.name);
  const items = (await app.listRegistryItems({ organizationId: on.orgId })).items.map(({ name }) => name);
  const found: string[] = [];
  for (const name of names) {
    const ways = [
      (await failure(packages.getPackage({ id: `${on.orgId}/${name}`, version: '1' }))) === fine,
      (await failure(app.getRegistryItem({ itemId: `${on.orgId}:${name}` }))) === fine,
      (await fetch(`${on.url}/packages/${on.orgId}/${name}/1.tar.gz`, { headers })).ok,
      items.includes(name),
      // Public packages of others are not listed as own ones.
      listed.includes(name) || name === 'public',
    ];
    assert.equal(new Set(ways).size, 1, `${name}: ${ways.join(' ')}`);
    if (ways[0]) found.push(name);
  }
  return found;
}

test('a machine reads the packages that its configuration names, now or one revision ago, and public ones', async () => {
  await using on = await testServer();
  const names = ['cups', 'pens', 'secret', 'public'];
  for (const name of names) await publish(on, name, 'ml_model');
  await on.db.updateTable('registryItem').set({ visibility: 'public' }).where('name', '=', 'public').execute();
  const fleet = await on.client(FleetService);
  const { partId, part } = await on.machine('m');
  const configure = (...packages: string[]) => {
    const entries = packages.map((name) => ({ name, package: `${on.orgId}/${name}`, type: 'ml_model', version: '1' }));
    return fleet.saveConfig({ partId, configJson: JSON.stringify({ packages: entries }) });
  };
  assert.deepEqual(await reached(on, part, names), ['public']);
  await configure('cups');
  assert.deepEqual(await reached(on, part, names), ['cups', 'public']);
  await configure('pens');
  assert.deepEqual(await reached(on, part, names), ['cups', 'pens', 'public'], 'a machine may be one revision late');
  await configure('pens');
  assert.deepEqual(await reached(on, part, names), ['pens', 'public']);
  const call = (await on.client(PackageService, part)).getPackage({ id: `${on.orgId}/secret`, version: '1' });
  await assert.rejects(call, /The configuration of this machine does not name package/);
  assert.deepEqual(await reached(on, on.owner, names), names);
});

test('a machine adds images to the datasets that its configuration names, or named in the last 30 days', async () => {
  await using on = await testServer();
  const datasets = await on.client(DatasetService);
  const [now = '', before = '', old = '', never = ''] = await Promise.all(
    ['now', 'before', 'old', 'never'].map(
      async (name) => (await datasets.createDataset({ organizationId: on.orgId, name })).id,
    ),
  );
  const fleet = await on.client(FleetService);
  const { partId, part } = await on.machine('m');
  const sync = await on.client(DataSyncService, part);
  for (const id of [old, before, 'x', 'y', now]) {
    await fleet.saveConfig({ partId, configJson: JSON.stringify(dataServiceFor(id)) });
  }
  await sql`update config_revision set saved_on = now() - interval '40 days' where revision <= 2`.execute(on.db);
  const send = (...datasetIds: string[]) =>
    failure(
      sync.dataCaptureUpload({
        metadata: { partId, type: 1, datasetIds },
        sensorContents: [{ data: { case: 'binary', value: Buffer.from('image') } }],
      }),
    );
  assert.deepEqual(
    [await send(), await send(now), await send(now, before), await send(never), await send(now, never)],
    [fine, fine, fine, notNamed, notNamed],
  );
  assert.equal(await send(old), notNamed, 'its successor was saved more than 30 days ago');
});

test("the key of a script reads its job's dataset and script, and nothing else of the organization", async () => {
  await using on = await testServer();
  const [datasets, sync] = [await on.client(DatasetService), await on.client(DataSyncService)];
  for (const name of ['mine', 'base', 'other']) await publish(on, name);
  const { partId } = await on.machine('m');
  const made = async (name: string) => {
    const { id } = await datasets.createDataset({ organizationId: on.orgId, name });
    const value = smallPng(`image of ${name}`);
    const sent = await sync.dataCaptureUpload({
      metadata: { partId, type: 1, tags: [name], datasetIds: [id] },
      sensorContents: [{ data: { case: 'binary', value } }],
    });
    return { id, dataId: sent.binaryDataId };
  };
  const [own, other] = [await made('own'), await made('other')];
  const runner = await on.client(RunnerService, on.runner);
  const offer = { runnerId: 'r', kinds: ['custom'], containers: [{ key: 'py', uri: 'host:x', framework: 'python' }] };
  await runner.leaseJob(offer);
  await (
    await on.client(MLTrainingService)
  ).submitCustomTrainingJob({
    organizationId: on.orgId,
    datasetId: own.id,
    registryItemId: `${on.orgId}:mine`,
    registryItemVersion: '1',
    modelName: 'm',
    modelVersion: '1',
    arguments: { start_from: `${on.orgId}/base` },
  });
  const { scriptCredentials } = (await runner.leaseJob(offer)).job ?? {};
  const { apiKeyId: entity = '', apiKey: payload = '' } = scriptCredentials ?? {};
  const script: Credentials = { type: 'api-key', entity, payload };

  assert.deepEqual(await reached(on, script, ['mine', 'base', 'other']), ['mine', 'base']);
  const data = await on.client(DataService, script);
  const idsBy = async (filter: object) =>
    (await data.binaryDataByFilter({ dataRequest: { filter } })).data.map(({ metadata }) => metadata?.binaryDataId);
  assert.deepEqual(await idsBy({}), [own.dataId]);
  assert.deepEqual(await idsBy({ datasetId: other.id }), []);
  assert.deepEqual((await data.tagsByFilter({})).tags, ['own']);
  assert.equal((await data.binaryDataByFilter({ countOnly: true })).count, 1n);
  const byId = (id: string) => failure(data.binaryDataByIDs({ binaryDataIds: [id], includeBinary: true }));
  assert.deepEqual([await byId(own.dataId), await byId(other.dataId)], [fine, 'NotFound BINARY_DATA_NOT_FOUND']);
  const headers = { authorization: `Bearer ${await on.token(script)}` };
  const status = async (id: string) => (await fetch(`${on.url}/data/${id}`, { headers })).status;
  assert.deepEqual([await status(own.dataId), await status(other.dataId)], [200, 404]);
  const listed = await (
    await on.client(DatasetService, script)
  ).listDatasetsByOrganizationID({
    organizationId: on.orgId,
  });
  assert.deepEqual(
    listed.datasets.map(({ id }) => id),
    [own.id],
  );
  const byIds = await (await on.client(DatasetService, script)).listDatasetsByIDs({ ids: [own.id, other.id] });
  assert.equal(byIds.datasets.length, 1);
  const readings = { partId, resourceName: 'x', resourceSubtype: 'y', methodName: 'z' };
  assert.equal(await failure(data.getLatestTabularData(readings)), denied, 'readings belong to no dataset');
});
