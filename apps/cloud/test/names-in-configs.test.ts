// Who saves a configuration gives the machine what it names, so it must have that right itself.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { ConnectError } from '@connectrpc/connect';
import { DatasetService } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import { DataSyncService } from '@platform/contract/gen/platform/app/datasync/v1/data_sync_pb';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { ConfigProblemsSchema, FleetService, Severity } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { systemClock } from '@platform/kit/node';
import { errorCodeOf } from '@platform/contract/errors/errors';
import { insertKey } from '../src/access/store/keys.ts';
import { namesIn } from '../src/configs/rules/named-in-config.ts';
import { insertConfig } from '../src/configs/store/configs.ts';
import { namedByPart } from '../src/registry/store/named-resources.ts';
import { failure } from './failure.ts';
import { archiveOf, scriptEntries } from './script-archive.ts';
import { type Credentials, testServer } from './server.ts';

const fine = 'no failure';
const refused = 'InvalidArgument INVALID_CONFIG';
const absent = 'nosuchthing';

async function world() {
  const on = await testServer();
  const { db, orgId } = on;
  const { machineId, partId, part } = await on.machine('m');
  const token = await on.token(on.owner);
  for (const name of ['model', 'script', 'open']) {
    const answer = await fetch(
      `${on.url}/packages/${orgId}/${name}?type=${name === 'model' ? 'ml_model' : 'ml_training'}&version=1`,
      {
        method: 'POST',
        headers: { authorization: `Bearer ${token}` },
        body: new Uint8Array(await archiveOf(scriptEntries(name))),
      },
    );
    assert.equal(answer.status, 201);
  }
  await db.updateTable('registryItem').set({ visibility: 'public' }).where('name', '=', 'open').execute();
  const dataset = (await (await on.client(DatasetService)).createDataset({ organizationId: orgId, name: 'd' })).id;
  const { publicNamespace } = await db.selectFrom('organization').selectAll().executeTakeFirstOrThrow();
  const keyOf = async (
    role: 'owner' | 'operator',
    resource: 'organization' | 'location' | 'robot',
    resourceId: string,
  ): Promise<Credentials> => {
    const { id, key } = await insertKey(db, { orgId, name: 'k', grants: [{ role, resource, resourceId, orgId }] });
    return { type: 'api-key', entity: id, payload: key };
  };
  return {
    on,
    machineId,
    partId,
    part,
    dataset,
    publicNamespace,
    keyOf,
    ...(await readers(on, partId, part, dataset)),
  };
}

/** What the machine may use. */
async function readers(on: Awaited<ReturnType<typeof testServer>>, partId: string, part: Credentials, dataset: string) {
  const headers = { authorization: `Bearer ${await on.token(part)}` };
  const sync = await on.client(DataSyncService, part);
  return {
    reads: async (name: string) => (await fetch(`${on.url}/packages/${on.orgId}/${name}/1.tar.gz`, { headers })).ok,
    adds: async () =>
      (await failure(
        sync.dataCaptureUpload({
          metadata: { partId, type: 1, datasetIds: [dataset] },
          sensorContents: [{ data: { case: 'binary', value: Buffer.from('image') } }],
        }),
      )) === fine,
  };
}

const withPackage = (name: string, type = 'ml_model') => ({
  packages: [{ name: 'x', package: name, type, version: '1' }],
});
const withModule = (name: string) => ({ modules: [{ name: 'x', module_id: name, type: 'registry', version: '1' }] });
const withDataset = (id: string) => ({
  components: [
    {
      name: 'camera',
      type: 'camera',
      model: 'folder',
      attributes: { path: '/images' },
      service_configs: [{ type: 'data_manager', attributes: { capture_methods: [{ dataset_ids: [id] }] } }],
    },
  ],
});

/** Paths and messages of the errors with which a call fails. */
async function errorsOf(call: Promise<unknown>): Promise<string[]> {
  try {
    await call;
    return [];
  } catch (error) {
    const found = ConnectError.from(error);
    assert.equal(errorCodeOf(found), 'INVALID_CONFIG');
    return (found.findDetails(ConfigProblemsSchema)[0]?.problems ?? [])
      .filter(({ severity }) => severity === Severity.ERROR)
      .map(({ path, message }) => `${path} ${message}`);
  }
}

test('a key with rights on machines names nothing new, through no call, and learns nothing of it', async () => {
  await using stack = new AsyncDisposableStack();
  const w = await world();
  stack.use(w.on);
  const { on, partId, dataset } = w;
  const { orgId } = on;
  const own = [`${orgId}/model`, `${orgId}:model`, `${w.publicNamespace}/model`, `${w.publicNamespace}:model`, 'model'];
  const tried: { config: (name: string) => JsonObject; name: string }[] = [
    ...own.flatMap((name) => [
      { config: withPackage, name },
      { config: withModule, name },
    ]),
    { config: (name) => withPackage(name, 'ml_training'), name: `${orgId}/script` },
    { config: (name) => withPackage(name, 'ml_model'), name: `${orgId}/script` },
    { config: withDataset, name: dataset },
    { config: withDataset, name: dataset.toUpperCase() },
  ];
  for (const role of ['owner', 'operator'] as const)
    for (const [resource, id] of [
      ['robot', w.machineId],
      ['location', on.server.firstRun.locationId],
    ] as const) {
      const key = await w.keyOf(role, resource, id);
      const [fleet, app] = [await on.client(FleetService, key), await on.client(AppService, key)];
      for (const { config, name } of tried) {
        const hidden = config === withDataset ? dataset.replace(/./, (one) => (one === '0' ? '1' : '0')) : absent;
        const other = config === withDataset ? hidden : name.replace(/model|script/, absent);
        const answersTo = async (one: string) => {
          const configJson = JSON.stringify(config(one));
          const { problems } = await fleet.checkConfig({ partId, configJson });
          const saved = await errorsOf(fleet.saveConfig({ partId, configJson }));
          const updated = await errorsOf(app.updateRobotPart({ id: partId, robotConfigJson: configJson }));
          const updatedToo = await errorsOf(app.updateRobotPart({ id: partId, robotConfig: config(one) }));
          assert.equal(saved.length, 1, `${name} by ${role} of ${resource}`);
          assert.deepEqual([updated, updatedToo], [saved, saved]);
          return JSON.stringify([
            saved,
            problems.map(({ path, message, remedy }) => [path, message, remedy]),
          ]).replaceAll(one, '…');
        };
        assert.equal(await answersTo(name), await answersTo(other), 'the same for what does not exist');
      }
    }
  assert.deepEqual([await w.reads('model'), await w.reads('script'), await w.adds()], [false, false, false]);
  assert.equal((await (await on.client(FleetService)).getConfig({ partId })).revision, 0n);
});

test('the error names path, name and remedy', async () => {
  await using stack = new AsyncDisposableStack();
  const w = await world();
  stack.use(w.on);
  const fleet = await w.on.client(FleetService, await w.keyOf('operator', 'robot', w.machineId));
  const config = { ...withPackage(`${w.on.orgId}/model`), ...withDataset(w.dataset) };
  const call = fleet.saveConfig({ partId: w.partId, configJson: JSON.stringify(config) });
  assert.deepEqual(await errorsOf(call), [
    `packages[0].package is ${w.on.orgId}/model, and there is no such package, or the caller has no right to read it.`,
    `components[0].service_configs[0].attributes.capture_methods[0].dataset_ids[0] is ${w.dataset}, and there is no such dataset, or the caller has no right to add data to it.`,
  ]);
  const { problems } = await fleet.checkConfig({ partId: w.partId, configJson: JSON.stringify(config) });
  assert.match(problems[0]?.remedy ?? '', /An owner or operator of the organization can save it/);
});

test('what a member named stays savable until it is removed; then it needs the right again', async () => {
  await using stack = new AsyncDisposableStack();
  const w = await world();
  stack.use(w.on);
  const { on, partId } = w;
  const member = await on.client(FleetService, await w.keyOf('operator', 'organization', on.orgId));
  const limited = await on.client(FleetService, await w.keyOf('operator', 'robot', w.machineId));
  const named = { ...withPackage(`${on.orgId}/model`), ...withDataset(w.dataset) };
  const save = (by: typeof member, config: object) =>
    failure(by.saveConfig({ partId, configJson: JSON.stringify(config) }));
  assert.equal(await save(member, named), fine);
  assert.deepEqual([await w.reads('model'), await w.adds()], [true, true]);
  // Another version, another place, more of the rest.
  const moved = { ...withModule(`${on.orgId}/model`), ...withDataset(w.dataset.toUpperCase()), note: 1 };
  assert.equal(await save(limited, moved), fine);
  assert.equal(await save(limited, { ...moved, ...withPackage(`${on.orgId}/script`) }), refused);
  const { problems } = await limited.checkConfig({ partId, configJson: JSON.stringify(named) });
  assert.deepEqual(
    problems.filter(({ severity }) => severity === Severity.ERROR),
    [],
  );
  assert.equal(await save(limited, { note: 2 }), fine);
  assert.equal(await w.reads('model'), true, 'the machine may be one revision late');
  // The revision of before, restored.
  const { configJson } = await limited.getConfig({ partId, revision: 1n });
  assert.equal(await save(limited, JSON.parse(configJson) as object), refused);
  assert.equal(await save(limited, { note: 3 }), fine);
  assert.equal(await w.reads('model'), false, 'the right of the machine has ended');
  assert.equal(await save(limited, named), refused);
  assert.equal(await save(member, named), fine);
});

test('everybody names public packages', async () => {
  await using stack = new AsyncDisposableStack();
  const w = await world();
  stack.use(w.on);
  const { on, partId } = w;
  const limited = await on.client(FleetService, await w.keyOf('operator', 'robot', w.machineId));
  const save = (name: string) => failure(limited.saveConfig({ partId, configJson: JSON.stringify(withPackage(name)) }));
  assert.equal(await save(`${on.orgId}/open`), fine);
  await on.db.updateTable('registryItem').set({ visibility: 'public_unlisted' }).where('name', '=', 'open').execute();
  assert.equal(await save(`${w.publicNamespace}:open`), fine);
  await on.db.updateTable('registryItem').set({ visibility: 'private' }).where('name', '=', 'open').execute();
  assert.equal(await save(`${on.orgId}/open`), refused, 'another name of it, and it is private now');
});

test('a name that another caller removes while it is saved again needs the right', async () => {
  await using stack = new AsyncDisposableStack();
  const w = await world();
  stack.use(w.on);
  const { on, partId } = w;
  const { db, orgId } = on;
  const configJson = JSON.stringify(withPackage(`${orgId}/model`));
  await (await on.client(FleetService)).saveConfig({ partId, configJson });
  const limited = await on.client(FleetService, await w.keyOf('operator', 'robot', w.machineId));
  let saving: Promise<string> | undefined;
  await db.transaction().execute(async (trx) => {
    await insertConfig(trx, { orgId, partId, text: '{}', config: {}, savedBy: 'owner' }, {});
    // It has compared its names with revision 1, and waits for the part.
    saving = failure(limited.saveConfig({ partId, configJson }));
    const waiting = sql<{
      n: number;
    }>`select count(*)::integer as n from pg_stat_activity where wait_event_type = 'Lock'`;
    const count = async () => (await waiting.execute(db)).rows[0]?.n ?? 0;
    for (let n = 0; (await count()) === 0; n++) {
      assert.ok(n < 3000, 'nothing waits');
      await systemClock.sleep(20);
    }
  });
  assert.equal(await saving, refused);
  assert.equal((await limited.getConfig({ partId })).configJson, '{}');
});

test('the names that are compared include all that a machine may use, in whatever form they were saved', async () => {
  await using stack = new AsyncDisposableStack();
  const w = await world();
  stack.use(w.on);
  const { db, orgId } = w.on;
  const entries = (key: string) => [
    { [key]: 'p1' },
    [{ [key]: 'p2' }],
    [[[{ [key]: 'p3' }]], { [key]: ['p4', 'p5'] }, { [key]: { [key]: 'p6' } }, { more: { [key]: 'p7' } }],
    [{ more: [{ [key]: 'p8' }] }, 'p9', null, 1],
  ];
  const ids: JsonValue[] = [
    'd1',
    ['d2'],
    [['d3'], [['d4']]],
    { dataset_ids: 'd5' },
    [{ dataset_ids: ['d6'] }],
    7,
    null,
  ];
  const configs: JsonObject[] = [
    ...entries('package').map((packages) => ({ packages })),
    ...entries('module_id').map((modules) => ({ modules })),
    ...ids.flatMap((one) => [
      { dataset_ids: one },
      { a: [[{ b: { dataset_ids: one } }]] },
      { packages: [{ dataset_ids: one }] },
    ]),
  ];
  let found = 0;
  for (const config of configs) {
    const other = await w.on.machine(`n${found}-${configs.indexOf(config)}`);
    await db
      .transaction()
      .execute((trx) =>
        insertConfig(trx, { orgId, partId: other.partId, text: JSON.stringify(config), config, savedBy: 'owner' }, {}),
      );
    const { packages, datasets } = await namedByPart(db, other.partId);
    const compared = new Set(namesIn(config).map(({ kind, name }) => `${kind} ${name}`));
    for (const name of packages) assert.ok(compared.has(`package ${name}`), `${name} of ${JSON.stringify(config)}`);
    for (const name of datasets) assert.ok(compared.has(`dataset ${name}`), `${name} of ${JSON.stringify(config)}`);
    found += packages.size + datasets.size;
  }
  assert.ok(found > 15, String(found));
});
