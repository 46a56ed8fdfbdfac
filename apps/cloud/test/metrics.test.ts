import assert from 'node:assert/strict';
import http from 'node:http';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { SessionService } from '@platform/contract/gen/platform/session/v1/session_pb';
import { testServer } from './server.ts';

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
  assert.ok(text.endsWith('# EOF\n'));
});

test('a path that no call has makes no series, however many there are', async () => {
  await using on = await testServer(['--metrics-port', '0']);
  for (let at = 0; at < 20; at++) await fetch(`${on.server.localUrl}/platform.fleet.v1.FleetService/No${at}`);
  const text = await (await fetch(on.server.metricsUrl ?? '')).text();
  assert.ok(!text.includes('No1'));
  assert.match(text, /platform_request_duration_seconds_count\{method="other",status="\d+"\} 20/);
});

test('metrics are not on the main port, and no web page reads them by another name', async () => {
  await using on = await testServer(['--metrics-port', '0']);
  const url = on.server.metricsUrl ?? '';
  const main = await (await fetch(`${on.server.localUrl}/metrics`)).text();
  assert.ok(!main.includes('platform_machines'));
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

test('each metric of the alerts and of the documentation is there', async () => {
  await using on = await testServer(['--metrics-port', '0']);
  const text = await (await fetch(on.server.metricsUrl ?? '')).text();
  const known = new Set(text.matchAll(/^# TYPE (\S+)/gm).map(([, name]) => name));
  const root = new URL('../../../', import.meta.url);
  const named = ['deploy/prometheus/platform.rules.yml', 'docs/operations/watch.md'].flatMap((file) =>
    readFileSync(new URL(file, root), 'utf8')
      .matchAll(/\b(?:platform|nodejs)_[a-z0-9]\w+/g)
      .map(([name]) => name.replace(/_total$/, ''))
      .toArray(),
  );
  assert.ok(named.length > 15);
  assert.deepEqual(
    [...new Set(named)].filter((name) => !known.has(name)),
    [],
  );
});
