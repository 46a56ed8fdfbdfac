// At level debug, the log holds what remote diagnosis needs: each pass and request, without secrets, rate-limited.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { createLog, type LogLine } from '@platform/kit';
import { systemClock } from '@platform/kit/node';
import { FakeClock } from '@platform/kit/testing';
import { httpProbe } from '../src/os/probe.ts';
import { createWeb } from '../src/os/web.ts';
import { RequestTrace } from '../src/os/request-trace.ts';
import { DebugBudget } from '../src/logs/debug-budget.ts';
import { guardedFetch } from '../src/link/transport.ts';
import { crashing, good, minute, World } from './world.ts';

const passesOf = (w: World) =>
  w.cloud.lines
    .get()
    .flatMap(({ level, message, fields }) => (level === 'debug' && message === 'pass' ? [fields] : []));

test('each loop says what it observed, what it did and how long it took; at info nothing of it', async () => {
  const w = new World();
  const trace = new RequestTrace();
  w.publish('1.0.0', good('1.0.0'));
  const agent = w.start({}, { trace });
  await w.clock.advance(2 * minute);
  assert.deepEqual(
    w.cloud.lines.get().filter(({ level }) => level === 'debug'),
    [],
  );
  w.cloud.agentConfig.set({ advanced_settings: { debug: true } });
  await w.clock.advance(10 * minute);
  const passes = passesOf(w);
  assert.deepEqual([...new Set(passes.map(({ by }) => by))].filter((by) => by !== undefined).toSorted(), [
    'agent-version',
    'applied',
    'poll',
    'report',
    'server-status',
    'server-version',
    'watchdog',
  ]);
  const version = passes.find(({ by }) => by === 'server-version');
  assert.deepEqual([typeof version?.['ms'], version?.['did'], typeof version?.['idleMs']], ['number', [], 'number']);
  assert.match(JSON.stringify(version?.['observed']), /"linked":"1\.0\.0-[0-9a-f]{12}","running":"1\.0\.0-/);
  assert.equal(JSON.stringify(w.cloud.lines.get()).includes(w.cloud.secret), false);

  // Requests are logged with their route. The request that sends log lines must not create new ones to send.
  const request = { method: 'POST', status: 200, sentBytes: 10, receivedBytes: 20, ms: 3.2 };
  trace.report({ ...request, url: 'https://cloud/x.Agent/DeviceAgentConfig?token=geheim' });
  trace.report({ ...request, url: 'https://cloud/x.Robot/Log' });
  await w.clock.advance(minute);
  const routes = w.cloud.lines.get().flatMap(({ message, fields }) => (message === 'request' ? [fields] : []));
  const { method: _, ...rest } = { ...request, time_is: 'estimated' };
  assert.deepEqual(routes, [{ route: 'POST /x.Agent/DeviceAgentConfig', host: 'cloud', ...rest, ms: 3 }]);
  assert.match(w.takeLog('agent.local'), /request/);
  agent.kill();
});

test('a server that crashes again and again floods nothing', async () => {
  const w = new World();
  w.publish('1.0.0', crashing(1));
  w.cloud.agentConfig.set({ advanced_settings: { debug: true } });
  const agent = w.start();
  await w.clock.advance(5 * minute);
  const debug = w.cloud.lines.get().filter(({ level }) => level === 'debug');
  assert.ok(debug.length > 50 && debug.length < 5 * 600, String(debug.length));
  agent.kill();
});

test('debug lines are bounded in each minute, by text and in all; what was left out is counted', () => {
  const budget = new DebugBudget();
  const line = (message: string, by = 'x', level: LogLine['level'] = 'debug'): LogLine => ({
    time: 0,
    level,
    logger: 'agent',
    message,
    fields: { by },
  });
  const count = (lines: LogLine[][]) => lines.flat().length;
  assert.equal(count(Array.from({ length: 1_000 }, () => budget.take(line('pass'), 0))), 60);
  assert.equal(count(Array.from({ length: 100 }, () => budget.take(line('pass', 'y'), 1_000))), 60);
  assert.equal(count(Array.from({ length: 9_000 }, (_, i) => budget.take(line(`text ${i}`), 2_000))), 480);
  assert.equal(budget.take(line('bad', 'x', 'error'), 3_000).length, 1, 'other lines pass');
  const [summary, first] = budget.take(line('pass'), 60_000);
  assert.deepEqual(
    [summary?.message, summary?.fields, first?.message],
    ['debug lines were left out', { lines: 9_500 }, 'pass'],
  );
  assert.equal(budget.take(line('pass'), 120_000).length, 1);
});

test('requests over HTTP: route, status, bytes and time, answered or not', async () => {
  const server = createServer((request, answer) => {
    answer.writeHead(request.url === '/missing' ? 404 : 200, { 'content-type': 'application/json' });
    answer.end(request.url?.startsWith('/restart_status') ? '{"restart_allowed":true}' : '{"code":"not_found"}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const lines: LogLine[] = [];
  const trace = new RequestTrace();
  trace.listen(() =>
    createLog({ name: 'x', clock: new FakeClock(), level: 'debug', sink: (line) => lines.push(line) }),
  );
  const clock = systemClock;
  const none = new AbortController().signal;
  await httpProbe(clock, trace).restartStatus(url, none);
  for await (const _ of (await createWeb(fetch, { trace, clock }).ask('GET', `${url}/file?sig=geheim`, {}, none)).body);
  await guardedFetch({ clock, trace })(`${url}/missing`, { method: 'POST', body: new Uint8Array(7) });
  server.close();
  server.closeAllConnections();
  await once(server, 'close');
  await httpProbe(clock, trace).restartStatus(url, none);
  await assert.rejects(guardedFetch({ clock, trace })(`${url}/gone`, { method: 'POST', body: new Uint8Array(7) }));
  assert.deepEqual(
    lines.map(({ fields: f }) => [f['route'], f['status'], f['sentBytes'], f['receivedBytes'], typeof f['ms']]),
    [
      ['GET /restart_status', 200, 0, 24, 'number'],
      ['GET /file', 200, 0, 20, 'number'],
      ['POST /missing', 404, 7, 20, 'number'],
      ['GET /restart_status', 'no answer', 0, 0, 'number'],
      ['POST /gone', 'no answer', 7, 0, 'number'],
    ],
  );
  assert.equal(JSON.stringify(lines).includes('geheim'), false);
});
