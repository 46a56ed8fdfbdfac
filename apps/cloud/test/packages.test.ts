import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { PlatformError } from '@platform/contract/errors/errors';
import { ModelFramework, ModelType } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import {
  type CreatePackageRequestSchema,
  PackageService,
  PackageType,
} from '@platform/contract/gen/platform/app/packages/v1/packages_pb';
import { AppService, Visibility } from '@platform/contract/gen/platform/app/v1/app_pb';
import { tempFolder } from '@platform/kit/testing';
import { openDiskBlobs } from '../src/blobs/disk.ts';
import { packFiles } from '../src/blobs/package-archive.ts';
import { readBlob } from '../src/blobs/blob-store.ts';
import { archiveOf, type Entry, scriptEntries } from './script-archive.ts';
import { outcome, trainingServer, type TrainingServer, type Who } from './training-server.ts';

async function* whole(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(bytes);
}

test('an archive of the same files is the same bytes, whatever their order', async () => {
  await using folder = await tempFolder();
  const blobs = await openDiskBlobs(folder.path);
  const big = await blobs.put(whole(randomBytes(3_000_000)));
  const empty = await blobs.put(whole(Buffer.alloc(0)));
  const long = `${'folder/'.repeat(30)}labels.txt`;
  const files = [
    { path: 'm.onnx', ...big },
    { path: long, ...empty },
  ];
  const [a, b] = [await packFiles(blobs, files), await packFiles(blobs, files.toReversed())];
  assert.deepEqual(a, b);
  assert.equal((await blobs.head(a.sha256))?.sizeBytes, a.sizeBytes);
});

test('an archive that cannot be made says why, and leaves nothing waiting', async () => {
  await using folder = await tempFolder();
  const blobs = await openDiskBlobs(folder.path);
  const big = await blobs.put(whole(randomBytes(3_000_000)));
  const missing = { path: 'gone', sha256: '0'.repeat(64), sizeBytes: 5 };
  await assert.rejects(packFiles(blobs, [{ path: 'a', ...big }, missing]), { code: 'BLOB_MISSING' });
  const full = {
    ...blobs,
    async put(bytes: AsyncIterable<Uint8Array>) {
      for await (const chunk of bytes) if (chunk.length > 0) break;
      throw new PlatformError('DISK_FULL', { path: folder.path });
    },
  };
  await assert.rejects(packFiles(full, [{ path: 'a', ...big }]), { code: 'DISK_FULL' });
});

type Part = MessageInitShape<typeof CreatePackageRequestSchema>;
const archive = await archiveOf(scriptEntries());
const contents = (bytes: Uint8Array): Part => ({ package: { case: 'contents', value: bytes } });
const info = (server: TrainingServer, more: object = {}): Part => ({
  package: {
    case: 'info',
    value: {
      organizationId: server.own.orgId,
      name: 'script',
      version: '1',
      type: PackageType.ML_TRAINING,
      files: [{ name: 'setup.py', size: 3n }],
      metadata: { model_framework: 'onnx', draft: true },
      ...more,
    },
  },
});
const send = (server: TrainingServer, parts: Part[], who: Who = 'owner') =>
  server.client(PackageService, who).createPackage(
    (async function* all() {
      for (const part of parts) yield await Promise.resolve(part);
    })(),
  );

test('packages: sent in pieces, listed, downloaded, deleted, and a version is never free again', async () => {
  await using server = await trainingServer();
  const { orgId } = server.own;
  const packages = server.client(PackageService, 'owner');
  const rows: [name: string, parts: Part[], expected: string, who?: Who][] = [
    ['in two pieces', [info(server), contents(archive.subarray(0, 1)), contents(archive.subarray(1))], 'ok'],
    ['the same version again', [info(server), contents(archive)], '6 SCRIPT_VERSION_TAKEN'],
    [
      'another type under that name',
      [info(server, { version: '2', type: PackageType.ML_MODEL }), contents(archive)],
      '6 NAME_TAKEN',
    ],
    ['a second version', [info(server, { version: '2' }), contents(archive)], 'ok'],
    ['no info', [contents(archive)], '3 INVALID_ARGUMENT'],
    ['info twice', [info(server, { version: '3' }), info(server), contents(archive)], '3 INVALID_ARGUMENT'],
    ['no contents', [info(server, { version: '3' })], '3 INVALID_ARGUMENT'],
    ['no archive', [info(server, { version: '3' }), contents(Buffer.from('text'))], '3 INVALID_ARGUMENT'],
    [
      'no type',
      [info(server, { version: '3', type: PackageType.UNSPECIFIED }), contents(archive)],
      '3 INVALID_ARGUMENT',
    ],
    ['a name that is not a file name', [info(server, { name: '../x' }), contents(archive)], '3 INVALID_ARGUMENT'],
    ['an operator', [info(server, { version: '3' }), contents(archive)], '7 NOT_OWNER', 'operator'],
    [
      'a foreign owner',
      [info(server, { version: '3' }), contents(archive)],
      '5 ORGANIZATION_NOT_FOUND',
      'foreignOwner',
    ],
  ];
  for (const [name, parts, expected, who] of rows)
    assert.equal(await outcome(send(server, parts, who)), expected, name);
  const unnamed = await send(server, [info(server, { version: '' }), contents(archive)]);
  assert.equal(unnamed.id, `${orgId}/script`);
  assert.match(unnamed.version, /^\d{13}$/, 'a version of our own: ms since 1970');

  const list = async (more: object) =>
    (await packages.listPackages({ organizationId: orgId, ...more })).packages.map((one) => one.info?.version);
  assert.deepEqual(await list({}), [unnamed.version, '2', '1']);
  assert.deepEqual(await list({ name: 'script', version: '2', type: PackageType.ML_TRAINING }), ['2']);
  assert.deepEqual(await list({ type: PackageType.ML_MODEL }), []);
  const get = async (version: string, who: Who = 'owner') =>
    (await server.client(PackageService, who).getPackage({ id: `${orgId}/script`, version, includeUrl: true })).package;
  assert.equal((await get('latest'))?.info?.version, unnamed.version);
  assert.equal(await outcome(get('1', 'machine')), '7 RESOURCE_NOT_NAMED');
  await server.configure({ packages: [{ name: 's', package: `${orgId}/script`, type: 'ml_training' }] });
  const found = await get('1', 'machine');
  assert.deepEqual(
    [found?.info?.files[0]?.name, found?.info?.metadata],
    ['setup.py', { model_framework: 'onnx', draft: true }],
  );
  const path = (found?.url ?? '').slice(server.url.length);
  assert.deepEqual(Buffer.from(await (await server.get(path, 'machine')).arrayBuffer()), archive);
  assert.equal(await outcome(get('9')), '5 PACKAGE_NOT_FOUND');
  assert.equal(await outcome(get('1', 'foreignOwner')), '5 PACKAGE_NOT_FOUND');
  assert.equal(await outcome(packages.getPackage({ id: 'script' })), '3 INVALID_ARGUMENT');

  assert.equal(
    await outcome(server.client(PackageService, 'operator').deletePackage({ id: `${orgId}/script`, version: '1' })),
    '7 NOT_OWNER',
  );
  assert.equal(
    await outcome(server.client(PackageService, 'foreignOwner').deletePackage({ id: `${orgId}/script`, version: '1' })),
    '5 PACKAGE_NOT_FOUND',
  );
  await packages.deletePackage({ id: `${orgId}/script`, version: '1' });
  assert.equal(await outcome(packages.deletePackage({ id: `${orgId}/script`, version: '1' })), '5 PACKAGE_NOT_FOUND');
  assert.equal((await server.get(path, 'machine')).status, 404);
  assert.equal(await outcome(send(server, [info(server), contents(archive)])), '6 SCRIPT_VERSION_TAKEN');
});

const badScripts: [name: string, entries: Entry[]][] = [
  ['no module', [{ name: 'setup.py', text: 'x' }]],
  ['no project file', scriptEntries().slice(1)],
  ['up and away', [...scriptEntries(), { name: '../evil.py', text: 'x' }]],
  ['absolute', [...scriptEntries(), { name: '/etc/evil', text: 'x' }]],
  ['a link', [...scriptEntries(), { name: 'model/data', type: 'symlink', linkname: '/etc/passwd' }]],
  ['a hard link', [...scriptEntries(), { name: 'model/data', type: 'link', linkname: 'setup.py' }]],
  ['a device', [...scriptEntries(), { name: 'model/null', type: 'character-device', devmajor: 1, devminor: 3 }]],
  ['a bomb', [...scriptEntries(), { name: 'model/zeros', text: '\0'.repeat(120 * 1024 ** 2) }]],
  ['twice the same file', [...scriptEntries(), ...scriptEntries()]],
];
for (const [name, entries] of badScripts) {
  test(`a script is refused when it is sent: ${name}`, async () => {
    await using server = await trainingServer();
    const sent = send(server, [info(server), contents(await archiveOf(entries))]);
    assert.equal(await outcome(sent), '3 SCRIPT_ARCHIVE_INVALID');
    assert.deepEqual(await server.db.selectFrom('registryItem').selectAll().execute(), []);
    assert.equal(await outcome(send(server, [info(server), contents(archive)])), 'ok', 'nothing is claimed');
  });
}

test('twenty at once send one version: one is stored, and it is whole', async () => {
  await using server = await trainingServer();
  const bodies = await Promise.all(Array.from({ length: 20 }, (_, n) => archiveOf(scriptEntries(`print(${n})`))));
  const results = await Promise.all(bodies.map((body) => outcome(send(server, [info(server), contents(body)]))));
  assert.deepEqual(
    [results.filter((one) => one === 'ok').length, results.filter((one) => one === '6 SCRIPT_VERSION_TAKEN').length],
    [1, 19],
  );
  const row = await server.db.selectFrom('registryVersion').select('packageSha256').executeTakeFirstOrThrow();
  const stored = await readBlob(server.blobs, row.packageSha256);
  assert.ok(bodies.some((body) => body.equals(stored)));
});

test('registry items: made by an upload or by themselves, changed and deleted by owners, public ones seen by all', async () => {
  await using server = await trainingServer();
  const { orgId } = server.own;
  await send(server, [info(server), contents(archive)]);
  const app = server.client(AppService, 'owner');
  const foreignOwner = server.client(AppService, 'foreignOwner');
  const itemId = `${orgId}:script`;
  const get = async (who: Who = 'owner', id = itemId) =>
    (await server.client(AppService, who).getRegistryItem({ itemId: id })).item;
  const item = await get();
  assert.deepEqual(
    [item?.itemId, item?.type, item?.visibility],
    ['own:script', PackageType.ML_TRAINING, Visibility.PRIVATE],
  );
  assert.ok(item?.metadata.case === 'mlTrainingMetadata');
  assert.deepEqual(
    [
      item.metadata.value.modelFramework,
      item.metadata.value.draft,
      item.metadata.value.versions.map(({ version }) => version),
    ],
    [ModelFramework.ONNX, true, ['1']],
  );
  const update = { itemId, type: PackageType.ML_TRAINING, description: 'Trains', visibility: Visibility.PUBLIC };
  const rows: [name: string, call: () => Promise<unknown>, expected: string][] = [
    ['unknown', () => get('owner', `${orgId}:x`), '5 REGISTRY_ITEM_NOT_FOUND'],
    ['unknown organization', () => get('owner', 'x:script'), '5 REGISTRY_ITEM_NOT_FOUND'],
    ['no item id', () => get('owner', 'script'), '3 INVALID_ARGUMENT'],
    ['private, for a foreign owner', () => get('foreignOwner'), '5 REGISTRY_ITEM_NOT_FOUND'],
    ['its own machine, which does not name it', () => get('machine'), '7 RESOURCE_NOT_NAMED'],
    ['changed by a foreign owner', () => foreignOwner.updateRegistryItem(update), '5 REGISTRY_ITEM_NOT_FOUND'],
    ['changed by an operator', () => server.client(AppService, 'operator').updateRegistryItem(update), '7 NOT_OWNER'],
    [
      'public without a description',
      () => app.updateRegistryItem({ ...update, description: '' }),
      '3 INVALID_ARGUMENT',
    ],
    [
      'made public',
      () =>
        app.updateRegistryItem({
          ...update,
          metadata: {
            case: 'updateMlTrainingMetadata',
            value: { modelType: ModelType.OBJECT_DETECTION, modelFramework: ModelFramework.PYTORCH, draft: false },
          },
        }),
      'ok',
    ],
    ['public, for a foreign owner', () => get('foreignOwner'), 'ok'],
    ['deleted by a foreign owner', () => foreignOwner.deleteRegistryItem({ itemId }), '5 REGISTRY_ITEM_NOT_FOUND'],
    [
      'a new one',
      () => app.createRegistryItem({ organizationId: orgId, name: 'model', type: PackageType.ML_MODEL }),
      'ok',
    ],
    [
      'again',
      () => app.createRegistryItem({ organizationId: orgId, name: 'model', type: PackageType.ML_MODEL }),
      '6 NAME_TAKEN',
    ],
    [
      'by an operator',
      () =>
        server
          .client(AppService, 'operator')
          .createRegistryItem({ organizationId: orgId, name: 'y', type: PackageType.ML_MODEL }),
      '7 NOT_OWNER',
    ],
  ];
  for (const [name, call, expected] of rows) assert.equal(await outcome(call()), expected, name);
  const names = async (who: Who, more: object = {}) =>
    (await server.client(AppService, who).listRegistryItems(more)).items.map((one) => one.name);
  assert.deepEqual(await names('owner'), ['model', 'script']);
  assert.deepEqual(await names('foreignOwner'), ['script']);
  assert.deepEqual(await names('owner', { types: [PackageType.ML_MODEL], organizationId: orgId }), ['model']);
  assert.deepEqual(
    await names('owner', { searchTerm: 'TRAIN', publicNamespaces: ['own'], visibilities: [Visibility.PUBLIC] }),
    ['script'],
  );
  await app.deleteRegistryItem({ itemId });
  assert.equal(await outcome(get()), '5 REGISTRY_ITEM_NOT_FOUND');
  assert.equal(await outcome(send(server, [info(server), contents(archive)])), '6 SCRIPT_VERSION_TAKEN');
});

test('a version in the configuration of a machine cannot be deleted, nor can its item', async () => {
  await using server = await trainingServer();
  const { orgId, partId } = server.own;
  for (const version of ['1', '2']) await send(server, [info(server, { version }), contents(archive)]);
  const packages = server.client(PackageService, 'owner');
  const configure = async (revision: number, version?: string) => {
    const config = JSON.stringify({ packages: [{ name: 'p', package: `${orgId}/script`, type: 'ml_model', version }] });
    const row = { partId, revision, orgId, text: config, config, sha256: Buffer.alloc(32), savedBy: 'x' };
    await server.db.insertInto('configRevision').values(row).execute();
    await server.db.updateTable('part').set({ revision }).where('id', '=', partId).execute();
  };
  const remove = (version: string) => outcome(packages.deletePackage({ id: `${orgId}/script`, version }));
  const removeItem = () =>
    outcome(server.client(AppService, 'owner').deleteRegistryItem({ itemId: `${orgId}:script` }));
  await configure(1, '1');
  assert.equal(await remove('1'), '9 PACKAGE_IN_USE');
  await assert.rejects(
    packages.deletePackage({ id: `${orgId}/script`, version: '1' }),
    /1 machine\(s\), for example Rover/,
  );
  assert.equal(await removeItem(), '9 PACKAGE_IN_USE');
  await configure(2, 'latest');
  assert.equal(await remove('1'), 'ok', 'another one is the latest');
  assert.equal(await remove('2'), '9 PACKAGE_IN_USE', 'the last one of those who want the latest');
  await configure(3, '7');
  assert.equal(await remove('2'), 'ok');
});

test('a package by plain HTTP: sent, refused, downloaded in parts, checked without its bytes', async () => {
  await using server = await trainingServer();
  const { orgId } = server.own;
  const post = async (query: string, who: Who = 'owner', body: Buffer = archive) => {
    const headers = { authorization: `Bearer ${who}` };
    const response = await fetch(`${server.url}/packages/${orgId}/s${query}`, { method: 'POST', headers, body });
    const answer = (await response.json()) as { code?: string; version?: string };
    return `${response.status} ${answer.code ?? answer.version}`;
  };
  const metadata = encodeURIComponent(JSON.stringify({ model_type: 'object_detection' }));
  const rows: [name: string, query: string, expected: string, who?: Who, body?: Buffer][] = [
    ['as it should be', `?type=ml_training&version=1&metadata=${metadata}`, '201 1'],
    ['the version again', '?type=ml_training&version=1', '409 SCRIPT_VERSION_TAKEN'],
    ['no type', '?version=2', '400 INVALID_ARGUMENT'],
    ['metadata that are none', '?type=ml_training&metadata=7', '400 INVALID_ARGUMENT'],
    ['no archive', '?type=ml_training', '400 INVALID_ARGUMENT', 'owner', Buffer.from('x')],
    ['not by an operator', '?type=ml_training', '403 NOT_OWNER', 'operator'],
    ['not by a foreign owner', '?type=ml_training', '404 ORGANIZATION_NOT_FOUND', 'foreignOwner'],
  ];
  for (const [name, query, expected, who, body] of rows) assert.equal(await post(query, who, body), expected, name);
  const path = `/packages/${orgId}/s/latest.tar.gz`;
  const head = await server.get(path, 'owner', {}, 'HEAD');
  assert.deepEqual(
    [head.status, head.headers.get('content-length'), head.headers.get('accept-ranges')],
    [200, String(archive.length), 'bytes'],
  );
  const part = await server.get(path, 'owner', { range: 'bytes=5-', 'if-range': head.headers.get('etag') ?? '' });
  assert.equal(part.status, 206);
  assert.deepEqual(Buffer.from(await part.arrayBuffer()), archive.subarray(5));
  const same = await server.get(path, 'owner', { 'if-none-match': head.headers.get('etag') ?? '' });
  assert.equal(same.status, 304);
});

test('a model archive that no machine could unpack is refused when it is sent, and nothing of it is published', async () => {
  await using server = await trainingServer();
  const { orgId } = server.own;
  const model: Entry = { name: 'm.onnx', text: 'weights' };
  const rows: [name: string, entries: Entry[], expected: string][] = [
    ['a symbolic link', [model, { name: 'x', type: 'symlink', linkname: '/etc/passwd' }], '3 MODEL_ARCHIVE_INVALID'],
    ['a hard link', [model, { name: 'x', type: 'link', linkname: 'm.onnx' }], '3 MODEL_ARCHIVE_INVALID'],
    ['a path that leads out', [{ ...model, name: '../m.onnx' }], '3 MODEL_ARCHIVE_INVALID'],
    ['an absolute path', [{ ...model, name: '/m.onnx' }], '3 MODEL_ARCHIVE_INVALID'],
    ['a name twice', [model, { ...model, name: './m.onnx' }], '3 MODEL_ARCHIVE_INVALID'],
    ['a compression bomb', [{ name: 'zeros', text: '\0'.repeat(80 * 2 ** 20) }], '3 MODEL_ARCHIVE_INVALID'],
    ['no file', [], '3 MODEL_ARCHIVE_INVALID'],
    ['a model', [model], 'ok'],
  ];
  const more = { name: 'cups', type: PackageType.ML_MODEL };
  for (const [name, entries, expected] of rows) {
    const sent = send(server, [info(server, more), contents(await archiveOf(entries))]);
    assert.equal(await outcome(sent), expected, name);
  }
  const body = await archiveOf([model, { name: 'x', type: 'fifo' }]);
  const headers = { authorization: 'Bearer owner' };
  const post = { method: 'POST', headers, body };
  const response = await fetch(`${server.url}/packages/${orgId}/cups?type=ml_model&version=2`, post);
  assert.deepEqual(
    [response.status, ((await response.json()) as { code?: string }).code],
    [400, 'MODEL_ARCHIVE_INVALID'],
  );
  const { packages } = await server.client(PackageService, 'owner').listPackages({ organizationId: orgId });
  assert.deepEqual(
    packages.map((one) => `${one.info?.name} ${one.info?.version}`),
    ['cups 1'],
  );
});

test('any caller may fetch a public package, only its organization a private one', async () => {
  await using server = await trainingServer();
  const { orgId } = server.own;
  await send(server, [info(server), contents(archive)]);
  const get = () => outcome(server.client(PackageService, 'foreignOwner').getPackage({ id: `${orgId}/script` }));
  const download = async () => (await server.get(`/packages/${orgId}/script/1.tar.gz`, 'foreignOwner')).status;
  assert.deepEqual([await get(), await download()], ['5 PACKAGE_NOT_FOUND', 404]);
  const update = { itemId: `${orgId}:script`, type: PackageType.ML_TRAINING, description: 'x' };
  await server.client(AppService, 'owner').updateRegistryItem({ ...update, visibility: Visibility.PUBLIC_UNLISTED });
  assert.deepEqual([await get(), await download()], ['ok', 200]);
});
