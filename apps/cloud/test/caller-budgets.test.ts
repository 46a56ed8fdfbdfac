// Each caller has one budget of calls and bytes for RPC, streams, pages and config checks. Other callers keep theirs.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import test from 'node:test';
import { fromBinary } from '@bufbuild/protobuf';
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { DeviceAgentConfigResponseSchema } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { DataSyncService } from '@platform/contract/gen/platform/app/datasync/v1/data_sync_pb';
import { DataService } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { RobotService } from '@platform/contract/gen/platform/app/v1/robot_pb';
import { FakeClock } from '@platform/kit/testing';
import { callerBudgets } from '../src/access/caller-budgets.ts';
import { cloudOptions } from '../src/options.ts';
import { signedPath, signerOf } from '../src/access/signed-urls.ts';
import type { Caller } from '../src/access/rules/permissions.ts';
import { failure } from './failure.ts';
import { checkBytes, dial } from './plain-wire.ts';
import { bearer, type Credentials, testServer, type TestServer, transportTo } from './server.ts';

const mib = 2 ** 20;
const hexOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const within = [200, 201];

type Ask = (n: number) => Promise<Response>;
/** Sends requests until one is refused. @returns the number of answers, and the refusal. */
async function exhaust(ask: Ask, most = 100): Promise<{ answered: number; refusal: Response }> {
  for (let answered = 0; answered < most; answered++) {
    const answer = await ask(answered);
    if (!within.includes(answer.status)) return { answered, refusal: answer };
    await answer.arrayBuffer();
  }
  return assert.fail(`answered ${most} times`);
}

async function isBudget(refusal: Response): Promise<void> {
  const text = await refusal.text();
  assert.equal(refusal.status, 429, text);
  assert.match(refusal.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
  const { code, remedy } = JSON.parse(text) as { code: string; remedy: string };
  assert.equal(code, 'BUDGET_EXCEEDED');
  assert.match(remedy, /^Wait \d+ s/);
}

const authorized = async (on: TestServer, who: Credentials): Promise<{ authorization: string }> => ({
  authorization: `Bearer ${await on.token(who)}`,
});

test('routes: calls beyond the budget of a key are refused with a time to wait; other callers go on', async () => {
  await using on = await testServer(['--key-calls-per-s', '1']);
  const [owner, runner] = [await authorized(on, on.owner), await authorized(on, on.runner)];
  const bytes = randomBytes(10);
  const where = `${on.url}/blobs/${hexOf(bytes)}`;
  const { answered, refusal } = await exhaust((n) =>
    fetch(where, n === 0 ? { method: 'PUT', body: bytes, headers: owner } : { headers: owner }),
  );
  await isBudget(refusal);
  assert.ok(answered >= 10, `${answered} within the burst`);
  // Every other route and call draws on the same budget; the wait of one caller does not delay others.
  for (const path of ['/packages/x/y/1.tar.gz', '/data/x/y/z', '/api/json1/config?client=true&id=x'])
    await isBudget(await fetch(on.url + path, { headers: owner }));
  assert.equal((await fetch(where, { headers: runner })).status, 200);
});

test('bytes count in both directions, announced or not, in routes and in streams', async () => {
  // A burst of 16 MiB.
  await using on = await testServer(['--caller-mib-per-s', '1']);
  const app = await on.client(AppService);
  const newKey = async (name: string): Promise<Credentials> => {
    const authorization = { authorizationId: 'organization_owner', resourceType: 'organization', resourceId: on.orgId };
    const { id, key } = await app.createKey({ name, authorizations: [authorization] });
    return { type: 'api-key', entity: id, payload: key };
  };
  const put = (bytes: Uint8Array, headers: Record<string, string>, isAnnounced = true): Promise<Response> =>
    fetch(`${on.url}/blobs/${hexOf(bytes)}`, {
      method: 'PUT',
      headers,
      body: isAnnounced ? bytes : new Blob([bytes]).stream(),
      duplex: 'half',
    });
  const same = randomBytes(4 * mib);
  assert.equal((await put(same, await authorized(on, await newKey('first')))).status, 201);
  const rows: [what: string, ask: (headers: Record<string, string>) => Promise<Response>][] = [
    ['uploads', (headers) => put(randomBytes(4 * mib), headers)],
    ['uploads in chunks', (headers) => put(randomBytes(4 * mib), headers, false)],
    ['uploads of what is stored', (headers) => put(same, headers)],
    ['the same in chunks', (headers) => put(same, headers, false)],
    ['downloads', (headers) => fetch(`${on.url}/blobs/${hexOf(same)}`, { headers })],
  ];
  for (const [what, ask] of rows) {
    const headers = await authorized(on, await newKey(what));
    const { answered, refusal } = await exhaust(() => ask(headers));
    await isBudget(refusal);
    assert.ok(answered >= 4 && answered < 30, `${what}: ${answered} of 4 MiB each`);
  }

  const { partId } = await on.machine('m');
  const transport = createGrpcTransport({
    baseUrl: on.url,
    interceptors: [bearer(await on.token(await newKey('gRPC')))],
  });
  const sync = createClient(DataSyncService, transport);
  const upload = (): Promise<string> =>
    failure(
      sync.dataCaptureUpload({
        metadata: { partId, type: 1, fileExtension: '.bin' },
        sensorContents: [{ data: { case: 'binary', value: randomBytes(4 * mib) } }],
      }),
    );
  let answered = 0;
  let last = await upload();
  for (; last === 'no failure' && answered < 100; answered++) last = await upload();
  assert.equal(last, 'ResourceExhausted BUDGET_EXCEEDED');
  assert.ok(answered >= 3 && answered < 30, `gRPC: ${answered} of 4 MiB each`);
  // The budget of this caller is unused so far.
  assert.equal((await put(randomBytes(10), await authorized(on, on.owner))).status, 201);
});

test('signed links draw on a budget of whoever signed them, and on nothing else of that caller', async () => {
  await using on = await testServer(['--caller-mib-per-s', '1']);
  const app = await on.client(AppService);
  const { partId } = await on.machine('m');
  const sync = await on.client(DataSyncService);
  const { binaryDataId } = await sync.dataCaptureUpload({
    metadata: { partId, type: 1, fileExtension: '.bin' },
    sensorContents: [{ data: { case: 'binary', value: randomBytes(4 * mib) } }],
  });
  const linkBy = async (who: Credentials, expirationMinutes?: number): Promise<string> => {
    const data = await on.client(DataService, who);
    return (await data.createBinaryDataSignedURL({ binaryDataId, ...(expirationMinutes && { expirationMinutes }) }))
      .signedUrl;
  };
  const [link, another] = [await linkBy(on.owner), await linkBy(on.owner, 30)];
  const { answered, refusal } = await exhaust(() => fetch(link));
  await isBudget(refusal);
  assert.ok(answered >= 4 && answered < 30, `${answered} of 4 MiB each`);
  await isBudget(await fetch(another));

  const authorization = { authorizationId: 'organization_owner', resourceType: 'organization', resourceId: on.orgId };
  const { id, key } = await app.createKey({ name: 'other', authorizations: [authorization] });
  const other = await linkBy({ type: 'api-key', entity: id, payload: key });
  assert.ok(!other.includes(id), 'a link does not tell who signed it');
  assert.equal((await fetch(other)).status, 200);
  assert.equal(
    (await fetch(`${on.url}/data/${binaryDataId}`, { headers: await authorized(on, on.owner) })).status,
    200,
  );
  for (const [what, changed] of [
    ['another signer', link.replace(/issuer=[^&]+/, `issuer=${new URL(other).searchParams.get('issuer')}`)],
    ['none', link.replace(/issuer=[^&]+&/, '')],
    ['its time in pieces', link.replace(/expires=(\d+)&issuer=([^&]+)/, 'expires=$2%0A$1')],
  ] as const)
    assert.equal((await fetch(changed)).status, 401, what);
});

test('a link names its signer, and expires', () => {
  const key = randomBytes(32);
  const [ours, theirs] = (['api_key', 'person'] as const).map((kind) => {
    const link = new URL(signedPath(key, '/data/a/b/c', 1_000_000, { kind, id: 'k' }), 'http://host');
    assert.throws(() => signerOf(key, link, 1_000_000), { code: 'NOT_AUTHENTICATED' });
    return signerOf(key, link, 999_000);
  });
  assert.match(`${ours} ${theirs}`, /^[\w-]{16} [\w-]{16}$/);
  assert.notEqual(ours, theirs);
});

test('config checks count as calls of their machine; other machines are answered', async () => {
  await using on = await testServer(['--machine-calls-per-s', '1']);
  const hostInfo = { platform: 'linux/amd64', tags: ['platform-agent'] };
  const [first, other] = [await on.machine('first'), await on.machine('other')];
  const check = async ({ partId, part }: typeof first) => {
    const [token, wire] = [await on.token(part), await dial(on.url)];
    const ask = async (knownFingerprint = '') => {
      await wire.say(checkBytes(on, token, { id: partId, hostInfo, knownFingerprint }));
      return wire.answer();
    };
    const { fingerprint } = fromBinary(DeviceAgentConfigResponseSchema, (await ask()).body);
    return { ask: () => ask(fingerprint), close: wire.close };
  };
  const [one, two] = [await check(first), await check(other)];
  let answered = 0;
  let answer = await one.ask();
  for (; answer.status === 200 && answered < 1_000; answered++) answer = await one.ask();
  assert.equal(answer.status, 429);
  assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
  assert.match(answer.body.toString(), /BUDGET_EXCEEDED/);
  assert.ok(answered >= 8, `${answered} within the burst`);
  assert.equal((await two.ask()).status, 200);
  const robot = createClient(RobotService, transportTo(on.url, await on.token(first.part)));
  // The refusal came a second later: the machine has one call.
  const calls = Array.from({ length: 5 }, () => failure(robot.log({ id: first.partId, logs: [] })));
  assert.ok((await Promise.all(calls)).includes('ResourceExhausted BUDGET_EXCEEDED'));
  for (const { close } of [one, two]) close();
});

test('at the defaults the heavy users of every day are never refused', async () => {
  const clock = new FakeClock();
  const defaults = cloudOptions([], {});
  const budgets = callerBudgets(defaults, clock);
  const key: Caller = { kind: 'api_key', id: 'k', name: 'k', grants: [] };
  const machine: Caller = { kind: 'part', id: 'p', name: 'p', orgId: 'o', machineId: 'm', locationId: 'l', grants: [] };
  const rows: [what: string, caller: Caller, calls: number, callsPerS: number, bytesEach: number][] = [
    ['a runner reads a dataset of 30 GB at 1.25 Gbit/s', key, 10_000, 50, 3 * mib],
    ['a browser uploads 10,000 images as fast as it can', key, 10_000, 900, 300_000],
    ['a camera sends 30 images a second for an hour', machine, 108_000, 30, 200_000],
    ['one model of the largest size', key, 1, 1, defaults.maxBlobMib * mib],
    ['a machine sends what it captured in two days offline', machine, 20_000, 150, mib],
  ];
  for (const [what, caller, calls, callsPerS, bytesEach] of rows) {
    for (let n = 0; n < calls; n++) {
      assert.doesNotThrow(() => budgets.admit(caller, 'GET /blobs/x', bytesEach), what);
      if (n % 100 === 99) await clock.advance(100_000 / callsPerS);
    }
    await clock.advance(60_000);
  }
});
