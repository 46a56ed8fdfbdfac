// nginx and Caddy in front of the server: curl, machines, clients and browsers use it under the public name.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { createClient, type Transport } from '@connectrpc/connect';
import { createConnectTransport, createGrpcTransport } from '@connectrpc/connect-node';
import { AgentDeviceService } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { AppService, type TailRobotPartLogsResponse } from '@platform/contract/gen/platform/app/v1/app_pb';
import { RobotService } from '@platform/contract/gen/platform/app/v1/robot_pb';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { SessionService } from '@platform/contract/gen/platform/session/v1/session_pb';
import { AuthService } from '@platform/contract/gen/proto/rpc/v1/auth_pb';
import { longestHoldMs } from '@platform/kit';
import { systemClock } from '@platform/kit/node';
import { issue, tempFolder, type TempFolder } from '@platform/kit/testing';
import { launchBrowser } from '../src/browser.ts';
import { type CloudReady, startCloud } from '../src/cloud-process.ts';
import { watchComplaints } from '../src/page-checks.ts';
import { documentedConfig, type Proxy, proxyHost as host, startProxy } from '../src/proxies.ts';

const day = 86_400_000;
const validity = { from: Date.now() - day, to: Date.now() + day };
const authority = issue({ name: 'Authority of a test', ...validity, authority: true });
const site = issue({ name: host, ...validity, by: authority, dns: [host] });

type Curl = (...args: string[]) => Promise<string>;
type Credentials = { type: 'api-key' | 'robot-secret'; entity: string; payload: string };

interface Front {
  readonly base: string;
  readonly folder: TempFolder;
  readonly curl: Curl;
}

const nodeOptions = {
  ca: authority.cert,
  lookup: (_: string, __: unknown, found: (error: null, addresses: never) => void) =>
    found(null, [{ address: '127.0.0.1', family: 4 }] as never),
};

const grpc = (baseUrl: string): Transport => createGrpcTransport({ baseUrl, nodeOptions });
/** The protocols of our clients and of other clients. */
const protocols: Record<string, (baseUrl: string) => Transport> = {
  'Connect over HTTP/1.1': (baseUrl) => createConnectTransport({ baseUrl, httpVersion: '1.1', nodeOptions }),
  'Connect over HTTP/2': (baseUrl) => createConnectTransport({ baseUrl, httpVersion: '2', nodeOptions }),
  gRPC: grpc,
};

async function signIn(transport: Transport, { type, entity, payload }: Credentials) {
  const auth = createClient(AuthService, transport);
  const { accessToken } = await auth.authenticate({ entity, credentials: { type, payload } });
  return { headers: { authorization: `Bearer ${accessToken}` } };
}

async function inFront(
  name: 'nginx' | 'caddy',
  work: (front: Front, cloud: CloudReady) => Promise<void>,
): Promise<void> {
  await using folder = await tempFolder();
  await writeFile(folder.file('cert.pem'), `${site.cert}${authority.cert}`);
  await writeFile(folder.file('key.pem'), site.key);
  await writeFile(folder.file('authority.pem'), authority.cert);
  await using cloud = await startCloud('--trusted-proxy', '127.0.0.1');
  const proxy: Proxy = await startProxy(name, folder, cloud.ready.port);
  try {
    const base = `https://${host}:${proxy.port}`;
    const curl: Curl = async (...args) => {
      const known = ['--cacert', folder.file('authority.pem'), '--resolve', `${host}:${proxy.port}:127.0.0.1`];
      return (await promisify(execFile)('curl', ['-sS', ...known, ...args])).stdout;
    };
    for (let isUp = ''; isUp !== 'ok\n'; isUp = await curl(`${base}/livez`).catch(() => ''))
      await systemClock.sleep(50);
    await work({ base, folder, curl }, cloud.ready);
  } catch (error) {
    throw new Error(await proxy.log(), { cause: error });
  } finally {
    await proxy.group.stop({ termMs: 5_000 });
  }
}

const ownerOf = ({ api_key_id: entity, api_key: payload }: CloudReady): Credentials => ({
  type: 'api-key',
  entity,
  payload,
});

async function scriptsAndFiles({ base, folder, curl }: Front, cloud: CloudReady): Promise<void> {
  const forged = ['x-forwarded-host: evil.example', 'x-forwarded-proto: http', 'x-forwarded-for: 203.0.113.9'];
  const claims = forged.flatMap((header) => ['-H', header]);
  for (const more of [[], claims])
    assert.match(await curl(...more, `${base}/install.sh`), new RegExp(`^server_url='${base}'$`, 'm'));

  const { pathname, search } = new URL(cloud.sign_in_url);
  const answer = await curl('-i', ...claims, `${base}${pathname}${search}`);
  assert.match(answer, /303/);
  assert.match(answer, /set-cookie: .*; Secure/i);
  const cookie = /set-cookie: ([^;]+)/i.exec(answer)?.[1] ?? '';
  const json = ['-H', 'content-type: application/json', '-H', 'connect-protocol-version: 1', '-d', '{}'];
  const call = (origin: string): Promise<string> =>
    curl(
      '-H',
      `cookie: ${cookie}`,
      '-H',
      `origin: ${origin}`,
      ...json,
      `${base}/${AppService.typeName}/ListOrganizations`,
    );
  assert.match(await call(base), /"organizations":\[/);
  assert.match(await call('https://evil.example'), /unauthenticated/);

  const { headers } = await signIn(grpc(base), ownerOf(cloud));
  const bytes = randomBytes(3_000_000);
  await writeFile(folder.file('blob'), bytes);
  const blob = `${base}/blobs/${createHash('sha256').update(bytes).digest('hex')}`;
  const bearer = ['-H', `authorization: ${headers.authorization}`];
  const upload = ['-o', '/dev/null', '-w', '%{http_code}', ...bearer, '-T', folder.file('blob'), blob];
  assert.match(await curl(...upload), /^20[01]$/);
}

/** A machine polls and sends through the proxy, while its owner changes its configuration and reads its lines. */
async function pollsAndStreams(front: Front, cloud: CloudReady): Promise<void> {
  for (const [name, open] of Object.entries(protocols)) {
    const transport = open(front.base);
    const owner = await signIn(transport, ownerOf(cloud));
    const fleet = createClient(FleetService, transport);
    const { machine, credentialsJson } = await fleet.createMachine({ organizationId: cloud.org_id, name }, owner);
    const partId = machine?.partId ?? '';
    const { cloud: part } = JSON.parse(credentialsJson) as { cloud: { app_address: string; secret: string } };
    assert.equal(part.app_address, front.base);
    const own = await signIn(transport, { type: 'robot-secret', entity: partId, payload: part.secret });

    const agent = createClient(AgentDeviceService, transport);
    const hostInfo = { platform: 'linux/amd64', tags: ['platform-agent'] };
    const first = await agent.deviceAgentConfig({ id: partId, hostInfo }, own);
    const ended: string[] = [];
    const poll = async (what: string, waitMs: number) => {
      const wait = durationFromMs(waitMs);
      const ask = { id: partId, hostInfo, knownFingerprint: first.fingerprint, wait };
      const got = await agent.deviceAgentConfig(ask, own);
      ended.push(what);
      return got;
    };
    const held = await Promise.all([poll('long', 2_000), poll('short', 500)]);
    assert.deepEqual(
      [held.map(({ notModified }) => notModified), ended],
      [
        [true, true],
        ['short', 'long'],
      ],
      name,
    );

    const early = poll('early', longestHoldMs);
    const robot = createClient(RobotService, transport);
    const line = (message: string) => robot.log({ id: partId, logs: [{ message, bootId: 'boot' }] }, own);
    const stop = new AbortController();
    const app = createClient(AppService, transport);
    const stream = app.tailRobotPartLogs({ id: partId, errorsOnly: false }, { ...owner, signal: stop.signal });
    const tail = stream[Symbol.asyncIterator]();
    const next = async (): Promise<string[]> =>
      ((await tail.next()).value as TailRobotPartLogsResponse).logs.map(({ message }) => message);
    assert.deepEqual(await next(), [], `${name}: the stream is open before there is a line`);
    for (const message of ['one', 'two']) {
      await line(message);
      assert.deepEqual(await next(), [message], `${name}: a line comes while the stream goes on`);
    }
    stop.abort();

    const configJson = JSON.stringify({ agent: { version_control: { 'platform-server': 'stable' } } });
    const { revision } = await fleet.saveConfig({ partId, configJson }, owner);
    assert.equal((await early).revision, revision, `${name}: a held check is answered by the change`);
  }
}

async function pages({ base }: Front, cloud: CloudReady): Promise<void> {
  const transport = grpc(base);
  const owner = await signIn(transport, ownerOf(cloud));
  const fleet = createClient(FleetService, transport);
  const { machine, credentialsJson } = await fleet.createMachine({ organizationId: cloud.org_id, name: 'barn' }, owner);
  const { id = '', partId = '' } = machine ?? {};
  const { cloud: part } = JSON.parse(credentialsJson) as { cloud: { secret: string } };
  const own = await signIn(transport, { type: 'robot-secret', entity: partId, payload: part.secret });
  const robot = createClient(RobotService, transport);
  const line = (message: string) => robot.log({ id: partId, logs: [{ message, bootId: 'boot' }] }, own);
  await line('first line');
  const { url } = await createClient(SessionService, transport).createSignInLink({}, owner);
  assert.ok(url.startsWith(`${base}/sign-in?token=`));

  // The browser resolves the name itself, and this system's trust store lacks the authority.
  const browser = await launchBrowser(`--host-resolver-rules=MAP ${host} 127.0.0.1`);
  try {
    const context = await browser.newContext({ ignoreHTTPSErrors: true });
    const complaints = watchComplaints(context);
    const page = await context.newPage();
    await page.goto(url);
    await page.getByRole('heading', { name: 'Machines', exact: true }).waitFor();
    await page.getByRole('link', { name: 'barn' }).waitFor();
    const [cookie] = await context.cookies(base);
    assert.deepEqual([cookie?.secure, cookie?.httpOnly, cookie?.sameSite], [true, true, 'Lax']);
    await page.goto(`${base}/machines/${id}/logs`);
    await page.getByText('first line').waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    await line('second line');
    await page.getByText('second line').waitFor();
    assert.deepEqual(complaints, []);
  } finally {
    await browser.close();
  }
}

for (const name of ['nginx', 'caddy'] as const)
  test(`${name} in front: install line, sign-in, uploads, held checks, streams and pages, by the public name; what a client claims does not count`, () =>
    inFront(name, async (front, cloud) => {
      await scriptsAndFiles(front, cloud);
      await pollsAndStreams(front, cloud);
      await pages(front, cloud);
    }));

test('the documented time-outs of nginx are longer than a check is held', async () => {
  const seconds = [...(await documentedConfig('nginx.conf')).matchAll(/_read_timeout (\d+)s;/g)].map(([, n]) =>
    Number(n),
  );
  assert.equal(seconds.length, 2);
  assert.ok(seconds.every((one) => one * 1_000 > longestHoldMs));
});
