import { tempFolder } from '@platform/kit/testing';
import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { tarGz } from './archives.ts';
import { colourImage } from './colour-images.ts';
import { fakeCloud } from './fake-cloud.ts';
import { startServer } from './server-process.ts';

const onnx = await readFile(path.join(import.meta.dirname, 'fixtures', 'colours.onnx'));
const modelArchive = (labels: string) =>
  tarGz([
    { name: 'colours.onnx', content: onnx },
    { name: 'labels.txt', content: labels },
  ]);

const model = {
  name: 'classifier',
  type: 'mlmodel',
  model: 'onnx_cpu',
  attributes: { model_path: '${packages.colours}/colours.onnx', label_path: '${packages.colours}/labels.txt' },
};
const usePackage = (version: string) => ({ name: 'colours', package: 'org/colours', version, type: 'ml_model' });

test('a machine: its model, a new version of it, a bad one, images captured on the way, offline and on again', async () => {
  await using folder = await tempFolder();
  await using cloud = await fakeCloud();
  const images = folder.file('images');
  await mkdir(images);
  await writeFile(path.join(images, 'a.jpg'), await colourImage('green'));
  const camera = { name: 'camera-1', type: 'camera', model: 'folder', attributes: { path: images } };
  cloud.archives.set('org/colours/1', { bytes: await modelArchive('red\ngreen\nblue\n') });
  cloud.setConfig(1, { components: [camera], services: [model], packages: [usePackage('1')] });

  await using server = await startServer({ cloud, folder: folder.path });
  assert.deepEqual([server.ready.version, server.ready.revision], ['0.1.0', 0]);

  // The model arrives and makes predictions.
  const predict = async () =>
    server.json('/models/classifier/predict', { method: 'POST', body: await colourImage('blue') });
  const first = await server.until('a prediction', predict, ({ status }) => status === 200);
  assert.deepEqual([first.body['label'], first.body['model'], first.body['version']], ['blue', 'colours', '1']);
  const seen = await server.json('/cameras/camera-1/predict', { method: 'POST' });
  assert.deepEqual([seen.body['label'], seen.body['image']], ['green', 'a.jpg']);
  const image = await fetch(`${server.ready.url}/cameras/camera-1/image`);
  assert.equal(image.headers.get('content-type'), 'image/jpeg');
  assert.deepEqual(Buffer.from(await image.arrayBuffer()), await colourImage('green'));
  const status = await server.json('/restart_status');
  assert.deepEqual([status.body['restart_allowed'], status.body['revision']], [true, 1]);

  // A new version replaces it while the server runs; a damaged version does not.
  cloud.archives.set('org/colours/2', { bytes: await modelArchive('rot\ngruen\nblau\n') });
  cloud.setConfig(2, { components: [camera], services: [model], packages: [usePackage('2')] });
  const second = await server.until('version 2', predict, ({ body }) => body['version'] === '2');
  assert.equal(second.body['label'], 'blau');
  cloud.archives.set('org/colours/3', { bytes: await modelArchive('rot\ngruen\n') });
  cloud.setConfig(3, { components: [camera], services: [model], packages: [usePackage('3')] });
  const isRefused = () => cloud.logs.some(({ message }) => message === 'resource does not start');
  await server.until('the refusal in the logs', isRefused, Boolean);
  assert.equal((await predict()).body['version'], '2');
  const { resources } = (await server.json('/resources')).body as { resources: Record<string, unknown>[] };
  assert.match(String(resources[1]?.['problem']), /3 classes/);

  // The server captures images; those captured offline arrive later, each once.
  const capture = {
    name: 'keep',
    type: 'data_manager',
    attributes: { camera: 'camera-1', every_seconds: 0.1, dataset_ids: ['d1'], tags: ['yard'] },
  };
  cloud.setConfig(4, { components: [camera], services: [model, capture], packages: [usePackage('2')] });
  await server.until(
    'an upload',
    () => cloud.uploads.length,
    (count) => count > 0,
  );
  cloud.goOffline();
  const waiting = async () =>
    (await readdir(folder.file('data', 'captures', 'keep'))).filter((f) => f.endsWith('.json')).length;
  await server.until('captures that wait', waiting, (count) => count >= 3);
  cloud.validFrom = cloud.tokens + 1; // the server's current token becomes invalid
  cloud.goOnline();
  cloud.setConfig(5, { components: [camera], services: [model], packages: [usePackage('2')] });
  await server.until('an empty spool', waiting, (count) => count === 0);
  const names = cloud.uploads.map(({ metadata }) => metadata?.fileName);
  assert.equal(new Set(names).size, names.length);
  const [upload] = cloud.uploads;
  assert.deepEqual([upload?.metadata?.tags, upload?.metadata?.datasetIds], [['yard'], ['d1']]);
  assert.deepEqual(Buffer.from(upload?.sensorContents[0]?.data.value as Uint8Array), await colourImage('green'));

  // The server stops on request; its log has arrived, numbered without a gap.
  await server.until(
    'revision 5',
    () => server.json('/restart_status'),
    ({ body }) => body['revision'] === 5,
  );
  assert.equal(await server.kill('SIGTERM'), 0);
  const sequences = cloud.logs.map(({ sequence }) => Number(sequence)).toSorted((a, b) => a - b);
  assert.deepEqual(
    sequences,
    sequences.map((_, i) => i + 1),
  );
  assert.equal(cloud.logs.at(-1)?.message, 'stopped');
});

test('without its cloud, a machine starts with what it had', async () => {
  await using folder = await tempFolder();
  await using cloud = await fakeCloud();
  cloud.archives.set('org/colours/1', { bytes: await modelArchive('red\ngreen\nblue\n') });
  cloud.setConfig(7, { services: [model], packages: [usePackage('1')] });
  const predict = { method: 'POST', body: await colourImage('red') };
  {
    await using server = await startServer({ cloud, folder: folder.path });
    // Another vendor's agent waits for this line and then polls for restarts.
    const serving = `serving\t{"url":"${server.ready.url}","alt_url":"${server.ready.url}"}`;
    await server.until(
      'the public line',
      () => server.stdout,
      (lines) => lines.includes(serving),
    );
    assert.equal((await server.json('/restart_status')).body['does_not_handle_needs_restart'], true);
    await server.until(
      'a model',
      () => server.json('/models/classifier/predict', predict),
      ({ status }) => status === 200,
    );
    await server.kill('SIGKILL');
  }
  cloud.goOffline();
  await using server = await startServer({ cloud, folder: folder.path });
  const answer = await server.until(
    'a model',
    () => server.json('/models/classifier/predict', predict),
    ({ status }) => status === 200,
  );
  assert.deepEqual([answer.body['label'], answer.body['version']], ['red', '1']);
  const { body } = await server.json('/status');
  assert.deepEqual([body['online'], body['revision']], [false, 7]);
});

test('a caller that asks for nonsense gets a reason', async () => {
  await using folder = await tempFolder();
  await using cloud = await fakeCloud();
  await using server = await startServer({ cloud, folder: folder.path });
  const rows: [string, RequestInit, number, string][] = [
    ['/nothing', {}, 404, 'UNSUPPORTED'],
    ['/restart_status', { method: 'POST' }, 404, 'UNSUPPORTED'],
    ['/models/none/predict', { method: 'POST', body: 'x' }, 404, 'RESOURCE_NOT_FOUND'],
    ['/models/%ff/predict', { method: 'POST' }, 404, 'RESOURCE_NOT_FOUND'],
    ['/cameras/none/image', {}, 404, 'RESOURCE_NOT_FOUND'],
  ];
  for (const [route, init, status, code] of rows) {
    const answer = await server.json(route, init);
    assert.deepEqual([answer.status, (answer.body['error'] as { code: string }).code], [status, code], route);
  }
});
