import { PlatformError } from '@platform/contract/errors/errors';
import { parseRestartStatus } from '@platform/contract/machine-server/machine-server';
import { captureLog, FakeClock } from '@platform/kit/testing';
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { test } from 'node:test';
import { serveHttp } from '../src/http/server.ts';
import { maxImageBytes } from '../src/images/image.ts';
import type { Camera, Model, Offer } from '../src/resources/resource.ts';
import { RunningResources } from '../src/resources/running.ts';

const model: Model = {
  origin: { model: 'm', version: '1' },
  labels: ['small', 'large'],
  predict: async (bytes, name) => {
    if (bytes.length === 0) throw new PlatformError('INVALID_IMAGE', { name, problem: 'it is empty' });
    const label = bytes.length > 1000 ? 'large' : 'small';
    const task = 'single_label_classification';
    return { task, label, score: 1, probabilities: { [label]: 1 }, model: 'm', version: '1', milliseconds: 0 };
  },
};
const brokenCamera: Camera = {
  image: () => Promise.reject(new PlatformError('CAMERA_FAILED', { name: 'cam', problem: 'dark' })),
};
const camera: Camera = { image: async () => ({ bytes: Buffer.from('image'), format: 'png', source: 'p.png' }) };

async function serving(offers: Record<string, Offer>) {
  const running = new RunningResources();
  for (const [name, offer] of Object.entries(offers)) await running.put(name, name, { offer, stop: async () => {} });
  const { log, lines } = captureLog(new FakeClock());
  const server = await serveHttp({
    running,
    restartStatus: async () => ({ restartAllowed: true, doesNotHandleNeedsRestart: true, revision: 3 }),
    status: () => Promise.reject(new Error('a broken sensor')),
    resources: () => [],
    resourceReport: () => ({
      revision: 3,
      resources: [{ name: 'cam', path: 'components[0]', state: 'ready', sinceWall: 0 }],
    }),
    log,
  });
  return { url: server.url, lines, [Symbol.asyncDispose]: () => server.close() };
}

const offers: Record<string, Offer> = {
  net: { is: 'model', model },
  cam: { is: 'camera', camera },
  dark: { is: 'camera', camera: brokenCamera },
  'a b/c': { is: 'camera', camera },
};

test('every answer, good or bad, is JSON with a status that fits', async () => {
  await using server = await serving(offers);
  const rows: [method: string, path: string, body: string | undefined, status: number, answer: RegExp][] = [
    ['GET', '/restart_status', undefined, 200, /"restart_allowed":true/],
    ['GET', '/resources?x=1', undefined, 200, /"resources":\[\]/],
    ['GET', '/resource_status', undefined, 200, /"revision":3.*"since":"1970-01-01T00:00:00.000Z"/],
    ['POST', '/models/net/predict', 'x'.repeat(2000), 200, /"label":"large"/],
    ['POST', '/models/net/predict', '', 400, /INVALID_IMAGE/],
    ['POST', '/models/cam/predict', 'x', 404, /RESOURCE_NOT_FOUND/],
    ['GET', '/models/net/predict', undefined, 404, /UNSUPPORTED/],
    ['GET', '/cameras/dark/image', undefined, 503, /CAMERA_FAILED.*dark/],
    ['POST', '/cameras/cam/predict', undefined, 200, /"label":"small".*"image":"p\.png"/],
    ['POST', '/cameras/a%20b%2Fc/predict', undefined, 200, /"label":"small"/],
    ['POST', '/cameras/cam/predict', '{"model":"net"}', 200, /"label":"small"/],
    ['POST', '/cameras/cam/predict', '{"model":"other"}', 404, /RESOURCE_NOT_FOUND/],
    ['POST', '/cameras/cam/predict', '{"model":', 400, /INVALID_MESSAGE/],
    ['GET', '/__proto__', undefined, 404, /UNSUPPORTED/],
    ['GET', '/status', undefined, 500, /INTERNAL/],
  ];
  for (const [method, path, body, status, answer] of rows) {
    const response = await fetch(server.url + path, { method, ...(body !== undefined && { body }) });
    const text = await response.text();
    assert.equal(response.status, status, `${method} ${path}: ${text}`);
    assert.match(text, answer);
    assert.doesNotMatch(text, /a broken sensor/);
    JSON.parse(text);
  }
  assert.equal(server.lines.find(({ message }) => message === 'request failed')?.fields['error'], 'a broken sensor');
  const status = parseRestartStatus(await (await fetch(`${server.url}/restart_status`)).text());
  assert.deepEqual(status, { restartAllowed: true, doesNotHandleNeedsRestart: true, revision: 3 });
  const image = await fetch(`${server.url}/cameras/cam/image`);
  assert.deepEqual([image.headers.get('content-type'), await image.text()], ['image/png', 'image']);
});

test('with two models, a prediction by camera must name the model', async () => {
  await using server = await serving({ ...offers, other: { is: 'model', model } });
  const response = await fetch(`${server.url}/cameras/cam/predict`, { method: 'POST' });
  assert.deepEqual([response.status, /name it in the body/.test(await response.text())], [400, true]);
});

/** Sends a request that no browser and no `fetch` would send; without `body`, only its head. */
function raw(url: string, headers: Record<string, string>, body?: Buffer): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const asked = request(`${url}/models/net/predict`, { method: 'POST', headers }, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(parts).toString() }));
    });
    asked.on('error', reject);
    if (body === undefined) asked.flushHeaders();
    else asked.end(body);
  });
}

test('too large a body is refused, announced or not', async () => {
  await using server = await serving(offers);
  const announced = await raw(server.url, { 'content-length': String(maxImageBytes + 1) });
  assert.deepEqual([announced.status, /BLOB_TOO_LARGE/.test(announced.text)], [413, true]);
  const chunked = await raw(server.url, { 'transfer-encoding': 'chunked' }, Buffer.alloc(maxImageBytes + 1));
  assert.deepEqual([chunked.status, /BLOB_TOO_LARGE/.test(chunked.text)], [413, true]);
  const atLimit = await raw(server.url, {}, Buffer.alloc(maxImageBytes));
  assert.equal(atLimit.status, 200);
});

test('a foreign host name that resolves to loopback is refused', async () => {
  await using server = await serving(offers);
  const body = Buffer.from('x');
  for (const host of ['evil.example', 'evil.example:80', '10.0.0.1']) {
    const answer = await raw(server.url, { host }, body);
    assert.deepEqual([answer.status, /FORBIDDEN_CALLER/.test(answer.text)], [403, true], host);
  }
  for (const host of ['localhost', '127.0.0.1:99', '[::1]'])
    assert.equal((await raw(server.url, { host }, body)).status, 200);
});
