import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { createLog } from '@platform/kit';
import { isAlive, readJson, signalGroup, systemClock } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { type Child, ChildFailed, Children } from './children.ts';

const spec = (script: string) => ({
  name: 'one',
  command: '/bin/sh',
  args: ['-c', script],
  env: { PATH: '/usr/bin:/bin' },
  termMs: 5_000,
});

test('a child that ends by itself is started again; its record is current', async () => {
  await using folder = await tempFolder();
  const file = path.join(folder.path, 'run.json');
  const log = createLog({ name: 'up', clock: systemClock, level: 'error', sink: () => {} });
  const clock = { ...systemClock, sleep: async () => {} };
  const children = new Children({ file, logFolder: folder.path, clock, log });
  const { child, readyLine } = await children.keep(spec('echo ready; exec sleep 1000'));
  assert.equal(readyLine, 'ready');
  const first = child.pid();
  assert.ok(first !== undefined);
  signalGroup(first, 'SIGKILL');
  while (child.pid() === first) await systemClock.sleep(5);
  const { children: recorded } = (await readJson(file)) as { children: { pid: number; startTime: string }[] };
  assert.deepEqual(
    recorded.map((one) => [one.pid, isAlive(one)]),
    [[child.pid(), true]],
  );
  await child.stop();
  assert.ok(!isAlive(recorded[0]!));
});

test('stopped while it is being started again: nothing stays', async () => {
  await using folder = await tempFolder();
  const file = path.join(folder.path, 'run.json');
  const log = createLog({ name: 'up', clock: systemClock, level: 'error', sink: () => {} });
  const state: { child?: Child; stopped?: Promise<void> | undefined } = {};
  // The pause before the restart ends at once, and the stop arrives during the restart.
  const sleep = async () => void setImmediate(() => (state.stopped = state.child?.stop()));
  const children = new Children({ file, logFolder: folder.path, clock: { ...systemClock, sleep }, log });
  const { child } = await children.keep(spec('exec sleep 1000'), { isReadyAtOnce: true });
  state.child = child;
  const first = child.pid()!;
  signalGroup(first, 'SIGKILL');
  while (!state.stopped) await systemClock.sleep(5);
  await state.stopped;
  assert.deepEqual(await readJson(file), { children: [] });
  assert.notEqual(child.pid(), first, 'it was not under way');
});

test('a child that ends before it is ready is reported with its last log lines', async () => {
  await using folder = await tempFolder();
  const log = createLog({ name: 'up', clock: systemClock, level: 'error', sink: () => {} });
  const file = path.join(folder.path, 'run.json');
  const children = new Children({ file, logFolder: folder.path, clock: systemClock, log });
  await assert.rejects(
    children.keep(spec('echo port is used >&2; exit 3')),
    (error) => error instanceof ChildFailed && error.message.includes('3') && error.tail.includes('port is used'),
  );
});

test('what a killed predecessor left running is found and ended', async () => {
  await using folder = await tempFolder();
  const log = createLog({ name: 'up', clock: systemClock, level: 'error', sink: () => {} });
  const of = { file: path.join(folder.path, 'run.json'), logFolder: folder.path, clock: systemClock, log };
  const { child } = await new Children(of).keep(spec('exec sleep 1000'), { isReadyAtOnce: true });
  assert.deepEqual(await new Children(of).endLeftovers(5_000), ['one']);
  await child.stop();
});
