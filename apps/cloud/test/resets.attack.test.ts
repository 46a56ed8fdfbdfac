// Every call and page, whose caller leaves at each moment that the server waits for its database or its files.
import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { type EventEmitter, once } from 'node:events';
import http from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import path from 'node:path';
import test from 'node:test';
import { type DescMethod, fromJson, toBinary } from '@bufbuild/protobuf';
import { DatasetService } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import { DataSyncService } from '@platform/contract/gen/platform/app/datasync/v1/data_sync_pb';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { AuthService } from '@platform/contract/gen/proto/rpc/v1/auth_pb';
import { httpRoutes } from '../src/http/routes.ts';
import { requestFor, services, type Victim } from './every-call.ts';
import { heldCalls, type HeldCalls } from './held-calls.ts';
import { testServer, type TestServer } from './server.ts';

const tls = path.join(import.meta.dirname, 'tls');
const flags = ['--tls-cert', path.join(tls, 'cert.pem'), '--tls-key', path.join(tls, 'key.pem')];
const isShort = process.env['PLATFORM_ATTACK'] === 'short';
/** No call makes so many. */
const mostCalls = 60;

type Sent = { name: string; method: string; path: string; headers: Record<string, string>; body: Buffer };
/** A request that is on its way. */
type Under = { answered: Promise<unknown>; reset(): Promise<unknown> };
type Way = { name: string; send(request: Sent): Under; close(): void };

/** Also after an error. */
const closeOf = (emitter: EventEmitter): Promise<void> =>
  new Promise((resolve) => void emitter.once('close', () => resolve()));

function overHttp1(url: string): Way {
  const { request } = url.startsWith('https:') ? https : http;
  return {
    name: url.startsWith('https:') ? 'HTTP/1.1 with TLS' : 'HTTP/1.1',
    send({ method, path: where, headers, body }) {
      const asked = request(url + where, {
        method,
        headers: { ...headers, 'content-length': body.length },
        agent: false,
        rejectUnauthorized: false,
      });
      asked.on('error', () => {});
      asked.end(body);
      return {
        answered: once(asked, 'response').then(([answer]) => (answer as http.IncomingMessage).destroy()),
        async reset() {
          const closed = closeOf(asked);
          asked.destroy();
          await closed;
          // By the time that this is answered, the server has seen the end.
          await fetch(`${url.replace('https:', 'http:')}/livez`);
        },
      };
    },
    close: () => {},
  };
}

function overHttp2(url: string): Way {
  const session = http2.connect(url, { rejectUnauthorized: false });
  session.on('error', () => {});
  return {
    name: url.startsWith('https:') ? 'HTTP/2 with TLS' : 'h2c',
    send({ method, path: where, headers, body }) {
      const stream = session.request({ ...headers, ':method': method, ':path': where });
      stream.on('error', () => {});
      stream.end(body);
      const close = async (): Promise<void> => {
        const closed = closeOf(stream);
        stream.close(http2.constants.NGHTTP2_CANCEL);
        await closed;
      };
      return {
        answered: once(stream, 'response').then(close),
        async reset() {
          await close();
          await new Promise((resolve) => session.ping(resolve));
        },
      };
    },
    close: () => session.destroy(),
  };
}

/** Sends it with its n-th call held, n = 1, 2, …, until it is answered without a hold. @returns how many were held. */
async function attack(held: HeldCalls, way: Way, request: Sent): Promise<number> {
  for (let nth = 1; nth <= mostCalls; nth++) {
    const call = held.hold(nth);
    const under = way.send(request);
    under.answered.catch(() => {});
    const isHeld = await Promise.race([
      call.reached.then(() => true),
      under.answered.then(
        () => false,
        () => false,
      ),
    ]);
    try {
      if (isHeld) await under.reset();
    } finally {
      await call.release();
    }
    if (!isHeld) return nth - 1;
  }
  return assert.fail(`${request.name} makes more than ${mostCalls} calls`);
}

async function victimOf(on: TestServer): Promise<Victim> {
  const { machineId, partId } = await on.machine('m');
  const dataset = await (
    await on.client(DatasetService)
  ).createDataset({ organizationId: on.orgId, name: 'a dataset' });
  const uploads = await on.client(DataSyncService);
  const { binaryDataId } = await uploads.dataCaptureUpload({
    metadata: { partId, type: 1, componentName: 'c', fileExtension: '.jpg', tags: ['a'], datasetIds: [dataset.id] },
    sensorContents: [{ data: { case: 'binary', value: Buffer.from('an image') }, metadata: {} }],
  });
  const { locationId, runnerKeyId } = on.server.firstRun;
  return {
    orgId: on.orgId,
    machineId,
    partId,
    locationId,
    keyId: runnerKeyId,
    datasetId: dataset.id,
    dataId: binaryDataId,
    jobId: randomUUID(),
  };
}

/** What ends its own caller, or what others need, comes last. */
const rank = ({ name }: DescMethod): number =>
  name === 'DeleteOrganization' ? 2 : /^(Delete|Remove|Rotate|SignOut|Change)/.test(name) ? 1 : 0;

function callsFor(victim: Victim, authorization: string): Sent[] {
  const methods = [...services, AuthService].flatMap(({ methods: own }) => own);
  return methods
    .toSorted((a, b) => rank(a) - rank(b))
    .map((method) => {
      const json = requestFor(method.input, victim, randomUUID());
      const message = toBinary(method.input, fromJson(method.input, json));
      const frame = Buffer.alloc(5);
      frame.writeUInt32BE(message.length, 1);
      return {
        name: method.name,
        method: 'POST',
        path: `/${method.parent.typeName}/${method.name}`,
        headers: method.parent === AuthService ? {} : { authorization },
        body: Buffer.concat([frame, message]),
      };
    });
}

function pagesFor(on: TestServer, victim: Victim, authorization: string): Sent[] {
  const file = Buffer.from('a file');
  const sha256 = createHash('sha256').update(file).digest('hex');
  const rows: [method: string, path: string, body?: Buffer][] = [
    ['GET', '/'],
    ['GET', '/assets/none.js'],
    ['GET', '/nothing'],
    ['GET', '/livez'],
    ['GET', '/readyz'],
    ['GET', '/sign-in?token=x'],
    ['GET', `/api/json1/config?client=true&id=${victim.partId}`],
    ['GET', '/install.sh'],
    ['GET', '/uninstall.sh'],
    ['GET', '/releases/platform-agent/1.0.0/linux-amd64/platform-agent'],
    ['GET', '/releases/SHA256SUMS'],
    ['GET', '/releases/SHA256SUMS.sig'],
    ['GET', `/releases/deltas/${sha256}`],
    ['GET', '/tuf/1.root.json'],
    ['GET', '/tuf/timestamp.json'],
    ['PUT', `/blobs/${sha256}`, file],
    ['GET', `/blobs/${sha256}`],
    ['HEAD', `/blobs/${sha256}`],
    ['GET', `/packages/${on.orgId}/a/1.tar.gz`],
    ['POST', `/packages/${on.orgId}/a?type=ml_model&version=1`, file],
    ['GET', `/data/${victim.dataId}`],
  ];
  return rows.map(([method, where, body = Buffer.alloc(0)]) => ({
    name: `${method} ${where.split('?')[0]}`,
    method,
    path: where,
    headers: { authorization },
    body,
  }));
}

test('a caller that leaves at any moment ends its own request alone', async (t) => {
  using held = heldCalls();
  await using on = await testServer(flags, held.around);
  const plain = on.url.replace('https:', 'http:');
  const ways = [overHttp1(plain), overHttp2(plain), overHttp1(on.url), overHttp2(on.url)];
  const victim = await victimOf(on);
  const gone = await on.machine('gone');
  const authorization = `Bearer ${await on.token(on.owner)}`;
  const pages = pagesFor(on, victim, authorization);
  const routes = httpRoutes({} as never, { blobLimitBytes: 1, webFolder: undefined });
  const untried = routes.filter(
    (route) =>
      !pages.some(
        (page) => route.methods.includes(page.method as 'GET') && route.path.test(page.path.split('?')[0] ?? ''),
      ),
  );
  assert.deepEqual(untried, []);

  // A machine that is no more: each call of it is refused after a look into the database.
  const goneToken = `Bearer ${await on.token(gone.part)}`;
  await (await on.client(FleetService)).deleteMachine({ id: gone.machineId });
  const refused = callsFor(victim, goneToken);
  const all = [...refused, ...pages, ...callsFor(victim, authorization)];
  let holds = 0;
  let requests = 0;
  for (const [index, request] of all.entries()) {
    for (const [number, way] of ways.entries()) {
      if (isShort && (index + number) % ways.length !== 0) continue;
      const type = way.name.startsWith('HTTP/1') ? 'application/grpc-web+proto' : 'application/grpc';
      const isRpc = request.path.startsWith('/platform.') || request.path.startsWith('/proto.');
      const headers = isRpc ? { ...request.headers, 'content-type': type, te: 'trailers' } : request.headers;
      const found = await attack(held, way, { ...request, headers });
      holds += found;
      requests += found + 1;
    }
  }
  for (const way of ways) way.close();
  assert.equal((await fetch(`${plain}/livez`)).status, 200);
  assert.equal(on.server.unhandled.count, 0);
  t.diagnostic(`${all.length} calls and pages, ${requests} requests, ${holds} of them reset while a call was held`);
});
