import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { isAlive, processStartTime, spawnGroup, systemClock, type ProcessGroup } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';

const shell = (script: string, more: object = {}) => spawnGroup({ command: '/bin/sh', args: ['-c', script], ...more });
const firstLine = async (group: ProcessGroup): Promise<string> =>
  String((await once(createInterface({ input: group.stdout! }), 'line'))[0]);

test('outputs are piped, and the exit is returned', async () => {
  const group = await shell('echo out; echo err >&2; exit 3');
  const err = createInterface({ input: group.stderr! });
  assert.deepEqual(await Promise.all([firstLine(group), once(err, 'line')]), ['out', ['err']]);
  assert.deepEqual(await group.exited, { code: 3, signal: null });
});

test('outputs go to files, each its own, appended', async () => {
  await using folder = await tempFolder();
  const to = { stdoutFile: folder.file('out'), logFile: folder.file('rest') };
  for (const n of [1, 2]) assert.equal((await (await shell(`echo o${n}; echo e${n} >&2`, to)).exited).code, 0);
  assert.equal(await readFile(folder.file('out'), 'utf8'), 'o1\no2\n');
  assert.equal(await readFile(folder.file('rest'), 'utf8'), 'e1\ne2\n');
});

test('stop ends a willing group by TERM', async () => {
  const group = await shell('sleep 100 & echo up; wait');
  await firstLine(group);
  assert.deepEqual(await group.stop({ termMs: 60_000 }), { code: null, signal: 'SIGTERM' });
});

test('stop kills a grandchild that ignores TERM, and a leader that does', async () => {
  const group = await shell(`trap '' TERM; sleep 1000 & echo $!; wait; wait`);
  const grandchild = Number(await firstLine(group));
  assert.ok(processStartTime(grandchild));
  assert.deepEqual(await group.stop({ termMs: 50 }), { code: null, signal: 'SIGKILL' });
  while (processStartTime(grandchild)) await systemClock.sleep(5); // KILL is not immediate; it never fails
});

test('stop reaches what the leader left behind', async () => {
  const group = await shell(`(trap '' TERM; sleep 1000) & echo $!; exit 0`);
  const orphan = Number(await firstLine(group));
  await group.exited;
  assert.deepEqual(await group.stop({ termMs: 20 }), { code: 0, signal: null });
  while (processStartTime(orphan)) await systemClock.sleep(5);
});

test('a program that does not exist is an error with its code', async () => {
  await assert.rejects(spawnGroup({ command: '/no/such/program' }), { code: 'ENOENT' });
});

test('a process is known by pid and start time together', async () => {
  const group = await shell('sleep 100');
  assert.equal(isAlive(group), true);
  assert.equal(isAlive({ ...group, startTime: 'another' }), false);
  assert.equal(isAlive({ pid: group.pid, startTime: '' }), false);
  await group.stop({ termMs: 1000 });
  assert.equal(isAlive(group), false);
});

test('the first signal asks, its echo is nothing, the second ends', async () => {
  const node = new URL('../src/node/index.ts', import.meta.url).href;
  const script = `const { onSignals } = await import('${node}'); const stop = onSignals();
    stop.addEventListener('abort', () => console.log(stop.reason.message)); setInterval(() => {}, 1000); console.log('up');`;
  const group = await spawnGroup({ command: process.execPath, args: ['--input-type=module', '-e', script] });
  const lines = createInterface({ input: group.stdout! })[Symbol.asyncIterator]();
  assert.equal((await lines.next()).value, 'up');
  group.signal('SIGINT');
  group.signal('SIGINT'); // a terminal's and a parent's signal come together
  assert.equal((await lines.next()).value, 'received SIGINT');
  await systemClock.sleep(600);
  assert.equal(isAlive(group), true);
  group.signal('SIGTERM');
  assert.deepEqual(await group.exited, { code: null, signal: 'SIGTERM' });
});
