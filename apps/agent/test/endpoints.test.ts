// The endpoints as the agent runs them: the compiled program, without root, on sockets that it inherits.
import assert from 'node:assert/strict';
import { readFile, readlink } from 'node:fs/promises';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { test } from 'node:test';
import { Cell } from '@platform/kit';
import { systemClock } from '@platform/kit/node';
import { captureLog } from '@platform/kit/testing';
import { childEndpoints } from '../src/network/endpoints.ts';
import { listenerOf } from '../src/os/linux/process-table.ts';
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

test('the process that parses untrusted input has no root, no capability, no environment and no way out', async () => {
  await using endpoints = await startEndpoints(command());
  const pid = await endpoints.pid();
  assert.notEqual(pid, process.pid);
  const status = Object.fromEntries(
    (await readFile(`/proc/${pid}/status`, 'utf8')).split('\n').map((line) => line.split(/:\s*/) as [string, string]),
  );
  const nothing = '0000000000000000';
  assert.deepEqual([status['CapEff'], status['CapPrm'], status['CapInh']], [nothing, nothing, nothing]);
  assert.equal(await readFile(`/proc/${pid}/environ`, 'utf8'), '');
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
      handlers: { active: never, submit: never },
      opened: never,
    },
    new AbortController().signal,
  );
  await assert.rejects(served, new RegExp(`Port ${port} on 127.0.0.1 is used by .*\\(process ${process.pid}\\)`));
  other.close();
});

const broken: readonly [what: string, program: string, why: RegExp][] = [
  ['talks too much', 'yes \'{"is":"active"}\'', /too many messages/],
  ['sends an invalid message', 'echo \'{"is":"root"}\'; (sleep 60 & wait)', /invalid message/],
  ['says an endless line', 'head -c 3000000 /dev/zero; (sleep 60 & wait)', /longer than/],
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
    const handlers = { active: () => {}, submit: () => assert.fail('nothing valid was submitted') };
    const view = new Cell(sampleView);
    const of = { address: '127.0.0.1', view, handlers, opened: () => assert.fail('it never was ready') };
    const served = endpoints.serve(of, stop.signal);
    await until('its end', async () => why.test(JSON.stringify(log.lines)));
    stop.abort();
    await served;
  });
}
