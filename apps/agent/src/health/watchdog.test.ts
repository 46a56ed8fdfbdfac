import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Cell } from '@platform/kit';
import { captureLog, FakeClock } from '@platform/kit/testing';
import { HangDetector } from './hang-detector.ts';
import { nothingYet, type Actual } from '../state/state.ts';
import { memoryLimits, initialHealth, notifyStatus, watchdog } from './watchdog.ts';

const mebibyte = 2 ** 20;

/** An agent under a supervisor that records the notifications and kills no process. */
function watched(watchdogMs: number | undefined = 60_000, memoryLimitBytes: number = memoryLimits.built) {
  const clock = new FakeClock();
  const { log, lines } = captureLog(clock);
  const heard: string[] = [];
  const at = () => `${Math.round(clock.now() / 1000)}s`;
  const supervisor = { watchdogMs, notify: (state: string) => void heard.push(`${at()} ${state}`) };
  const hangDetector = new HangDetector(clock);
  const health = new Cell(initialHealth);
  const actual = new Cell<Actual>(nothingYet);
  const isSupervising = new Cell(false);
  const memory = { bytes: 15 * mebibyte };
  const stop = new AbortController();
  const ownMemory = () => memory.bytes;
  const parts = { supervisor, hangDetector, health, actual, isSupervising, ownMemory, memoryLimitBytes, clock, log };
  const ends = watchdog(parts, stop.signal).then(
    () => 'stopped',
    (error: Error) => error.message,
  );
  return { clock, heard, lines, hangDetector, health, actual, isSupervising, memory, stop, parts, ends };
}

test('ready only when the server is looked after; then alive at a third of the time that systemd waits', async () => {
  const { clock, heard, health, isSupervising, stop, ends } = watched();
  await clock.advance(60_000);
  assert.deepEqual(heard, []);
  isSupervising.set(true);
  await clock.advance(100_000);
  assert.deepEqual(heard, ['60s READY=1', ...[80, 100, 120, 140, 160].map((s) => `${s}s WATCHDOG=1`)]);
  assert.deepEqual(health.get(), { isReady: true, ticks: 3 });
  stop.abort();
  assert.equal(await ends, 'stopped');
});

test('systemd hears nothing while a piece of work lasts longer than it may, and the log says which', async () => {
  const { clock, heard, lines, hangDetector, health, isSupervising, stop } = watched();
  isSupervising.set(true);
  await clock.advance(0);
  const port = hangDetector.watched('disk', 30_000, { write: (ms: number) => clock.sleep(ms), size: () => 1 });
  assert.equal(port.size(), 1);
  const writes = [
    port.write(10_000),
    port.write(75_000),
    hangDetector.within('config', 40_000, () => clock.sleep(65_000)),
  ];
  await clock.advance(100_000);
  assert.deepEqual(heard, ['0s READY=1', '20s WATCHDOG=1', '80s WATCHDOG=1', '100s WATCHDOG=1']);
  assert.deepEqual(
    lines.filter((l) => l.level === 'error').map((l) => [l.message, l.fields['tasks']]),
    [['a task of the agent hangs', ['disk write']]],
  );
  assert.equal(health.get().ticks, 3);
  await Promise.all(writes);
  stop.abort();
});

test('a call that fails is no longer under way', async () => {
  const { clock, hangDetector } = watched();
  const port = hangDetector.watched('disk', 1_000, {
    fails: () => Promise.reject(new Error('no space')),
    throws: () => {
      throw new Error('broken');
    },
  });
  await assert.rejects(port.fails(), /no space/);
  assert.throws(() => port.throws(), /broken/);
  await clock.advance(5_000);
  assert.deepEqual(hangDetector.overdue(), []);
});

test('far too much memory for ten minutes ends the agent; a moment of it does not', async () => {
  const { clock, memory, isSupervising, ends } = watched(undefined);
  isSupervising.set(true);
  await clock.advance(60_000);
  memory.bytes = 300 * mebibyte;
  await clock.advance(9 * 60_000);
  memory.bytes = 20 * mebibyte;
  await clock.advance(20_000);
  memory.bytes = 90 * mebibyte;
  const before = clock.now();
  await clock.advance(12 * 60_000);
  assert.equal(
    await ends,
    'the agent uses 90 MiB of memory and had more than 80 MiB for 10 minutes: it ends to be started again, the machine server goes on',
  );
  assert.ok(clock.now() - before >= 10 * 60_000);
});

test('from source the agent has the memory that Node needs: 90 MiB for hours end nothing', async () => {
  const { clock, memory, isSupervising, heard, stop, ends } = watched(undefined, memoryLimits.fromSource);
  isSupervising.set(true);
  memory.bytes = 90 * mebibyte;
  await clock.advance(120 * 60_000);
  assert.equal(heard.at(-1), '7200s WATCHDOG=1');
  stop.abort();
  assert.equal(await ends, 'stopped');
});

test('what systemctl status shows follows the machine server, each change once', async () => {
  const { clock, heard, actual, parts, stop } = watched();
  void notifyStatus(parts, stop.signal);
  const server = (change: Partial<Actual['server']>) =>
    actual.update((a) => ({ ...a, server: { ...a.server, ...change } }));
  server({ at: 'running', running: '1.2.0-0123456789ab' });
  await clock.advance(1_000);
  server({ restarts: 4 });
  await clock.advance(1_000);
  server({ at: 'waiting', running: null });
  await clock.advance(1_000);
  assert.deepEqual(heard, [
    '0s STATUS=machine server stopped',
    '0s STATUS=machine server running 1.2.0',
    '2s STATUS=machine server waiting',
  ]);
  stop.abort();
});
