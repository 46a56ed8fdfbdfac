// The endpoints as the agent runs them: the compiled program, without root, on sockets that it inherits.
import assert from 'node:assert/strict';
import { readFile, readlink } from 'node:fs/promises';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { test } from 'node:test';
import { Cell } from '@platform/kit';
import { processStartTime, systemClock } from '@platform/kit/node';
import { captureLog, FakeClock } from '@platform/kit/testing';
import { runtimeEnvironment } from '../src/install/unit.ts';
import { childEndpoints } from '../src/network/hotspot/hotspot-endpoints.ts';
import { commandOf, listenerOf, pids } from '../src/os/linux/kernel/process-table.ts';
import { posixPrograms } from '../src/os/posix/programs.ts';
import { built } from './built.ts';
import { freePort, sampleView, startEndpoints } from './endpoints-rig.ts';

const isRoot = process.getuid?.() === 0;
const command = (): string[] => [built('platform-agent').file, 'endpoints'];

async function until<T>(what: string, look: () => Promise<T | undefined | false>): Promise<T> {
  const end = systemClock.now() + 60_000;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (systemClock.now() > end) throw new Error(`not in time: ${what}`);
    await systemClock.sleep(50);
  }
}

test('the process that parses untrusted input has no root, no capability, no environment of the agent and no way out', async () => {
  await using endpoints = await startEndpoints(command());
  const pid = await endpoints.pid();
  assert.notEqual(pid, process.pid);
  const status = Object.fromEntries(
    (await readFile(`/proc/${pid}/status`, 'utf8')).split('\n').map((line) => line.split(/:\s*/) as [string, string]),
  );
  const nothing = '0000000000000000';
  assert.deepEqual([status['CapEff'], status['CapPrm'], status['CapInh']], [nothing, nothing, nothing]);
  const environment = (await readFile(`/proc/${pid}/environ`, 'utf8')).split('\0').filter(Boolean);
  assert.deepEqual(
    environment,
    Object.entries(runtimeEnvironment).map(([name, value]) => `${name}=${value}`),
  );
  assert.equal(await readlink(`/proc/${pid}/cwd`), '/');
  assert.equal((await readFile(`/proc/${pid}/oom_score_adj`, 'utf8')).trim(), '1000');
  const uids = (status['Uid'] ?? '').split('\t').map(Number);
  assert.equal(new Set(uids).size, 1);
  if (!isRoot) return; // without root there is nothing to lose
  assert.ok((uids[0] ?? 0) >= 61_184 && (uids[0] ?? 0) <= 65_519, `user ${uids[0]}`);
  assert.deepEqual([status['Gid'], status['Groups']?.trim()], [status['Uid'], '']);
  assert.deepEqual([status['CapBnd'], status['NoNewPrivs']], [nothing, '1']);
  const interfaces = (await readFile(`/proc/${pid}/net/dev`, 'utf8')).split('\n').slice(2).filter(Boolean);
  assert.deepEqual(
    interfaces.map((line) => line.trim().split(':')[0]),
    ['lo'],
    'its network is empty',
  );
  assert.equal((await fetch(endpoints.url)).status, 200, 'and serves its inherited socket');
});

test('a process that dies is started again and knows the newest view', async () => {
  await using endpoints = await startEndpoints(command());
  const first = await endpoints.pid();
  process.kill(first, 'SIGKILL');
  endpoints.view.set({ ...sampleView, hostname: 'other-name' });
  const second = await until('another process', async () => {
    const pid = await endpoints.pid();
    return pid !== 0 && pid !== first && pid !== process.pid && pid;
  });
  assert.notEqual(second, first);
  const text = await until('its page', async () => (await fetch(endpoints.url).catch(() => undefined))?.text());
  assert.match(text, /Set up <bdi>other-name<\/bdi>/);
  assert.match(JSON.stringify(endpoints.log.lines), /started again.*SIGKILL/);
});

test('a port that another program has is an error that names the program', async () => {
  const port = await freePort();
  const other = createServer().listen(port, '127.0.0.1');
  await once(other, 'listening');
  const endpoints = childEndpoints({
    command: command(),
    env: {},
    processes: { listener: listenerOf },
    programs: posixPrograms(10_000),
    memoryLimitBytes: Infinity,
    clock: systemClock,
    log: captureLog(systemClock).log,
    ports: { portal: await freePort(), rpc: port },
  });
  const never = () => assert.fail('it must not open');
  const served = endpoints.serve(
    {
      address: '127.0.0.1',
      view: new Cell(sampleView),
      handlers: { active: never, exit: never, submit: never },
      opened: never,
    },
    new AbortController().signal,
  );
  await assert.rejects(served, new RegExp(`Port ${port} on 127.0.0.1 is used by .*\\(process ${process.pid}\\)`));
  other.close();
});

async function commandsWith(text: string): Promise<string[]> {
  const all = await Promise.all((await pids()).map((pid) => commandOf(pid)));
  return all.filter((line) => line.includes(text));
}

test('a process that says nothing any more is ended', async () => {
  const log = captureLog(systemClock);
  const clock = new FakeClock();
  const stop = new AbortController();
  const endpoints = childEndpoints({
    command: ['/bin/sh', '-c', 'exec sleep 600'],
    env: {},
    processes: { listener: listenerOf },
    programs: posixPrograms(10_000),
    memoryLimitBytes: Infinity,
    clock,
    log: log.log,
    ports: { portal: await freePort(), rpc: await freePort() },
  });
  const handlers = { active: () => {}, exit: () => {}, submit: () => assert.fail('nothing was submitted') };
  const of = { address: '127.0.0.1', view: new Cell(sampleView), handlers, opened: () => assert.fail('not ready') };
  const served = endpoints.serve(of, stop.signal);
  await until('its end', async () => {
    if (clock.pending > 0) await clock.advance(5_000);
    return /does not answer/.test(JSON.stringify(log.lines));
  });
  assert.ok(clock.now() > 40_000);
  stop.abort();
  let isOver = false;
  void served.finally(() => (isOver = true));
  await until('the end of serving', async () => {
    await clock.advance(5_000); // a process that was just started again gets its time to end, too
    return isOver;
  });
});

test('what a user entered reaches the agent whole and is not logged; with the agent, the process ends', async () => {
  await using endpoints = await startEndpoints(command(), { view: { ...sampleView, hasCredentials: false } });
  const pid = await endpoints.pid();
  const token = /name="token" value="(\w+)"/.exec(await (await fetch(endpoints.url)).text())?.[1] ?? '';
  const credentials = JSON.stringify({ cloud: { id: 'part', secret: 'very-secret', more: 'ü\n"'.repeat(500) } });
  const body = new URLSearchParams({
    token,
    ssid: 'Farm House',
    password: 'pass "word" ü',
    platformconfig: credentials,
  });
  assert.equal((await fetch(`${endpoints.url}/save`, { method: 'POST', redirect: 'manual', body })).status, 303);
  assert.deepEqual(endpoints.submissions, [
    { wifi: { ssid: 'Farm House', psk: 'pass "word" ü', isHidden: false }, credentials },
  ]);
  assert.equal(endpoints.activity, 1);
  assert.doesNotMatch(JSON.stringify(endpoints.log.lines), /very-secret|pass /);
  await endpoints[Symbol.asyncDispose]();
  assert.equal(processStartTime(pid), undefined);
});

/** Seconds that no other program sleeps. */
const leftBehind = `${600_000_000 + process.pid}`;

const broken: readonly [what: string, program: string, why: RegExp][] = [
  ['talks too much', 'yes \'{"is":"active"}\'', /too many messages/],
  ['sends an invalid message', 'echo \'{"is":"root"}\'; (sleep 60 & wait)', /invalid message/],
  ['says an endless line', 'head -c 3000000 /dev/zero; (sleep 60 & wait)', /longer than/],
  ['leaves others behind', `setsid sh -c 'echo x; exec sleep ${leftBehind}' & wait`, /invalid message/],
  ['takes too much memory', 'exec tail -n 1 /dev/zero', /bytes of memory/],
];
for (const [what, program, why] of broken) {
  test(`a process that ${what} is ended`, async () => {
    const log = captureLog(systemClock);
    const stop = new AbortController();
    const endpoints = childEndpoints({
      command: ['/bin/sh', '-c', program],
      env: { PATH: '/usr/bin:/bin' },
      processes: { listener: listenerOf },
      programs: posixPrograms(10_000),
      memoryLimitBytes: 64 * 1024 * 1024,
      clock: systemClock,
      log: log.log,
      ports: { portal: await freePort(), rpc: await freePort() },
    });
    const handlers = { active: () => {}, exit: () => {}, submit: () => assert.fail('nothing valid was submitted') };
    const view = new Cell(sampleView);
    const of = { address: '127.0.0.1', view, handlers, opened: () => assert.fail('it never was ready') };
    const served = endpoints.serve(of, stop.signal);
    await until('its end', async () => why.test(JSON.stringify(log.lines)));
    stop.abort();
    await served;
    if (isRoot) assert.deepEqual(await commandsWith(leftBehind), []);
  });
}
