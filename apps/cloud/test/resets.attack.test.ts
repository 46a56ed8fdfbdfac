// The caller of every call and page disconnects at each moment at which the server waits for database or files.
import assert from 'node:assert/strict';
import { createHash, randomInt, randomUUID } from 'node:crypto';
import path from 'node:path';
import test from 'node:test';
import { create, type DescMethod, fromJson, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { AgentDeviceService } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { RobotService } from '@platform/contract/gen/platform/app/v1/robot_pb';
import { RunnerService } from '@platform/contract/gen/platform/runner/v1/runner_pb';
import { sql } from 'kysely';
import { DatasetService } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import { DataSyncService } from '@platform/contract/gen/platform/app/datasync/v1/data_sync_pb';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { AuthService } from '@platform/contract/gen/proto/rpc/v1/auth_pb';
import { httpRoutes } from '../src/http-routes.ts';
import { requestFor, services, type Victim } from './every-call.ts';
import { heldCalls, type HeldCalls } from './held-calls.ts';
import { testServer, type TestServer } from './server.ts';
import { callHeaders, frameOf, overHttp1, overHttp2, type Sent, type Way } from './ways.ts';

const tls = path.join(import.meta.dirname, 'tls');
const flags = ['--tls-cert', path.join(tls, 'cert.pem'), '--tls-key', path.join(tls, 'key.pem')];
const isShort = process.env['PLATFORM_ATTACK'] === 'short';
/** An upper bound: no call makes this number. */
const mostCalls = 60;

/** Sends it with its n-th call held, n = 1, 2, …, until no call is held. @returns the number of held calls. */
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
    fragmentId: randomUUID(),
    operationId: randomUUID(),
    locationId,
    keyId: runnerKeyId,
    datasetId: dataset.id,
    dataId: binaryDataId,
    jobId: randomUUID(),
  };
}

/** Calls that revoke their own caller, or delete what others need, run last. */
const rank = ({ name }: DescMethod): number =>
  name === 'DeleteOrganization' ? 2 : /^(Delete|Remove|Rotate|SignOut|Change)/.test(name) ? 1 : 0;

function callsFor(victim: Victim, authorization: string): Sent[] {
  const methods = [...services, AuthService].flatMap(({ methods: own }) => own);
  return methods
    .toSorted((a, b) => rank(a) - rank(b))
    .map((method) => {
      const json = requestFor(method.input, victim, randomUUID());
      const message = toBinary(method.input, fromJson(method.input, json));
      return {
        name: method.name,
        method: 'POST',
        path: `/${method.parent.typeName}/${method.name}`,
        headers: method.parent === AuthService ? {} : { authorization },
        body: frameOf(message),
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
    ['GET', '/metrics'],
    ['GET', '/sign-in?token=x'],
    ['POST', '/sign-in'],
    ['POST', '/api/set-up-codes/redeem'],
    ['POST', '/api/install-steps?step=started'],
    ['GET', `/api/json1/config?client=true&id=${victim.partId}`],
    ['GET', '/install.sh'],
    ['GET', '/uninstall.sh'],
    ['GET', '/authority.pem'],
    ['GET', '/releases/platform-agent/1.0.0/linux-amd64/platform-agent'],
    ['GET', '/releases/platform-agent/1.0.0/linux-amd64/sbom.cdx.json'],
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
    ['GET', `/sequence-exports/${victim.partId}.parquet`],
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

  // A deleted machine: the server refuses each of its calls after a database lookup.
  const goneToken = `Bearer ${await on.token(gone.part)}`;
  await (await on.client(FleetService)).deleteMachine({ id: gone.machineId });
  const refused = callsFor(victim, goneToken);
  const all = [...refused, ...pages, ...callsFor(victim, authorization)];
  let holds = 0;
  let requests = 0;
  for (const [index, request] of all.entries()) {
    for (const [number, way] of ways.entries()) {
      if (isShort && (index + number) % ways.length !== 0) continue;
      const isRpc = request.path.startsWith('/platform.') || request.path.startsWith('/proto.');
      const headers = isRpc ? { ...request.headers, ...callHeaders(way) } : request.headers;
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

/** A waiting call, and the database notification that it waits for. */
type Waiting = Sent & { channel: string; payload: () => string };

async function waitingCalls(on: TestServer, authorization: string): Promise<Waiting[]> {
  const { partId } = await on.machine('waits');
  const wait = durationFromMs(50_000);
  const hostInfo = { platform: 'linux/amd64', tags: ['platform-agent'] };
  const agent = await on.client(AgentDeviceService);
  const { fingerprint } = await agent.deviceAgentConfig({ id: partId, hostInfo });
  const { config } = await (await on.client(RobotService)).config({ id: partId });
  const change = (): string => `${randomInt(2 ** 40)} config ${partId}`;
  const offer = { runnerId: 'waits', kinds: ['custom'], wait };
  const call = <M extends DescMethod>(method: M, message: MessageInitShape<M['input']>): Sent => ({
    name: method.name,
    method: 'POST',
    // Under its public name, TailRobotPartLogs sends nothing before the first line.
    path: `/${method.parent.typeName.replace('platform.app', 'viam.app')}/${method.name}`,
    headers: { authorization },
    body: frameOf(toBinary(method.input, create(method.input, message))),
  });
  return [
    { ...call(AppService.method.tailRobotPartLogs, { id: partId }), channel: 'part_log', payload: () => partId },
    {
      ...call(RunnerService.method.leaseJob, offer),
      channel: 'training_job',
      payload: () => `${randomUUID()} ${on.orgId} pending`,
    },
    {
      ...call(AgentDeviceService.method.deviceAgentConfig, {
        id: partId,
        hostInfo,
        knownFingerprint: fingerprint,
        wait,
      }),
      channel: 'change',
      payload: change,
    },
    {
      ...call(RobotService.method.config, { id: partId, knownRevision: config?.revision ?? '', wait }),
      channel: 'change',
      payload: change,
    },
  ];
}

test('a caller that leaves while it waits for a notification, before or after it comes, ends its own request alone', async (t) => {
  using held = heldCalls();
  await using on = await testServer(flags, held.around);
  const plain = on.url.replace('https:', 'http:');
  const ways = [overHttp1(plain), overHttp2(plain), overHttp1(on.url), overHttp2(on.url)];
  const authorization = `Bearer ${await on.token(on.owner)}`;
  const counts = { left: 0, woken: 0 };
  /** Sends it until it waits; its notification is then in flight and held. */
  const waiting = async (way: Way, request: Waiting) => {
    const sent = way.send({ ...request, headers: { ...request.headers, ...callHeaders(way) } });
    sent.answered.catch(() => {});
    // This answer proves that the server has begun what another connection sent earlier.
    await fetch(`${plain}/livez`);
    await held.quiet();
    const notification = held.holdNotifications();
    await sql`select pg_notify(${request.channel}, ${request.payload()})`.execute(on.db);
    await notification.reached;
    return { sent, notification };
  };
  for (const request of await waitingCalls(on, authorization)) {
    for (const way of ways) {
      const none = held.hold(mostCalls);
      const first = await waiting(way, request);
      await first.sent.reset();
      const before = await held.quiet();
      first.notification.release();
      assert.equal(await held.quiet(), before, `${request.name}: there is no lookup for a caller that is gone`);
      await none.release();
      counts.left++;

      const start = held.hold(mostCalls);
      const second = await waiting(way, request);
      await start.release();
      const look = held.hold(1);
      second.notification.release();
      await look.reached;
      await second.sent.reset();
      await look.release();
      counts.woken++;
    }
  }
  for (const way of ways) way.close();
  assert.equal((await fetch(`${plain}/livez`)).status, 200);
  assert.equal(on.server.unhandled.count, 0);
  t.diagnostic(`${counts.left} callers left before the notification, ${counts.woken} while what it set off was held`);
});
