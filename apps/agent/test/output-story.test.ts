// The output of a machine server reaches the cloud once, whatever happens to agent and relay. Its files on disk never
// exceed the budget.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { logLimits } from '@platform/contract/logs/limits';
import { processStartTime, readJson, systemClock } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { startAgent } from './running-agent.ts';
import { listen, sha256Of, TestCloud, type StoredLine } from './test-cloud.ts';

/** Each write waits for the previous one. GET /print?lines=N&name=X&wide=N, GET /lines?count=N. */
const printingServer = `#!${process.execPath}
const fs = require('node:fs');
const http = require('node:http');
const net = require('node:net');
const state = { socket: undefined, sequence: 0, taken: 0 };
const write = (text) => {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length;) {
    try {
      at += fs.writeSync(2, bytes, at);
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error; // a full pipe: as libc would wait
    }
  }
};
const handOver = (count, name, answer) => {
  state.socket ??= net.connect(process.env.PLATFORM_AGENT_LOG_SOCKET).on('error', () => {});
  state.socket.write(JSON.stringify({ log_socket: 1, boot_id: 'tiny' }) + '\\n');
  const last = (state.sequence += count);
  for (let i = 0; i < count; i++) {
    const fields = { i, deep: [{ a: { b: { c: { d: { e: { f: { g: { h: 'end' } } } } } } } }] };
    const line = { sequence: last - count + 1 + i, time: 1790000000123, level: 'info', logger: 'tiny', message: name + ' ' + i, fields };
    state.socket.write(JSON.stringify({ ...line, caller: { File: 'a.go', Line: i }, stack: 'main()' }) + '\\n');
  }
  state.socket.on('data', (text) => {
    for (const one of String(text).trim().split('\\n')) state.taken = Math.max(state.taken, JSON.parse(one).taken);
    if (state.taken >= last && !answer.writableEnded) answer.end('{}');
  });
};
const server = http.createServer((request, answer) => {
  const { pathname, searchParams } = new URL(request.url, 'http://x');
  answer.setHeader('content-type', 'application/json');
  const name = searchParams.get('name');
  if (pathname === '/lines') return handOver(Number(searchParams.get('count')), name, answer);
  if (pathname === '/print') {
    const wide = 'x'.repeat(Number(searchParams.get('wide') ?? 0));
    let longest = 0;
    for (let i = 0; i < Number(searchParams.get('lines')); i++) {
      const began = performance.now();
      write(name + ' ' + i + wide + '\\n');
      longest = Math.max(longest, performance.now() - began);
    }
    return answer.end(JSON.stringify({ longest }));
  }
  if (pathname === '/crash') {
    write('the final line\\n');
    process.exit(3);
  }
  answer.end(JSON.stringify({ restart_allowed: true, does_not_handle_needs_restart: true }));
});
server.listen(0, '127.0.0.1', () => {
  const url = 'http://127.0.0.1:' + server.address().port;
  console.log(JSON.stringify({ platform_server: 'ready', version: '1.0.0', url, pid: process.pid, revision: 0 }));
});
`;

async function story() {
  await using ends = new AsyncDisposableStack();
  const folder = ends.use(await tempFolder());
  const cloud = new TestCloud(systemClock);
  const server = ends.use(await listen(cloud));
  const bytes = Buffer.from(printingServer);
  cloud.serverRelease.set({ version: '1.0.0', sha256: sha256Of(bytes), url: server.publish('/1.0.0', { bytes }) });
  const agents = ends.use(new AsyncDisposableStack());
  const start = async () => agents.use(await startAgent(folder, cloud, server.url));
  const first = await start();
  const url = await first.until('a ready server', ({ server: { url: found } }) => found || undefined);
  const record = (await readJson(path.join(first.root, 'state/server.json'))) as { pid: number; startTime: string };
  const log = path.join(first.root, 'log');
  const kept = ends.move();
  return {
    cloud,
    first,
    start,
    pid: record.pid,
    isAlive: () => processStartTime(record.pid) === record.startTime,
    ask: async (what: string): Promise<{ longest: number }> =>
      (await fetch(url + what, { headers: { connection: 'close' } })).json() as Promise<{ longest: number }>,
    /** Total size of all files that hold lines of the machine server. */
    onDisk: () => readdirSync(log).reduce((sum, name) => sum + statSync(path.join(log, name)).size, 0),
    async lines(what: string, isSo: (lines: readonly StoredLine[]) => boolean): Promise<readonly StoredLine[]> {
      const end = systemClock.now() + 60_000;
      while (!isSo(cloud.lines.get())) {
        const last = cloud.lines
          .get()
          .slice(-5)
          .map(({ message }) => message);
        assert.ok(systemClock.now() < end, `${what} did not happen; last: ${last.join(' | ').slice(0, 500)}`);
        await systemClock.sleep(50);
      }
      return cloud.lines.get();
    },
    async [Symbol.asyncDispose](): Promise<void> {
      await kept.disposeAsync();
    },
  };
}

const named = (lines: readonly StoredLine[], name: string): string[] =>
  lines.map(({ message }) => message).filter((message) => message.startsWith(`${name} `));
const numbered = (name: string, count: number): string[] => Array.from({ length: count }, (_, i) => `${name} ${i}`);
const dropped = (lines: readonly StoredLine[]): number =>
  lines.reduce((sum, { fields }) => sum + Number(fields['lines_dropped'] ?? 0), 0);
/** Finds the relay of this server: the other process that reads its pipe. */
const relayOf = (pid: number): number | undefined => {
  const isPipe = (of: string, fd: string): string => {
    try {
      return readFileSync(`/proc/${of}/fdinfo/${fd}`, 'utf8') && `${statSync(`/proc/${of}/fd/${fd}`).ino}`;
    } catch {
      return '';
    }
  };
  const pipe = isPipe(String(pid), '2');
  const found = readdirSync('/proc').find((one) => {
    if (!/^\d+$/.test(one) || Number(one) === pid) return false;
    try {
      return readdirSync(`/proc/${one}/fd`).some((fd) => isPipe(one, fd) === pipe);
    } catch {
      return false;
    }
  });
  return found === undefined ? undefined : Number(found);
};

test('what it writes while no agent runs is there afterwards, once and in order; a stopped agent blocks no writer', async () => {
  await using on = await story();
  const { first } = on;
  process.kill(first.process.pid, 'SIGKILL');
  await first.process.exited;
  await on.ask('/print?lines=3000&name=alone');
  await on.ask('/lines?count=300&name=handed');
  assert.ok(on.isAlive());
  const second = await on.start();
  const lines = await on.lines('all lines', (all) => named(all, 'alone').length + named(all, 'handed').length >= 3_300);
  assert.deepEqual(named(lines, 'alone'), numbered('alone', 3_000));
  assert.deepEqual(named(lines, 'handed'), numbered('handed', 300));
  const handed = lines.find(({ message }) => message === 'handed 7');
  assert.deepEqual(
    { ...handed },
    {
      level: 'info',
      logger: 'tiny',
      message: 'handed 7',
      timeMs: 1_790_000_000_123,
      fields: { i: 7, deep: [{ a: { b: { c: { d: { e: { f: { g: { h: 'end' } } } } } } } }] },
      caller: { File: 'a.go', Line: 7 },
      stack: 'main()',
      host: os.hostname(),
    },
  );

  // The server floods 40 MB while the agent is stopped: writes do not block, and the disk holds only the budget.
  process.kill(second.process.pid, 'SIGSTOP');
  const flooded = 200_000;
  const { longest } = await on.ask(`/print?lines=${flooded}&name=flood&wide=200`);
  const written = on.onDisk();
  process.kill(second.process.pid, 'SIGCONT');
  const { burstBytes, bytesPerSecond } = logLimits;
  assert.ok(written < 4 * burstBytes + 60 * bytesPerSecond, `${written} bytes on the disk`);
  await second.until('the condition', ({ conditions }) => conditions.find(({ code }) => code === 'SERVER_FLOODS'));
  const after = await on.lines('the count', (all) => named(all, 'flood').length + dropped(all) >= flooded - 50);
  await on.ask('/print?lines=1&name=calm');
  await on.lines('the calm line', (all) => named(all, 'calm').length === 1);
  assert.ok(named(after, 'flood').length >= 1_000, `${named(after, 'flood').length} lines`);
  process.stdout.write(`# longest write of the flood: ${longest.toFixed(1)} ms, ${written} bytes on the disk\n`);
});

/** Its sockets, each of which is a connection or listens. */
const socketsOf = (pid: number): number =>
  readdirSync(`/proc/${pid}/fd`).filter((fd) => statSync(`/proc/${pid}/fd/${fd}`).isSocket()).length;

test('an idle agent keeps no connection to the relay: an open one wakes both processes every second', async () => {
  await using on = await story();
  const relay = relayOf(on.pid);
  assert.ok(relay !== undefined && relay !== on.pid);
  await on.ask('/print?lines=10&name=before');
  await on.lines('the first lines', (all) => named(all, 'before').length === 10);
  assert.equal(socketsOf(relay), 1, 'it listens');
});

test('a relay that is killed costs its server nothing: it is started again, and no line is lost', async () => {
  await using on = await story();
  await on.ask('/print?lines=10&name=before');
  await on.ask('/lines?count=10&name=handed');
  const relay = relayOf(on.pid);
  assert.ok(relay !== undefined && relay !== on.pid);
  await on.lines('the first lines', (all) => named(all, 'before').length === 10 && named(all, 'handed').length === 10);
  process.kill(relay, 'SIGKILL');
  while (processStartTime(relay) !== undefined) await systemClock.sleep(1);
  await on.ask('/print?lines=500&name=while');
  await on.ask('/print?lines=2000&name=after&wide=100');
  const lines = await on.lines('all lines', (all) => all.some(({ message }) => message.startsWith('after 1999')));
  assert.deepEqual(named(lines, 'while'), numbered('while', 500));
  assert.equal(named(lines, 'after').length, 2_000);
  assert.equal(named(lines, 'handed').length, 10);
  assert.ok(on.isAlive());
  // The report of a server's exit includes its last output.
  await on.ask('/crash').catch(() => undefined);
  await on.lines('its last line', (all) => all.some(({ message }) => message === 'the final line'));
});

test('without systemd, relay and agent both gone: its server waits at a full pipe, and the next agent ends that', async () => {
  await using on = await story();
  const { first } = on;
  await on.ask('/print?lines=10&name=before');
  await on.lines('the first lines', (all) => named(all, 'before').length === 10);
  const relay = relayOf(on.pid);
  assert.ok(relay !== undefined && relay !== on.pid);
  process.kill(first.process.pid, 'SIGKILL');
  await first.process.exited;
  process.kill(relay, 'SIGKILL');
  while (processStartTime(relay) !== undefined) await systemClock.sleep(1);
  // 3 MB exceed the capacity of any pipe.
  const printed = on.ask('/print?lines=3000&name=unread&wide=1000');
  await on.start();
  await printed;
  assert.ok(on.isAlive());
  const lines = await on.lines('all lines', (all) => named(all, 'unread').length >= 2_000);
  assert.deepEqual(
    named(lines, 'unread')
      .slice(0, 2_000)
      .map((line) => line.split('x')[0]),
    numbered('unread', 2_000),
  );
});
