import assert from 'node:assert/strict';
import http from 'node:http';
import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { test } from 'node:test';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { sql } from 'kysely';
import { logLimits } from '@platform/contract/logs/limits';
import { AppService } from '@platform/contract/gen/platform/app/v1/app_pb';
import { RobotService } from '@platform/contract/gen/platform/app/v1/robot_pb';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { SessionService } from '@platform/contract/gen/platform/session/v1/session_pb';
import { tempFolder } from '@platform/kit/testing';
import { roleNames, validMs } from '@platform/releases/documents';
import type { KeyRing } from '@platform/releases/key-folder';
import { makeKey, readKey } from '@platform/releases/keys';
import { firstRoot, nextTargets } from '@platform/releases/publication';
import { openOnlineKey } from '../src/releases/online-key.ts';
import { takeOver } from '../src/releases/tuf-repository.ts';
import { services } from './every-call.ts';
import { type Credentials, testServer } from './server.ts';

/** Value of a sample by its name and labels. */
const valueOf = (text: string, sample: string): number => {
  const line = text.split('\n').find((one) => one.startsWith(`${sample} `));
  assert.ok(line, `${sample} is missing`);
  return Number(line.slice(sample.length + 1).split(' ')[0]);
};

const withHost = (url: string, host: string, method = 'GET'): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    const request = http.request(url, { method, headers: { host } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    request.once('error', reject);
    request.end();
  });

test('metrics: machines, calls with their status, pool, disk; on a port of their own', async () => {
  await using on = await testServer(['--metrics-port', '0']);
  const url = on.server.metricsUrl;
  assert.ok(url);
  const before = await (await fetch(url)).text();
  assert.equal(valueOf(before, 'platform_machines{state="awaiting_setup"}'), 0);
  await on.machine('press');
  await (await on.client(SessionService)).whoAmI({});
  await assert.rejects(async () => (await on.client(FleetService)).createMachine({ organizationId: 'no', name: 'x' }));

  const answer = await fetch(url);
  assert.match(answer.headers.get('content-type') ?? '', /^application\/openmetrics-text; version=1\.0\.0/);
  const text = await answer.text();
  assert.equal(valueOf(text, 'platform_machines{state="awaiting_setup"}'), 1);
  assert.equal(valueOf(text, 'platform_machines{state="online"}'), 0);
  const calls = (method: string, status: string): number =>
    valueOf(text, `platform_request_duration_seconds_count{method="${method}",status="${status}"}`);
  assert.equal(calls('/platform.session.v1.SessionService/WhoAmI', '200'), 1);
  assert.equal(calls('/platform.fleet.v1.FleetService/CreateMachine', '200'), 1);
  assert.ok(valueOf(text, 'platform_data_disk_bytes{kind="free"}') > 0);
  assert.ok(valueOf(text, 'platform_database_connections{state="idle"}') >= 0);
  assert.equal(valueOf(text, 'platform_oldest_pending_job_seconds'), 0);
  assert.equal(valueOf(text, 'platform_jobs{status="completed"}'), 0, 'before the first job');
  assert.ok(text.endsWith('# EOF\n'));
});

test('a path that no call has makes no series, however many there are', async () => {
  await using on = await testServer(['--metrics-port', '0']);
  for (let at = 0; at < 20; at++) await fetch(`${on.server.localUrl}/platform.fleet.v1.FleetService/No${at}`);
  const text = await (await fetch(on.server.metricsUrl ?? '')).text();
  assert.ok(!text.includes('No1'));
  assert.match(text, /platform_request_duration_seconds_count\{method="other",status="\d+"\} 20/);
});

test('the main port shows metrics to keys of their own role and to owners of the installation, and to no others', async () => {
  await using on = await testServer();
  const app = await on.client(AppService);
  const metrics = { authorizationId: 'installation_metrics', resourceType: 'installation', organizationId: on.orgId };
  const key = await app.createKey({ name: 'prometheus', authorizations: [metrics] });
  const basic = (id: string, secret: string) => ({
    authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
  });
  const read = (headers: Record<string, string> = {}) => fetch(`${on.server.localUrl}/metrics`, { headers });
  const shown = await read(basic(key.id, key.key));
  assert.equal(shown.status, 200);
  assert.equal(shown.headers.get('www-authenticate'), null);
  assert.match(await shown.text(), /^platform_machines\{state="online"\} 0$/m);
  assert.equal((await read({ key_id: on.owner.entity, key: on.owner.payload })).status, 200);
  assert.equal((await read({ authorization: `Bearer ${await on.token(on.owner)}` })).status, 200);
  assert.equal((await read(basic(on.runner.entity, on.runner.payload))).status, 403);
  for (const refused of [{}, basic(key.id, 'wrong'), basic('', ''), { authorization: 'Basic !' }]) {
    const answer = await read(refused);
    assert.equal(answer.status, 401);
    assert.ok(!(await answer.text()).includes('platform_machines'));
  }
  assert.equal((await read()).headers.get('www-authenticate'), 'Basic realm="metrics"');
  await app.rotateKey({ id: key.id });
  assert.equal((await read(basic(key.id, key.key))).status, 401, 'of before its rotation');
});

test('a key for metrics may call nothing, and only owners of the installation make one', async () => {
  await using on = await testServer();
  const metrics = { authorizationId: 'installation_metrics', resourceType: 'installation', organizationId: on.orgId };
  const create = async (as: Credentials) =>
    (await on.client(AppService, as)).createKey({ name: 'scraper', authorizations: [metrics] });
  const made = await create(on.owner);
  const scraper: Credentials = { type: 'api-key', entity: made.id, payload: made.key };
  const { id, key } = await (
    await on.client(AppService)
  ).createKey({
    name: 'owner of the organization',
    authorizations: [{ authorizationId: 'organization_owner', resourceType: 'organization', resourceId: on.orgId }],
  });
  const ofOrganization: Credentials = { type: 'api-key', entity: id, payload: key };
  await assert.rejects(create(ofOrganization), /PERMISSION_DENIED/);
  await assert.rejects(create(scraper), /PERMISSION_DENIED/);
  const inItsPlace = (await on.client(AppService, ofOrganization)).rotateKey({ id: made.id });
  await assert.rejects(inItsPlace, /PERMISSION_DENIED/);
  await assert.rejects(
    (await on.client(AppService)).createKey({
      name: 'all',
      authorizations: [
        { authorizationId: 'installation_owner', resourceType: 'installation', organizationId: on.orgId },
      ],
    }),
    /INVALID_ARGUMENT/,
  );
  const authorization = `Bearer ${await on.token(scraper)}`;
  for (const { typeName, methods } of services)
    for (const { name, methodKind } of methods) {
      const type = methodKind === 'unary' ? 'application/json' : 'application/connect+json';
      const answer = await fetch(`${on.server.localUrl}/${typeName}/${name}`, {
        method: 'POST',
        headers: { authorization, 'content-type': type },
        body: '{}',
      });
      assert.match(await answer.text(), /"code":"permission_denied"/, name);
    }
});

test('log lines that are too many at once, ended jobs and stored files are measured', async () => {
  await using on = await testServer(['--metrics-port', '0']);
  const { part, partId } = await on.machine('press');
  const robot = await on.client(RobotService, part);
  const line = { message: 'm', time: timestampFromMs(Date.now()), level: 'info' };
  await robot.log({ id: partId, logs: [line, line] });
  const many = Array.from({ length: logLimits.linesPerCall + 1 }, () => ({ message: '' }));
  await assert.rejects(robot.log({ id: partId, logs: many }), /INVALID_ARGUMENT/);
  await sql`insert into blob (org_id, sha256, size_bytes) values (${on.orgId}, ${'ab'.repeat(32)}, 40)`.execute(on.db);
  const read = async (): Promise<string> => (await fetch(on.server.metricsUrl ?? '')).text();
  const text = await read();
  assert.equal(valueOf(text, 'platform_log_lines_total{result="stored"}'), 2);
  assert.equal(valueOf(text, 'platform_log_lines_total{result="refused"}'), many.length);
  assert.equal(valueOf(text, 'platform_blob_bytes'), 40);
  assert.equal(valueOf(text, 'platform_blobs'), 1);
  assert.equal(valueOf(text, 'platform_long_polls_held'), 0);
  assert.equal(valueOf(text, 'platform_job_duration_seconds_count{status="failed"}'), 0);
});

test('what fills up or expires is measured: inodes, disk of the backups, signed documents, notices', async () => {
  await using backups = await tempFolder();
  await using on = await testServer(['--metrics-port', '0', '--backup-dir', backups.file('b'), '--backup-by-host']);
  const read = async (): Promise<string> => (await fetch(on.server.metricsUrl ?? '')).text();
  await mkdir(backups.file('b'));
  const text = await read();
  const [free, size] = ['free', 'size'].map((kind) => valueOf(text, `platform_data_disk_inodes{kind="${kind}"}`));
  assert.ok((free ?? 0) > 0 && (free ?? 0) <= (size ?? 0));
  assert.ok(valueOf(text, 'platform_backup_disk_bytes{kind="size"}') > 0);
  assert.equal(valueOf(text, 'platform_notices{kind="problem"}'), 0);
  assert.doesNotMatch(text, /^platform_backup_last_success_timestamp_seconds /m, 'there is no backup');
  assert.doesNotMatch(text, /^platform_release_document_end_timestamp_seconds/m, 'no release was published');
  const key = await openOnlineKey(on.server.dataFolder);
  const [root, targets, installer] = (['ed25519', 'ed25519', 'p256'] as const).map((kind) =>
    readKey(makeKey(kind), kind),
  );
  assert.ok(root && targets && installer);
  const ring: KeyRing = { root: [root], targets: [targets], installer: [installer], folders: [] };
  const first = firstRoot(ring, 1, key.publicKey, Date.now());
  const signed = nextTargets({ root: first, targets: Buffer.alloc(0) }, ring, Date.now());
  await on.db.transaction().execute((trx) => takeOver(trx, { root: first, ...signed }, key, Date.now()));
  const now = Date.now() / 1_000;
  const ends = (role: string, of: string): number =>
    valueOf(of, `platform_release_document_end_timestamp_seconds{role="${role}"}`) - now;
  const after = await read();
  for (const role of roleNames) assert.ok(Math.abs(ends(role, after) - validMs[role] / 1_000) < 3_600, role);
});

test('no web page reads the metrics of loopback by another name', async () => {
  await using on = await testServer(['--metrics-port', '0']);
  const url = on.server.metricsUrl ?? '';
  assert.equal(await withHost(url, 'evil.example'), 403);
  assert.equal(await withHost(url, 'localhost:9464'), 200);
  assert.equal(await withHost(url, '127.0.0.1', 'POST'), 405);
  assert.equal(await withHost(url.replace('/metrics', '/livez'), '127.0.0.1'), 404);
});

test('without the option there are none; a taken port is named and leaves nothing open', async () => {
  await using on = await testServer();
  assert.equal(on.server.metricsUrl, undefined);
  await assert.rejects(testServer(['--metrics-port', String(on.server.port)]), { code: 'PORT_IN_USE' });
});

test('each metric of the alerts, of the dashboard and of the documentation is there', async () => {
  await using on = await testServer(['--metrics-port', '0']);
  const text = await (await fetch(on.server.metricsUrl ?? '')).text();
  const known = new Set(text.matchAll(/^# TYPE (\S+)/gm).map(([, name]) => name));
  const root = new URL('../../../', import.meta.url);
  const named = [
    'deploy/prometheus/platform.rules.yml',
    'deploy/grafana/platform.json',
    'docs/operations/watch.md',
  ].flatMap((file) =>
    readFileSync(new URL(file, root), 'utf8')
      .matchAll(/\b(?:platform|nodejs|process)_[a-z0-9]\w+/g)
      .map(([name]) => name.replace(/_(?:total|bucket|sum|count)$/, ''))
      .toArray(),
  );
  assert.ok(named.length > 15);
  assert.deepEqual(
    [...new Set(named)].filter((name) => !known.has(name)),
    [],
  );
});
