// Synchronization of agent and cloud: tokens, long polls, lines that are stored once.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createConnectTransport } from '@connectrpc/connect-web';
import { Cell } from '@platform/kit';
import { systemClock } from '@platform/kit/node';
import { decodeChecked, encodeChecked } from '../src/storage/checked-file.ts';
import { connectCloud, isRefused } from '../src/link/cloud.ts';
import type { ConditionSet } from '../src/health/condition-set.ts';
import { listen, TestCloud } from './test-cloud.ts';
import { good, minute, World, type RunningAgent } from './world.ts';

async function end(w: World, agent: RunningAgent): Promise<void> {
  agent.stop();
  await w.clock.advance(5_000);
  await agent.done;
  assert.equal(w.clock.pending, 0, 'no timer is left behind');
}
const stderrOf = (w: World): string[] =>
  w.cloud.lines
    .get()
    .filter((l) => l.logger === 'platform-server.StdErr')
    .map((l) => l.message);

test('while nothing changes, one poll is held after the other', async () => {
  const w = new World();
  const agent = w.start();
  await w.clock.advance(10 * minute);
  const polls = w.cloud.calls.get('poll') ?? 0;
  assert.ok(polls >= 11 && polls <= 13, `${polls} polls in ten minutes of 55 s each`);
  const reports = w.cloud.calls.get('report') ?? 0;
  assert.ok(reports <= 12, `${reports} reports`);
  const before = new Map(w.cloud.calls);
  await w.clock.advance(2 * 60 * minute);
  const calls = [...w.cloud.calls].map(([name, count]) => [name, count - (before.get(name) ?? 0)] as const);
  const { poll = 0, ...others } = Object.fromEntries(calls.filter(([, count]) => count > 0));
  assert.ok(poll >= 128 && poll <= 132, `${poll} polls in two hours`);
  assert.deepEqual(others, { report: 2 }, 'there are no other calls');
  await end(w, agent);
});

test('news arrives at once, not at the next poll', async () => {
  const w = new World();
  const agent = w.start();
  await w.clock.advance(3_000);
  w.takeLog();
  w.cloud.agentConfig.set({ advanced_settings: { debug: true } });
  await w.clock.advance(10);
  assert.match(w.takeLog('agent.config'), /configuration received/);
  await end(w, agent);
});

for (const [name, reportsRestarts, most] of [
  ['checks report it, so the agent does not poll for it', true, 0],
  ['the server requests rare polls', false, 2],
] as const) {
  test(`a requested restart comes at once, and once: ${name}`, async () => {
    const w = new World();
    Object.assign(w.cloud, { reportsRestarts, restartCheckMs: 60 * minute });
    w.publish('1.0.0', good('1.0.0'));
    const agent = w.start();
    await w.clock.advance(10 * minute);
    const polls = () => w.cloud.calls.get('needsRestart') ?? 0;
    assert.ok(polls() <= most, `${polls()} times`);
    w.takeLog();
    w.cloud.askForRestart();
    await w.clock.advance(5_000);
    const restarted = /a restart of the machine server was requested[^]*was started/;
    assert.match(w.takeLog('agent.restart', 'agent.server'), restarted);
    await w.clock.advance(10 * minute);
    assert.doesNotMatch(w.takeLog('agent.restart', 'agent.server'), /was requested/);
    assert.ok(polls() <= most + 2, `${polls()} times`);
    await end(w, agent);
  });
}

test('a restart requested while the machine was offline comes when it is back, even if the first polls fail', async () => {
  const w = new World();
  w.publish('1.0.0', good('1.0.0'));
  const agent = w.start();
  await w.clock.advance(minute);
  w.cloud.isUp = false;
  await w.clock.advance(2 * minute);
  w.cloud.askForRestart();
  w.cloud.failingRestarts = 2;
  w.cloud.isUp = true;
  w.takeLog();
  await w.clock.advance(2 * minute);
  assert.match(
    w.takeLog('agent.restart', 'agent.server'),
    /a restart of the machine server was requested[^]*was started/,
  );
  const { needsRestart = 0, poll = 0 } = Object.fromEntries(w.cloud.calls);
  assert.ok(needsRestart <= 4 && poll < 40, `${needsRestart} restart polls, ${poll} checks`);
  await end(w, agent);
});

test('a restart requested before the last start of the machine server is satisfied by that start', async () => {
  const w = new World();
  w.publish('1.0.0', good('1.0.0'));
  const agent = w.start();
  await w.clock.advance(minute);
  w.cloud.isUp = false;
  w.cloud.askForRestart();
  await end(w, agent);
  await w.clock.advance(10 * minute);
  const second = w.start();
  await w.clock.advance(minute);
  await end(w, second);
  const third = w.start();
  await w.clock.advance(minute);
  w.takeLog();
  w.cloud.isUp = true;
  await w.clock.advance(5 * minute);
  const log = w.takeLog('agent.restart', 'agent.server');
  assert.match(log, /which satisfies it/);
  assert.doesNotMatch(log, /has ended|was started/);
  await end(w, third);
});

test('a server of an earlier version is polled at its interval, and after its update not at all', async () => {
  const w = new World();
  const agent = w.start();
  const countPolls = async () => {
    const before = w.cloud.calls.get('needsRestart') ?? 0;
    await w.clock.advance(10 * minute);
    return (w.cloud.calls.get('needsRestart') ?? 0) - before;
  };
  assert.equal(await countPolls(), 0);
  Object.assign(w.cloud, { reportsRestarts: false, restartCheckMs: 60_000 });
  const often = await countPolls();
  assert.ok(often >= 8 && often <= 12, `${often} times`);
  w.cloud.reportsRestarts = true;
  await countPolls();
  assert.equal(await countPolls(), 0);
  await end(w, agent);
});

test('while nothing happens nothing is written to the disk', async () => {
  const w = new World();
  w.publish('1.0.0', good('1.0.0'));
  const agent = w.start();
  await w.clock.advance(5 * minute);
  const changes: string[] = [];
  w.machine.fate = ({ do: what, path }) => (changes.push(`${what} ${path}`), 'ok');
  await w.clock.advance(60 * minute);
  assert.deepEqual(changes, []);
  w.machine.fate = () => 'ok';
  await end(w, agent);
});

test('when the server is back, the machines of a fleet reconnect at different times', async () => {
  const moments: number[] = [];
  for (const share of [0.02, 0.3, 0.6, 0.98]) {
    const w = new World();
    const agent = w.start({}, { random: () => share });
    await w.clock.advance(10_000);
    w.cloud.isUp = false;
    w.cloud.agentConfig.set({ advanced_settings: { debug: true } }); // ends the pending long poll
    await w.clock.advance(100);
    w.cloud.isUp = true;
    const before = w.clock.now();
    const polls = w.cloud.calls.get('poll') ?? 0;
    while ((w.cloud.calls.get('poll') ?? 0) === polls) await w.clock.advance(100);
    moments.push(Math.round((w.clock.now() - before) / 1_000));
    await end(w, agent);
  }
  assert.deepEqual(moments, [1, 9, 18, 29]);
});

test('a problem of the connection to the server is a condition until the server answers', async () => {
  const w = new World();
  w.cloud.isUp = false;
  const conditions: ConditionSet = new Cell([]);
  const agent = w.start({}, { conditions });
  await w.clock.advance(minute);
  const [condition, ...more] = conditions.get();
  assert.equal(condition?.code, 'CLOUD_UNREACHABLE');
  assert.match(condition?.remedy ?? '', /Check the network/);
  assert.deepEqual(more, []);
  w.cloud.isUp = true;
  await w.clock.advance(minute);
  assert.deepEqual(conditions.get(), []);
  Object.assign(w.cloud, { secret: 'another' });
  w.cloud.forgetTokens();
  await w.clock.advance(minute);
  assert.deepEqual(
    conditions.get().map((t) => t.code),
    ['CLOUD_REFUSES_MACHINE'],
  );
  await end(w, agent);
});

const damages: readonly [string, (bytes: Uint8Array) => Uint8Array | undefined, RegExp | undefined][] = [
  ['empty', () => new Uint8Array(), /CONFIG_CACHE_DAMAGED/],
  ['truncated', (b) => b.subarray(0, b.length / 2), /CONFIG_CACHE_DAMAGED/],
  ['garbage', () => Buffer.from('{"answer": "AAAA"'), /CONFIG_CACHE_DAMAGED/],
  ['of another shape', () => encodeChecked({ answer: 7 }), /CONFIG_CACHE_DAMAGED/],
  ['an answer that cannot be read', () => encodeChecked({ answer: '/////w==' }), /CONFIG_CACHE_DAMAGED/],
  ['of a newer agent', (b) => encodeChecked({ ...(decodeChecked(b)?.value as object), more: 1 }), undefined],
];
for (const [name, damage, condition] of damages) {
  test(`a configuration cache that is ${name}: offline, the last good one is used and the server runs`, async () => {
    const w = new World();
    w.publish('1.0.0', good('1.0.0'));
    const first = w.start();
    await w.clock.advance(5_000);
    w.cloud.agentConfig.set({ advanced_settings: { debug: true } }); // so that a last good configuration exists
    await w.clock.advance(5_000);
    await end(w, first);
    w.cloud.isUp = false;
    const file = 'state/config.json';
    const changed = damage(w.machine.files.get(file)!.bytes);
    if (changed) w.machine.files.put(file, changed);
    const conditions: ConditionSet = new Cell([]);
    const agent = w.start({}, { conditions });
    await w.clock.advance(minute);
    const codes = conditions
      .get()
      .map((t) => t.code)
      .join();
    if (condition) assert.match(codes, condition);
    else assert.doesNotMatch(codes, /DAMAGED/);
    assert.match(w.takeLog('agent.server'), /the machine server is ready/);
    w.cloud.isUp = true;
    await w.clock.advance(minute);
    assert.deepEqual(conditions.get(), []);
    await end(w, agent);
  });
}

test('a cache without a last good one, offline: the defaults are used, and a condition reports it', async () => {
  const w = new World();
  w.machine.files.put('state/config.json', Buffer.from('rubbish'));
  w.cloud.isUp = false;
  const conditions: ConditionSet = new Cell([]);
  const agent = w.start({}, { conditions });
  await w.clock.advance(minute);
  assert.match(
    conditions
      .get()
      .map((t) => t.message)
      .join(),
    /the defaults are used until/,
  );
  await end(w, agent);
});

test('a bad value of the defaults file is reported with that file, and not as one of the configuration', async () => {
  const w = new World();
  const manufacturerFile = '/etc/platform-defaults.json';
  const agent = w.start({
    manufacturer: { advanced_settings: { platform_server_start_timeout_minutes: 'soon' } },
    manufacturerFile,
  });
  await w.clock.advance(10_000);
  const [{ code, path, message, remedy } = {} as never] = w.cloud.report.get()?.conditions ?? [];
  assert.deepEqual([code, path], ['CONFIG_CORRECTED', '']);
  assert.match(message, /^agent\.advanced_settings\.\w+ in \/etc\/platform-defaults\.json: .* Used: 10\.$/);
  assert.equal(remedy, 'Correct this field in /etc/platform-defaults.json, and restart the agent.');
  await end(w, agent);
});

test('a defaults file that cannot be used is reported', async () => {
  const w = new World();
  const agent = w.start({ problem: '/etc/platform-defaults.json is not valid JSON' });
  await w.clock.advance(minute);
  const condition = w.cloud.report.get()?.conditions.find((c) => c.code === 'DEFAULTS_UNUSABLE');
  assert.match(condition?.message ?? '', /not valid JSON/);
  await end(w, agent);
});

test('unknown keys of a defaults file are reported with the file, and its other fields act', async () => {
  const w = new World();
  const agent = w.start({
    manufacturer: {
      later: 1,
      network_configuration: { hotspot_pasword: 'secret!!', user_idle_minutes: 7 },
      version_control: { agent: 'dev' },
    },
    manufacturerFile: '/etc/platform-defaults.json',
  });
  await w.clock.advance(minute);
  const found = w.cloud.report.get()?.conditions.filter(({ code }) => code === 'NO_EFFECT_HERE') ?? [];
  assert.deepEqual(
    found.map(({ message, path }) => [message, path]),
    [
      [
        'agent.version_control in /etc/platform-defaults.json: no effect, because the management server chooses the versions.',
        '',
      ],
      [
        'agent.later, agent.network_configuration.hotspot_pasword in /etc/platform-defaults.json: no effect, because this version does not know it.',
        '',
      ],
    ],
  );
  const { agentJson = '', file } = w.cloud.report.get()?.deviceDefaults ?? {};
  assert.deepEqual(
    [JSON.parse(agentJson), file],
    [{ network_configuration: { user_idle_minutes: 7 } }, '/etc/platform-defaults.json'],
  );
  await end(w, agent);
});

test('a token that the server no longer knows is replaced, and nothing is logged', async () => {
  const w = new World();
  const agent = w.start();
  await w.clock.advance(minute);
  w.takeLog();
  w.cloud.forgetTokens();
  await w.clock.advance(minute);
  assert.equal(w.cloud.calls.get('authenticate'), 2);
  assert.equal(w.takeLog(), '');
  await end(w, agent);
});

test('a machine that the server refuses logs it once and tries again', async () => {
  const w = new World();
  const agent = w.start();
  Object.assign(w.cloud, { secret: 'another' });
  await w.clock.advance(5 * minute);
  const log = w.takeLog('agent.local');
  assert.equal(log.split('\n').length, 1, log);
  assert.match(log, /the cloud refuses this machine: check its credentials file/);
  assert.ok((w.cloud.calls.get('authenticate') ?? 0) < 200);
  await end(w, agent);
});

test('going offline and coming back are logged once each', async () => {
  const w = new World();
  const agent = w.start();
  await w.clock.advance(10_000);
  w.takeLog();
  w.cloud.isUp = false;
  await w.clock.advance(5 * minute);
  w.cloud.isUp = true;
  await w.clock.advance(minute);
  assert.match(
    w.takeLog(),
    /^ +\d:\d\d agent the cloud is out of reach; going on without it\n +\d:\d\d agent the cloud is reached$/,
  );
  await end(w, agent);
});

test('lines go in batches of at most 100 and are taken once, though answers are lost', async () => {
  const w = new World();
  const script = ['#!/bin/sh', ...Array.from({ length: 1000 }, (_, i) => `echo line ${i} >&2`), 'sleep 1000000'].join(
    '\n',
  );
  w.publish('1.0.0', script);
  w.cloud.lostAnswers = 3;
  const agent = w.start();
  await w.clock.advance(2 * minute);
  assert.deepEqual(
    stderrOf(w),
    Array.from({ length: 1000 }, (_, i) => `line ${i}`),
  );
  assert.ok(w.cloud.batches.every((n) => n <= 100));
  await end(w, agent);
});

test('an agent that is killed again and again loses and repeats no line', async () => {
  const w = new World();
  const script = [
    '#!/bin/sh',
    ...Array.from({ length: 60 }, (_, i) => `echo line ${i} >&2\nsleep 1`),
    'sleep 1000000',
  ].join('\n');
  w.publish('1.0.0', script);
  let agent = w.start();
  for (const [i, ms] of [2_050, 3_333, 1, 7_777, 260, 20_003, 511].entries()) {
    w.cloud.lostAnswers = i % 2;
    await w.clock.advance(ms);
    agent.kill();
    agent = w.start();
  }
  await w.clock.advance(2 * minute);
  assert.deepEqual(
    stderrOf(w),
    Array.from({ length: 60 }, (_, i) => `line ${i}`),
  );
  agent.stop();
  await w.clock.advance(5_000);
  await agent.done;
});

test('lines wait on disk while the cloud is away', async () => {
  const w = new World();
  w.publish('1.0.0', good('1.0.0').replace('sleep', 'echo early >&2\nsleep'));
  let agent = w.start();
  await w.clock.advance(500);
  w.cloud.isUp = false;
  await w.clock.advance(10 * minute);
  assert.deepEqual(stderrOf(w), []);
  agent.stop();
  await w.clock.advance(10_000);
  await agent.done;
  w.cloud.isUp = true;
  agent = w.start();
  await w.clock.advance(minute);
  assert.deepEqual(stderrOf(w), ['early', 'early']); // the server started twice
  await end(w, agent);
});

test('a debug configuration raises the level of the agent and of what it sends', async () => {
  const w = new World();
  w.cloud.isUp = false;
  const agent = w.start({ commandLine: { advanced_settings: { debug: true } } });
  await w.clock.advance(5_000);
  assert.match(w.takeLog('agent.local'), /the cloud gave no configuration/);
  await end(w, agent);
});

test('over a real connection: a wrong secret, an unreachable cloud and a cloud that is back', async () => {
  const cloud = new TestCloud(systemClock);
  const server = await listen(cloud);
  const none = new AbortController().signal;
  const reached = new Cell(false);
  const connect = (baseUrl: string, payload: string) =>
    connectCloud(
      createConnectTransport({ baseUrl, useBinaryFormat: true }),
      { appAddress: baseUrl, partId: cloud.partId, entity: cloud.partId, type: 'robot-secret', payload },
      systemClock,
      { isReached: reached },
    );
  await assert.rejects(connect(server.url, 'wrong').needsRestart(none), isRefused);
  assert.equal(reached.get(), true, 'it was reached, though it refused');
  const right = connect(server.url, cloud.secret);
  cloud.askForRestart();
  assert.equal((await right.needsRestart(none)).mustRestart, true);
  assert.equal((await right.needsRestart(none)).mustRestart, false);
  cloud.forgetTokens();
  await right.log({ id: cloud.partId, logs: [{ message: 'x', sequence: 1n, bootId: 'b' }] }, none);
  assert.deepEqual(
    cloud.lines.get().map((l) => l.message),
    ['x'],
  );
  await server[Symbol.asyncDispose]();
  await assert.rejects(right.needsRestart(none), (error) => !isRefused(error));
  assert.equal(reached.get(), false);
});
