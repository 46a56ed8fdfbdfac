// The server reports the state of every entry of its configuration, and reports only verified states.
import { create } from '@bufbuild/protobuf';
import { RobotConfigSchema } from '@platform/contract/gen/platform/app/v1/robot_pb';
import { PlatformError } from '@platform/contract/errors/errors';
import { parseResourceReport, resourceReportJson } from '@platform/contract/machine-server/resource-report';
import { platformServerKnowledge } from '@platform/contract/machine-server/resources';
import { Cell } from '@platform/kit';
import { captureLog, FakeClock, tempFolder } from '@platform/kit/testing';
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { Attempts } from '../src/attempts.ts';
import { readMachineConfig } from '../src/machine-config.ts';
import { packageKey } from '../src/plans/packages.ts';
import { keyOf } from '../src/plans/resources.ts';
import type { InstalledPackage, Want } from '../src/plans/resources.ts';
import { ResourceReporter } from '../src/resources/report.ts';
import { RunningResources } from '../src/resources/running.ts';
import { cameraCheckMs, watchedCamera } from '../src/resources/watched-camera.ts';
import { folderCamera } from '../src/resources/cameras.ts';
import { colourImage } from './colour-images.ts';
import type { WantedConfig } from './fake-cloud.ts';

function reporting(given: WantedConfig) {
  const clock = new FakeClock();
  const wanted = new Cell(readMachineConfig(create(RobotConfigSchema, given)));
  const installed = new Cell<ReadonlyMap<string, InstalledPackage>>(new Map());
  const goal = new Cell<Want>({
    revision: 0,
    configSha256: '',
    resources: wanted.get().resources,
    packages: installed.get(),
  });
  const [running, attempts, packageAttempts] = [new RunningResources(), new Attempts(clock), new Attempts(clock)];
  const reporter = new ResourceReporter({ wanted, goal, installed, running, attempts, packageAttempts, clock });
  const put = (name: string, failure?: () => unknown) => {
    const spec = wanted.get().resources.find((one) => one.name === name);
    assert.ok(spec);
    return running.put(name, keyOf(spec), { offer: { is: 'task' }, stop: async () => {}, ...(failure && { failure }) });
  };
  const shown = () =>
    reporter.read().report.resources.map(({ path, state, error }) => [path, state, error?.code ?? ''].join(' ').trim());
  return { clock, wanted, installed, goal, running, attempts, packageAttempts, reporter, put, shown };
}

const sensor = { name: 'hatch', type: 'sensor', model: 'fake' };
const camera = { name: 'cam', type: 'camera', model: 'folder', attributes: { path: '/p' } };
const model = {
  name: 'net',
  type: 'mlmodel',
  model: 'onnx_cpu',
  attributes: { model_path: '${packages.m}/m.onnx', label_path: '${packages.m}/l.txt' },
};
const item = { name: 'm', package: 'org/m', version: '3', type: 'ml_model' };
const look = { name: 'look', type: 'vision', model: 'classifier', attributes: { camera: 'cam', mlmodel: 'net' } };

test('an entry is ready when it runs as configured, and waits before', async () => {
  const on = reporting({ components: [sensor], packages: [item] });
  assert.deepEqual(on.shown(), ['components[0] waiting', 'packages[0] waiting RESOURCE_WAITS']);
  await on.put('hatch');
  on.installed.set(new Map([['m', { name: 'm', id: 'org/m', version: '3', folder: '/f' }]]));
  assert.deepEqual(on.shown(), ['components[0] ready', 'packages[0] ready']);
  on.installed.set(new Map([['m', { name: 'm', id: 'org/m', version: '2', folder: '/f' }]]));
  assert.deepEqual(on.shown(), ['components[0] ready', 'packages[0] waiting RESOURCE_WAITS']);
});

test('an entry that was left out, and one that names what is missing, has failed at the place that is wrong', async () => {
  const on = reporting({ components: [{ ...camera, model: 'webcam' }, sensor], services: [look] });
  await on.put('look', () => new Error('it runs, and finds no camera'));
  await on.put('hatch');
  assert.deepEqual(on.shown(), [
    'components[0].model failed RESOURCE_UNKNOWN',
    'components[1] ready',
    'services[0].attributes.camera failed RESOURCE_INVALID',
    'services[0].attributes.mlmodel failed RESOURCE_INVALID',
  ]);
  const [first] = on.reporter.read().report.resources;
  assert.match(first?.error?.message ?? '', /components\[0\].*camera "webcam"/);
});

test('a package that does not exist has failed, and what uses it waits', () => {
  const on = reporting({ services: [model], packages: [item] });
  const spec = { name: 'm', id: 'org/m', version: '3' };
  on.packageAttempts.failed(
    packageKey(spec),
    new PlatformError('PACKAGE_NOT_FOUND', { packageId: 'org/m', version: '3' }),
  );
  assert.deepEqual(on.shown(), ['services[0] waiting RESOURCE_WAITS', 'packages[0] failed PACKAGE_NOT_FOUND']);
});

test('a resource that cannot start has failed; one that runs and cannot work is unhealthy until it can', async () => {
  const on = reporting({ components: [sensor, camera] });
  const spec = on.wanted.get().resources[0];
  assert.ok(spec);
  on.attempts.failed(keyOf(spec), new Error('no such device'));
  const health: { error?: unknown } = { error: new PlatformError('CAMERA_FAILED', { name: 'cam', problem: 'dark' }) };
  await on.put('cam', () => health.error);
  assert.deepEqual(on.shown(), [
    'components[0] failed RESOURCE_FAILED',
    'components[1].attributes.path unhealthy CAMERA_FAILED',
  ]);
  const before = on.reporter.read();
  await on.clock.advance(60_000);
  assert.deepEqual(on.reporter.read(), before, 'nothing changed: neither times nor etag');
  delete health.error;
  const after = on.reporter.read();
  assert.notEqual(after.etag, before.etag);
  assert.deepEqual(
    after.report.resources.map(({ state, sinceWall }, i) => [
      state,
      sinceWall - (before.report.resources[i]?.sinceWall ?? 0),
    ]),
    [
      ['failed', 0],
      ['ready', 60_000],
    ],
  );
});

test('the report survives the wire, and bad members of one are passed over', () => {
  const on = reporting({ components: [{ ...camera, model: 'webcam' }] });
  const { report } = on.reporter.read();
  assert.deepEqual(parseResourceReport(JSON.stringify(resourceReportJson(report))), report);
  for (const bad of ['', '[]', '{}', '{"revision":-1,"resources":[]}', '{"revision":1}'])
    assert.equal(parseResourceReport(bad), undefined);
  assert.deepEqual(parseResourceReport('{"revision":1,"resources":[5,{"state":"odd"},{"state":"ready"}]}'), {
    revision: 1,
    resources: [{ name: '', path: '', state: 'ready', sinceWall: 0 }],
  });
});

test('it knows exactly what it reports to know', () => {
  const types = [...new Set([...platformServerKnowledge.models.map(({ type }) => type), 'arm'])];
  const models = [...new Set([...platformServerKnowledge.models.map((one) => one.model), 'other'])];
  for (const type of types)
    for (const one of models) {
      const { problems } = readMachineConfig(
        create(RobotConfigSchema, { components: [{ name: 'x', type, model: one }] }),
      );
      const isKnown = platformServerKnowledge.models.some((known) => known.type === type && known.model === one);
      assert.equal(
        problems.some(({ unknown }) => unknown !== undefined),
        !isKnown,
        `${type} ${one}`,
      );
    }
  for (const { type, model: one, references } of platformServerKnowledge.models) {
    const attributes = Object.fromEntries(references.map(({ attribute }) => [attribute, 'unknown']));
    const { problems } = readMachineConfig(
      create(RobotConfigSchema, { services: [{ name: 'x', type, model: one, attributes }] }),
    );
    for (const { attribute } of references)
      assert.ok(
        problems.some(({ path }) => path === `services[0].attributes.${attribute}`),
        `${type} ${one} ${attribute}`,
      );
  }
});

test('how long a state lasts does not change when the wall clock is set', async () => {
  const on = reporting({ components: [sensor], packages: [item] });
  on.clock.jumpWall(Date.UTC(2051, 0, 1) - on.clock.wall());
  const age = () => on.clock.wall() - (on.reporter.read().report.resources[0]?.sinceWall ?? Number.NaN);
  assert.equal(age(), 0);
  await on.clock.advance(60_000);
  const { etag } = on.reporter.read();
  await on.clock.advance(60_000);
  assert.equal(on.reporter.read().etag, etag);
  on.clock.jumpWall(Date.UTC(2027, 0, 1) - on.clock.wall());
  assert.equal(age(), 120_000);
  assert.notEqual(on.reporter.read().etag, etag, 'the agent hears of it');
});

test('a camera that nothing reads reports a missing folder at its own place, and recovers by itself', async () => {
  await using folder = await tempFolder();
  const missing = folder.file('none');
  const on = reporting({ components: [{ ...camera, attributes: { path: missing } }] });
  const { log } = captureLog(on.clock);
  const [spec] = on.wanted.get().resources;
  assert.ok(spec);
  const source = folderCamera({ name: 'cam', folder: missing, intervalMs: 0, clock: on.clock });
  const watched = watchedCamera(source, { clock: on.clock, log });
  await on.running.put('cam', keyOf(spec), watched);
  const until = async (expected: string) => {
    while (on.shown()[0] !== expected) await new Promise(setImmediate); // the file system has no fake clock
  };
  await until('components[0].attributes.path unhealthy CAMERA_FAILED');
  const { error } = on.reporter.read().report.resources[0] ?? {};
  assert.equal(error?.message, `The camera "cam" gives no image: the folder ${missing} does not exist on the machine.`);

  await mkdir(missing);
  await writeFile(join(missing, 'a.png'), await colourImage('red', { format: 'png' }));
  await on.clock.advance(cameraCheckMs);
  await until('components[0] ready');
  await watched.stop();
  assert.equal(on.clock.pending, 0);
});

test('a reader of a failing camera names the camera, whose own entry has the cause', async () => {
  const keep = { name: 'keep', type: 'data_manager', attributes: { camera: 'cam' } };
  const on = reporting({ components: [camera], services: [keep] });
  const dark = new PlatformError('CAMERA_FAILED', { name: 'cam', problem: 'dark' });
  await on.put('cam', () => dark);
  await on.put('keep', () => dark);
  assert.deepEqual(on.shown(), [
    'components[0].attributes.path unhealthy CAMERA_FAILED',
    'services[0] unhealthy RESOURCE_WAITS',
  ]);
  const [, reader] = on.reporter.read().report.resources;
  assert.equal(reader?.error?.message, 'keep waits for "cam" at components[0].');
});
