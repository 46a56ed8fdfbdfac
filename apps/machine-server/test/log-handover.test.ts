// The server sends log lines to an agent's socket. Each arrives once, even if connections break, and none is uploaded.
import { parseLogHello, parseSocketLine } from '@platform/contract/machine-server/log-socket';
import type { SocketLine } from '@platform/contract/machine-server/log-socket';
import { Cell } from '@platform/kit';
import { systemClock } from '@platform/kit/node';
import { FakeClock, tempFolder } from '@platform/kit/testing';
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { setImmediate } from 'node:timers/promises';
import { test } from 'node:test';
import { handOverLogs } from '../src/cloud/log-handover.ts';
import { LogQueue } from '../src/cloud/log-upload.ts';
import { fakeCloud } from './fake-cloud.ts';
import { startServer } from './server-process.ts';

/** Simulates an agent that accepts lines; it drops unconfirmed lines when the connection closes. */
async function agentSocket(file: string) {
  const taken = new Cell<readonly SocketLine[]>([]);
  const state = { isConfirming: true, connections: 0, boots: new Set<string>() };
  const sockets = new Set<Socket>();
  const open = new Cell(0);
  const server = createServer((socket) => {
    state.connections++;
    open.update((n) => n + 1);
    socket.once('close', () => open.update((n) => n - 1));
    sockets.add(socket.on('error', () => {}));
    let isGreeted = false;
    const answer = () =>
      socket.write(`${JSON.stringify({ log_socket: 1, taken: taken.get().at(-1)?.sequence ?? 0 })}\n`);
    const heard = createInterface(socket).on('error', () => {}); // readline re-emits the socket's errors
    heard.on('line', (text) => {
      if (!isGreeted) {
        isGreeted = true;
        state.boots.add(parseLogHello(text)?.boot_id ?? '');
        return void answer();
      }
      const line = parseSocketLine(text);
      if (!line || !state.isConfirming || line.sequence <= (taken.get().at(-1)?.sequence ?? 0)) return;
      taken.update((lines) => [...lines, line]);
      answer();
    });
  });
  server.listen(file);
  await once(server, 'listening');
  return {
    state,
    taken,
    open,
    cut: () => {
      for (const socket of sockets) socket.destroy();
      sockets.clear();
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

test('its lines go to the agent, numbered without a gap, the last ones at its end; what was not confirmed comes again', async () => {
  await using folder = await tempFolder();
  await using cloud = await fakeCloud();
  const file = folder.file('lines.sock');
  await using agent = await agentSocket(file);
  await using server = await startServer({ cloud, folder: folder.path, env: { PLATFORM_AGENT_LOG_SOCKET: file } });
  await server.until('the first lines', () => agent.taken.get().length, Boolean);
  agent.state.isConfirming = false;
  cloud.setConfig(1, { services: [{ name: 'm', type: 'mlmodel', model: 'onnx_cpu', attributes: {} }] });
  await server.until(
    'revision 1',
    () => server.json('/restart_status'),
    ({ body }) => body['revision'] === 1,
  );
  agent.state.isConfirming = true;
  agent.cut();
  await server.until(
    'another connection',
    () => agent.state.connections,
    (count) => count > 1,
  );
  assert.equal(await server.kill('SIGTERM'), 0);
  const lines = agent.taken.get();
  assert.deepEqual(
    lines.map(({ sequence }) => sequence),
    lines.map((_, i) => i + 1),
  );
  assert.deepEqual([lines[0]?.message, lines.at(-1)?.message], ['starting', 'stopped']);
  assert.equal(lines[0]?.fields?.['data'], folder.file('data'));
  assert.equal(agent.state.boots.size, 1);
  assert.deepEqual(cloud.logs, []);
});

test('without an agent at the socket, the management server gets the lines', async () => {
  await using folder = await tempFolder();
  const clock = {
    ...systemClock,
    state: { now: 0 },
    now: () => clock.state.now,
    sleep: async (ms: number) => void (clock.state.now += ms),
  };
  const parts = {
    socketFile: folder.file('none.sock'),
    bootId: 'b',
    queue: new LogQueue(),
    logged: { dropped: 0 },
    clock,
  };
  assert.equal(await handOverLogs(parts, new AbortController().signal), false);
});

test('a connection without lines is closed; the next line opens another one', { timeout: 60_000 }, async () => {
  await using folder = await tempFolder();
  const socketFile = folder.file('lines.sock');
  await using agent = await agentSocket(socketFile);
  const [clock, queue, over] = [new FakeClock(), new LogQueue(), new AbortController()];
  const work = handOverLogs({ socketFile, bootId: 'b', queue, logged: { dropped: 0 }, clock }, over.signal);
  for (const sequence of [1, 2, 3]) {
    queue.push({ time: 1, level: 'info', logger: 'x', message: `line ${sequence}`, fields: {} });
    while (queue.size > 0) await queue.emptied.changed();
    assert.equal(agent.open.get(), 1, 'it stays open for further lines');
    while (agent.open.get() > 0) {
      await clock.advance(1_000);
      await Promise.race([agent.open.changed(), setImmediate()]);
    }
    assert.equal(agent.state.connections, sequence);
  }
  over.abort();
  assert.equal(await work, true);
  assert.equal(clock.pending, 0);
  assert.deepEqual(
    agent.taken.get().map(({ message }) => message),
    ['line 1', 'line 2', 'line 3'],
  );
});
