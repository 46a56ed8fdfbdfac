// nginx and Caddy in front of the server: curl, machines, clients and browsers use it under the public name.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { createClient } from '@connectrpc/connect';
import { AgentDeviceService } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { AppService, type TailRobotPartLogsResponse } from '@platform/contract/gen/platform/app/v1/app_pb';
import { RobotService } from '@platform/contract/gen/platform/app/v1/robot_pb';
import { SessionService } from '@platform/contract/gen/platform/session/v1/session_pb';
import { longestHoldMs } from '@platform/kit';
import { type ProcessGroup, spawnGroup, systemClock } from '@platform/kit/node';
import { isConfigInEffect } from '../src/config-in-effect.ts';
import { followSignInLink, launchBrowser } from '../src/browser.ts';
import type { CloudReady } from '../src/cloud-process.ts';
import { watchComplaints } from '../src/page-checks.ts';
import { documentedConfig, proxyHost as host } from '../src/proxies.ts';
import { type Front, grpc, inFront, newMachine, ownerOf, protocols, signIn } from '../src/proxy-front.ts';
import { checkout } from '../src/up-process.ts';

async function scriptsAndFiles({ base, folder, curl }: Front, cloud: CloudReady): Promise<void> {
  const forged = ['x-forwarded-host: evil.example', 'x-forwarded-proto: http', 'x-forwarded-for: 203.0.113.9'];
  const claims = forged.flatMap((header) => ['-H', header]);
  for (const more of [[], claims])
    assert.match(await curl(...more, `${base}/install.sh`), new RegExp(`^server_url='${base}'$`, 'm'));

  const { pathname, search } = new URL(cloud.sign_in_url);
  const answer = await curl('-i', ...claims, '-d', search.slice(1), `${base}${pathname}`);
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
    const { partId, owner, own, fleet, appAddress } = await newMachine(transport, cloud, name);
    assert.equal(appAddress, front.base);
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
  const { id, partId, owner, own } = await newMachine(transport, cloud, 'barn');
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
    await followSignInLink(page, url);
    await page.goto(`${base}/machines`);
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

/** A supervised agent on this host that finds the public name at the proxy and trusts its credentials file alone. */
async function startAgent({ folder }: Front, credentialsJson: string): Promise<ProcessGroup> {
  await writeFile(folder.file('barn.json'), credentialsJson, { mode: 0o600 });
  await writeFile(folder.file('hosts'), `127.0.0.1 localhost ${host}\n`);
  const { stdout } = await promisify(execFile)(process.execPath, [path.join(checkout, 'tools', 'build.ts')]);
  const { agent } = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as { agent: { file: string } };
  const program = `mount --bind "$0" /etc/hosts && exec "$@"`;
  const options = ['--config', folder.file('barn.json'), '--root', folder.file('root')];
  return spawnGroup({
    command: 'unshare',
    args: ['--mount', 'sh', '-c', program, folder.file('hosts'), process.execPath, agent.file, ...options],
    env: { PATH: '/usr/bin:/bin', HOME: folder.path },
    logFile: folder.file('agent.log'),
  });
}

/** A machine takes changes after the proxy has read a renewed certificate, and after a restart of the proxy. */
async function renewalAndRestart(front: Front, cloud: CloudReady): Promise<void> {
  const transport = protocols['Connect over HTTP/1.1']!(front.base);
  const { id, partId, owner, fleet, credentialsJson } = await newMachine(transport, cloud, 'barn');
  const shown = async () =>
    (await front.curl('-w', '%{certs}', '-o', '/dev/null', `${front.base}/livez`)).slice(0, 2_000);
  const configure = async (minutes: number) => {
    const configJson = JSON.stringify({ agent: { advanced_settings: { wait_for_update_check: minutes > 0 } } });
    return (await fleet.saveConfig({ partId, configJson }, owner)).revision;
  };
  const applied = async (revision: bigint) => {
    for (let isApplied = false; !isApplied; await systemClock.sleep(50)) {
      const { machine } = await fleet.getMachine({ id }, owner);
      isApplied = machine?.wantedRevision === revision && isConfigInEffect(machine);
    }
  };
  const agent = await startAgent(front, credentialsJson);
  try {
    await applied(await configure(1));
    const app = createClient(AppService, transport);
    const stop = new AbortController();
    const stream = app.tailRobotPartLogs({ id: partId, errorsOnly: false }, { ...owner, signal: stop.signal });
    await stream[Symbol.asyncIterator]().next();
    const before = await shown();
    await front.renewCertificate();
    await front.proxy.reload(); // does not wait for the stream
    stop.abort();
    while ((await shown()) === before) await systemClock.sleep(50);
    await applied(await configure(0));
    await front.proxy.restart();
    while ((await front.curl(`${front.base}/livez`).catch(() => '')) !== 'ok\n') await systemClock.sleep(50);
    await applied(await configure(1));
  } catch (error) {
    throw new Error(await readFile(front.folder.file('agent.log'), 'utf8'), { cause: error });
  } finally {
    await agent.stop({ termMs: 60_000 });
  }
}

for (const name of ['nginx', 'caddy'] as const) {
  test(`${name} in front: install line, sign-in, uploads, held checks, streams and pages, by the public name; what a client claims does not count`, () =>
    inFront(name, async (front, cloud) => {
      await scriptsAndFiles(front, cloud);
      await pollsAndStreams(front, cloud);
      await pages(front, cloud);
    }));

  test(`${name} in front: a renewed certificate and a restart of the proxy, while a machine waits for changes`, () =>
    inFront(name, renewalAndRestart));
}

test('the documented time-outs of nginx are longer than a check is held', async () => {
  const seconds = [
    ...(await documentedConfig('/etc/nginx/conf.d/platform.conf')).matchAll(/_read_timeout (\d+)s;/g),
  ].map(([, n]) => Number(n));
  assert.equal(seconds.length, 2);
  assert.ok(seconds.every((one) => one * 1_000 > longestHoldMs));
});
