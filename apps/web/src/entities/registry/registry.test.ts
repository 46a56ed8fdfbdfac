import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { PackageSchema } from '@platform/contract/gen/platform/app/packages/v1/packages_pb';
import { ReleaseSchema } from '@platform/contract/gen/platform/release/v1/release_pb';
import { configFor } from '../../features/training/registry/model-use.ts';
import { listModels, releaseViews } from './registry.ts';

test('versions stand under their model, the newest first', () => {
  const version = (name: string, text: string, ms: number) =>
    create(PackageSchema, {
      id: `org/${name}`,
      createdOn: timestampFromMs(ms),
      info: {
        name,
        version: text,
        files: [
          { name: 'a', size: 2n },
          { name: 'b', size: 3n },
        ],
      },
    });
  const models = listModels([version('b', '1', 5), version('a', '1', 1), version('a', '2', 2), create(PackageSchema)]);
  assert.deepEqual(
    models.map(({ name, versions }) => [name, ...versions.map((one) => one.version)]),
    [
      ['a', '2', '1'],
      ['b', '1'],
    ],
  );
  assert.equal(models[0]?.versions[0]?.sizeBytes, 5n);
});

test('releases show their hash in hex, the newest first', () => {
  const release = (version: string, ms: number) =>
    create(ReleaseSchema, {
      name: 'platform-server',
      version,
      sha256: new Uint8Array([0, 255]),
      publishedOn: timestampFromMs(ms),
    });
  assert.deepEqual(
    releaseViews([release('1.0.0', 1), release('1.1.0', 2)]).map(({ version, sha256 }) => [version, sha256]),
    [
      ['1.1.0', '00ff'],
      ['1.0.0', '00ff'],
    ],
  );
});

test('a release links its SBOM and its licenses; an unknown kind is left out', () => {
  const url = 'https://server.example/releases/platform-agent/1.0.0/linux-amd64';
  const attachments = [
    { kind: 'sbom', url: `${url}/sbom.cdx.json` },
    { kind: 'licenses', url: `${url}/licenses.txt` },
    { kind: 'later', url },
  ];
  const [view] = releaseViews([create(ReleaseSchema, { name: 'platform-agent', version: '1.0.0', attachments })]);
  assert.deepEqual(view?.attachments, [
    { label: 'SBOM', url: `${url}/sbom.cdx.json` },
    { label: 'Licenses', url: `${url}/licenses.txt` },
  ]);
});

test('a model’s entries are JSON that names package, version and files', () => {
  const entries: unknown = JSON.parse(configFor({ modelName: 'objects', packageId: 'org/objects', version: 'latest' }));
  assert.deepEqual(entries, {
    packages: [{ name: 'objects', package: 'org/objects', type: 'ml_model', version: 'latest' }],
    services: [
      {
        name: 'objects',
        type: 'mlmodel',
        model: 'onnx_cpu',
        attributes: { model_path: '${packages.objects}/objects.onnx', label_path: '${packages.objects}/labels.txt' },
      },
    ],
  });
});
