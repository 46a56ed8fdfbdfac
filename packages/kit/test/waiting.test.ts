import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Cell, changedOr, Inbox, TimeoutError, within, type Clock } from '@platform/kit';
import { systemClock } from '@platform/kit/node';
import { FakeClock } from '@platform/kit/testing';
import { getEventListeners } from 'node:events';

const listeners = (signal: AbortSignal) => getEventListeners(signal, 'abort').length;

const endings: [name: string, end: (cell: Cell<number>, clock: FakeClock, stop: AbortController) => unknown][] = [
  ['the cell changes', (cell) => cell.set(2)],
  ['time passes', (_, clock) => clock.advance(1000)],
  ['the end comes', (_, __, stop) => stop.abort()],
];
for (const [name, end] of endings) {
  test(`changedOr: ${name}; no timer or listener is left behind`, async () => {
    const [cell, clock, stop] = [new Cell(1), new FakeClock(), new AbortController()];
    const waiting = changedOr(cell, 1000, clock, stop.signal);
    assert.deepEqual([cell.listeners, clock.pending, listeners(stop.signal)], [1, 1, 1]);
    await end(cell, clock, stop);
    await waiting;
    assert.deepEqual([cell.listeners, clock.pending, listeners(stop.signal)], [0, 0, 0]);
  });
}

test('changedOr of several cells: any of them ends the wait, and nothing is left behind', async () => {
  const [clock, stop, second] = [new FakeClock(), new AbortController(), new Cell(2)];
  const cells = [new Cell(1), second];
  const waiting = changedOr(cells, Infinity, clock, stop.signal);
  assert.deepEqual([...cells.map((cell) => cell.listeners), listeners(stop.signal)], [1, 1, 1]);
  second.set(3);
  await waiting;
  assert.deepEqual([...cells.map((cell) => cell.listeners), clock.pending, listeners(stop.signal)], [0, 0, 0, 0]);
});

test('a cell wakes for a new value only, and everyone who waits', async () => {
  const cell = new Cell('a');
  const woken: string[] = [];
  const all = ['x', 'y'].map((name) => cell.changed().then(() => woken.push(name)));
  cell.set('a');
  assert.equal(cell.listeners, 2);
  cell.update((v) => `${v}b`);
  await Promise.all(all);
  assert.deepEqual([woken, cell.get(), cell.listeners], [['x', 'y'], 'ab', 0]);
});

test('an inbox gives events in order, one a take, before it looks at the time', async () => {
  const [inbox, clock, stop] = [new Inbox<string>(), new FakeClock(), new AbortController()];
  inbox.push('a');
  inbox.push('b');
  assert.equal(await inbox.take(-1, clock, stop.signal), 'a');
  assert.equal(await inbox.take(Infinity, clock, stop.signal), 'b');
  assert.equal(await inbox.take(0, clock, stop.signal), undefined);
});

const arrivals: [
  name: string,
  arrive: (inbox: Inbox<string>, clock: FakeClock, stop: AbortController) => unknown,
  got?: string,
][] = [
  ['an event', (inbox) => inbox.push('a'), 'a'],
  ['the due instant', (_, clock) => clock.advance(500)],
  ['the end', (_, __, stop) => stop.abort()],
];
for (const [name, arrive, got] of arrivals) {
  test(`a take that waits ends with ${name}; no timer or listener is left behind`, async () => {
    const [inbox, clock, stop] = [new Inbox<string>(), new FakeClock(), new AbortController()];
    const taking = inbox.take(500, clock, stop.signal);
    assert.deepEqual([clock.pending, listeners(stop.signal)], [1, 1]);
    await arrive(inbox, clock, stop);
    assert.equal(await taking, got);
    assert.deepEqual([clock.pending, listeners(stop.signal)], [0, 0]);
  });
}

test('a timer that rings early does not make an event due', async () => {
  const clock = new FakeClock();
  const hasty: Clock = {
    now: () => clock.now(),
    wall: () => clock.wall(),
    sleep: (ms, s) => clock.sleep(Math.ceil(ms / 2), s),
  };
  const taking = new Inbox<string>().take(100, hasty, new AbortController().signal);
  let done = false;
  void taking.then(() => (done = true));
  await clock.advance(99);
  assert.equal(done, false);
  await clock.advance(1);
  assert.equal(done, true);
});

test('within: the answer in time, the time-out, the end from outside; nothing is left behind', async () => {
  const [clock, stop] = [new FakeClock(), new AbortController()];
  const signal = stop.signal;
  assert.equal(await within(100, { what: 'x', clock, signal }, async () => 7), 7);
  assert.deepEqual([clock.pending, listeners(signal)], [0, 0]);

  let reason: unknown;
  const late = within(100, { what: 'the answer', clock, signal }, async (inner) => {
    inner.addEventListener('abort', () => (reason = inner.reason));
    await new Promise(() => {});
  });
  const failed = assert.rejects(late, { name: 'TimeoutError', message: 'the answer took longer than 100 ms' });
  await clock.advance(100);
  await failed;
  assert.ok(reason instanceof TimeoutError);
  assert.deepEqual([clock.pending, listeners(signal)], [0, 0]);

  const ended = within(100, { what: 'x', clock, signal }, (inner) => clock.sleep(1e9, inner).then(() => inner.aborted));
  stop.abort();
  assert.equal(await ended, true);
  assert.equal(clock.pending, 0);
});

test('the fake clock rings in order of time, and its wall clock may jump', async () => {
  const clock = new FakeClock(1000);
  const rung: string[] = [];
  for (const ms of [30, 10, 20]) void clock.sleep(ms).then(() => rung.push(`${ms}@${clock.now()}`));
  clock.jumpWall(-500);
  await clock.advance(25);
  assert.deepEqual([rung, clock.pending, clock.now(), clock.wall()], [['10@10', '20@20'], 1, 25, 525]);
});

test('the system clock sleeps at least as long as asked, and an abort wakes it without a trace', async () => {
  const start = systemClock.now();
  await systemClock.sleep(20);
  assert.ok(systemClock.now() - start >= 20);
  const stop = new AbortController();
  const asleep = systemClock.sleep(Infinity, stop.signal);
  assert.equal(listeners(stop.signal), 1);
  stop.abort();
  await asleep;
  assert.equal(listeners(stop.signal), 0);
});
