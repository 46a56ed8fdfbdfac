// What runs with and without credentials, and how the linked tasks follow them. These are a stand-in.
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { Cell } from '@platform/kit';
import { captureLog, FakeClock, tempFolder } from '@platform/kit/testing';
import { runAlwaysOn, type AlwaysOn, type AlwaysOnTask, type LinkedRun } from '../src/composition/always-on.ts';
import type { Ending } from '../src/composition/lifetime.ts';
import type { Condition } from '../src/health/conditions.ts';
import { Credentials } from '../src/link/credentials.ts';
import { SimDevice } from '../src/os/sim/device.ts';
import { point, readTrial, writeTrial } from '../src/versions/switch.ts';

const minuteMs = 60_000;
const textOf = (part: string) =>
  JSON.stringify({ cloud: { app_address: 'http://cloud.example', id: part, secret: 's' } });
const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) =>
    signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve(), { once: true }),
  );

type Linked = (run: LinkedRun, signal: AbortSignal, of: AlwaysOn) => Promise<Ending>;

async function world(linked: Linked, tasks: readonly AlwaysOnTask[] = []) {
  const folder = await tempFolder();
  await mkdir(folder.file('state'));
  const clock = new FakeClock();
  const conditions = new Cell<readonly Condition[]>([]);
  const { log } = captureLog(clock);
  const file = folder.file('platform.json');
  const credentials = new Credentials({ file, copy: folder.file('copy'), conditions, clock, log });
  const { device } = new SimDevice(clock).session();
  const notified: string[] = [];
  const stop = new AbortController();
  const never = { changed: (signal: AbortSignal) => aborted(signal), close: () => {} };
  const begin = () =>
    runAlwaysOn(
      {
        device,
        credentials,
        conditions,
        root: folder.path,
        version: '1.0.0',
        layers: { commandLine: undefined, manufacturer: undefined, isFastStart: false },
        clock,
        sink: () => {},
        watch: never,
        supervisor: { watchdogMs: 60_000, notify: (state) => void notified.push(state) },
      },
      tasks,
      (of, run, signal) => linked(run, signal, of),
      stop.signal,
    );
  return {
    clock,
    device,
    conditions,
    credentials,
    file,
    notified,
    stop,
    begin,
    /** Waits for real files and sockets. */
    async until(is: () => boolean, stepMs = 0) {
      while (!is()) {
        await new Promise((resolve) => setImmediate(resolve));
        if (stepMs > 0) await clock.advance(stepMs);
      }
    },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

test('without credentials the supervisor is notified, also while an optional task hangs', async () => {
  let isHanging = false;
  const hang = { name: 'network', work: () => ((isHanging = true), new Promise<void>(() => {})) };
  const fail = { name: 'portal', work: () => Promise.reject(new Error('port 53 is in use')) };
  await using w = await world(() => assert.fail('there are no credentials'), [hang, fail]);
  const done = w.begin();
  await w.until(() => w.notified.includes('READY=1') && isHanging);
  await w.clock.advance(10 * minuteMs);
  assert.equal(w.notified.filter((state) => state === 'WATCHDOG=1').length, 30);
  assert.match(
    w.notified.find((state) => state.startsWith('STATUS=')) ?? '',
    /no usable credentials: there is no such/,
  );
  assert.deepEqual(
    w.conditions.get().map(({ code, subject }) => [code, subject]),
    [
      ['CREDENTIALS_MISSING', undefined],
      ['AGENT_TASK_FAILED', 'portal'],
    ],
  );
  w.stop.abort(new Error('stopped'));
  await w.clock.advance(10_000);
  assert.equal(await done, 'stopped');
});

test('each credentials get a run of the linked tasks, one after the other; rotated twice quickly, the last is used', async () => {
  const runs: string[] = [];
  let open = 0;
  const linked: Linked = async ({ found, replaced }, signal, { isReached }) => {
    assert.equal(open++, 0, 'the run before has ended');
    assert.equal(isReached.get(), false);
    isReached.set(true);
    runs.push(found.credentials.partId);
    await Promise.race([aborted(replaced), aborted(signal)]);
    open--;
    return replaced.aborted ? 'credentials' : 'stopped';
  };
  await using w = await world(linked);
  const done = w.begin();
  await w.until(() => w.notified.includes('READY=1'));
  assert.deepEqual(await w.credentials.take(textOf('a')), { ok: true });
  await w.until(() => runs.length === 1);
  await writeFile(w.file, textOf('a'));
  await w.credentials.reload();
  await writeFile(w.file, textOf('b'));
  const written = w.credentials.reload().then(() => writeFile(w.file, textOf('c')));
  const read = written.then(() => w.credentials.reload());
  await w.until(() => runs.at(-1) === 'c', 100);
  await read;
  assert.ok(runs.length <= 3, runs.join());
  w.stop.abort(new Error('stopped'));
  await w.clock.settle();
  assert.equal(await done, 'stopped');
});

test('a linked task that fails ends the agent, and one that another version replaces does, too', async () => {
  await using w = await world(() => Promise.reject(new Error('a loop failed')));
  await writeFile(w.file, textOf('a'));
  await assert.rejects(w.begin(), /a loop failed/);
  await using v = await world(async () => 'handover');
  await writeFile(v.file, textOf('a'));
  assert.equal(await v.begin(), 'handover');
});

for (const [name, isReady, boot] of [
  ['after it was ready: the stop is recorded', true, 'interrupted'],
  ['before it was ready: the start counts', false, 'boot-1'],
] as const) {
  test(`without credentials, an agent on trial is stopped ${name}`, async () => {
    await using w = await world(() => assert.fail('there are no credentials'));
    const [from, to] = [`1.0.0-${'a'.repeat(12)}`, `1.1.0-${'b'.repeat(12)}`];
    const { files } = w.device;
    await files.mkdir('bin');
    await files.mkdir('state');
    await point(files, 'agent', to);
    const trial = { from, to, starts: 1, clearance: 0, since: 7, needs: 'cloud', boot: 'boot-1', cuts: 0 } as const;
    await writeTrial(files, 'agent', trial);
    if (!isReady) w.stop.abort(new Error('stopped'));
    const done = w.begin();
    if (isReady) {
      await w.until(() => w.notified.includes('READY=1'));
      w.stop.abort(new Error('stopped'));
    }
    await w.clock.advance(10_000);
    assert.equal(await done, 'stopped');
    assert.deepEqual(await readTrial(files, 'agent'), { ...trial, boot });
  });
}
