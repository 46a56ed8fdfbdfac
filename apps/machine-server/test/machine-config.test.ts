import { create } from '@bufbuild/protobuf';
import type { JsonObject } from '@bufbuild/protobuf';
import { RobotConfigSchema } from '@platform/contract/gen/platform/app/v1/robot_pb';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readMachineConfig } from '../src/machine-config.ts';
import type { ResourceSpec } from '../src/machine-config.ts';
import type { WantedConfig } from './fake-cloud.ts';

const read = (config: WantedConfig) => readMachineConfig(create(RobotConfigSchema, config));
const part = (type: string, model: string, attributes?: JsonObject, name = 'x') => ({
  name,
  type,
  model,
  ...(attributes && { attributes }),
});
const paths = { model_path: '${packages.m}/m.onnx', label_path: '${packages.m}/labels.txt' };

test('each kind of resource, with everything given and with the least', () => {
  const camera = part('camera', 'http', { url: 'http://localhost/a.jpg' }, 'cam');
  const model = part('mlmodel', 'onnx_cpu', paths, 'net');
  const modelSpec = { is: 'model', name: 'net', modelPath: paths.model_path, labelPath: paths.label_path };
  const rows: [ReturnType<typeof part>, object][] = [
    [part('camera', 'folder', { path: '/p' }), { is: 'folder camera', folder: '/p', intervalMs: 1000 }],
    [
      part('camera', 'folder', { path: '/p', interval_seconds: 2 }),
      { is: 'folder camera', folder: '/p', intervalMs: 2000 },
    ],
    [part('camera', 'a:b:http', { url: 'http://h/x' }), { is: 'http camera', url: 'http://h/x' }],
    [part('sensor', 'fake', { readings: { ok: true } }), { is: 'fake sensor', readings: { ok: true } }],
    [part('sensor', 'fake'), { is: 'fake sensor', readings: {} }],
    [
      part('mlmodel', 'onnx_cpu', { ...paths, reject_unlike: true }),
      { is: 'model', modelPath: paths.model_path, labelPath: paths.label_path, rejectUnlike: true },
    ],
    [
      part('mlmodel', 'onnx_cpu', { ...paths, reject_unlike: false }),
      { is: 'model', modelPath: paths.model_path, labelPath: paths.label_path },
    ],
    [
      part('vision', 'classifier', { camera: 'cam', mlmodel: 'net' }),
      { is: 'classifier', camera: 'cam', model: 'net', everyMs: 10_000, minimumScore: 0 },
    ],
    [
      part('vision', 'classifier', { camera: 'cam', mlmodel: 'net', every_seconds: 0.5, minimum_score: 1 }),
      { is: 'classifier', camera: 'cam', model: 'net', everyMs: 500, minimumScore: 1 },
    ],
    [
      part('data_manager', '', { camera: 'cam' }),
      { is: 'capture', camera: 'cam', everyMs: 60_000, datasetIds: [], tags: [] },
    ],
    [
      part('data_manager', 'rdk:builtin:builtin', {
        camera: 'cam',
        dataset_ids: ['d'],
        tags: ['t'],
        capture_folder: '/c',
      }),
      { is: 'capture', camera: 'cam', everyMs: 60_000, datasetIds: ['d'], tags: ['t'], folder: '/c' },
    ],
  ];
  for (const [given, wanted] of rows) {
    const { resources, problems } = read({ components: [camera, given], services: [model] });
    assert.deepEqual(problems, []);
    assert.deepEqual(
      resources.find(({ name }) => name === 'x'),
      { name: 'x', ...wanted },
    );
    assert.deepEqual(
      resources.find(({ name }) => name === 'net'),
      modelSpec as ResourceSpec,
    );
  }
  const byApi = readMachineConfig(
    create(RobotConfigSchema, { components: [{ name: 's', api: 'rdk:component:sensor', model: 'fake' }] }),
  );
  assert.equal(byApi.resources[0]?.is, 'fake sensor');
});

test('each mistake is reported by its path, and all the rest runs', () => {
  const good = part('sensor', 'fake', {}, 'good');
  const rows: [ReturnType<typeof part>, string, RegExp][] = [
    [part('camera', 'folder'), 'components[1].attributes.path', /must be given: a text/],
    [part('camera', 'folder', { path: 7 }), 'components[1].attributes.path', /a text, not 7/],
    [
      part('camera', 'folder', { path: '/p', interval_seconds: -1 }),
      'components[1].attributes.interval_seconds',
      /from 0/,
    ],
    [part('camera', 'http', { url: 'ftp://h' }), 'components[1].attributes.url', /http/],
    [part('sensor', 'fake', { readings: [] }), 'components[1].attributes.readings', /an object/],
    [
      part('mlmodel', 'onnx_cpu', { ...paths, reject_unlike: 'yes' }),
      'components[1].attributes.reject_unlike',
      /must be true or false, not "yes"/,
    ],
    [part('arm', 'fake'), 'components[1]', /runs no arm "fake"/],
    [part('sensor', 'fake', {}, ''), 'components[1].name', /"" is not a valid name/],
    [part('sensor', 'fake', {}, '../x'), 'components[1].name', /is not a valid name/],
    [part('sensor', 'fake', {}, 'good'), 'components[1].name', /"good" is taken/],
    [
      part('data_manager', '', { camera: 'c', dataset_ids: [1] }),
      'components[1].attributes.dataset_ids',
      /list of texts/,
    ],
    [
      part('vision', 'classifier', { camera: 'c', mlmodel: 'm', minimum_score: 2 }),
      'components[1].attributes.minimum_score',
      /to 1/,
    ],
  ];
  for (const [bad, path, problem] of rows) {
    const config = read({ components: [good, bad] });
    assert.deepEqual(
      config.resources.map(({ name }) => name),
      ['good'],
    );
    assert.equal(config.problems[0]?.path, path);
    assert.match(config.problems[0]?.problem ?? '', problem);
  }
});

test('a resource with an unknown reference is reported and runs', () => {
  const { resources, problems } = read({
    components: [part('sensor', 'fake', {}, 'cam')],
    services: [part('vision', 'classifier', { camera: 'cam', mlmodel: 'net' })],
  });
  assert.equal(resources.length, 2);
  assert.deepEqual(
    problems.map(({ path }) => path),
    ['services[0].attributes.camera', 'services[0].attributes.mlmodel'],
  );
});

test('packages: names, versions and types that could harm are refused', () => {
  const good = { name: 'm', package: 'org/m', version: '2026-01-01T00-00-00', type: 'ml_model' };
  const rows: [object, string][] = [
    [{ ...good, name: '../m' }, 'name'],
    [{ ...good, name: 'a'.repeat(201) }, 'name'],
    [{ ...good, package: 'm' }, 'package'],
    [{ ...good, version: '..' }, 'version'],
    [{ ...good, version: '1/2' }, 'version'],
    [{ ...good, version: '' }, 'version'],
    [{ ...good, type: 'module' }, 'type'],
  ];
  assert.deepEqual(read({ packages: [good] }).packages, [{ name: 'm', id: 'org/m', version: good.version }]);
  for (const [change, key] of rows) {
    const { packages, problems } = read({ packages: [{ ...good, ...change }] });
    assert.deepEqual([packages, problems.map(({ path }) => path)], [[], [`packages[0].${key}`]]);
  }
  assert.deepEqual(read({ packages: [good, good] }).problems, [{ path: 'packages[1].name', problem: '"m" is taken' }]);
});

test('the maintenance sensor is known by its last name', () => {
  const maintenance = { sensorName: { name: 'remote/hatch' }, maintenanceAllowedKey: 'open' };
  assert.deepEqual(read({ maintenance }).maintenance, { sensor: 'hatch', key: 'open' });
});
