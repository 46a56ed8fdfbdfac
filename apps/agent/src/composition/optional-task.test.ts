import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Cell } from '@platform/kit';
import { captureLog, FakeClock } from '@platform/kit/testing';
import type { Condition } from '../health/conditions.ts';
import { optionalTask } from './optional-task.ts';

const minuteMs = 60_000;

function world() {
  const clock = new FakeClock();
  const conditions = new Cell<readonly Condition[]>([]);
  const failing = new Cell<readonly string[]>([]);
  const captured = captureLog(clock);
  const end = new AbortController();
  const starts: number[] = [];
  const run = (name: string, work: (signal: AbortSignal, n: number) => Promise<void>) => {
    let n = 0;
    const counted = (signal: AbortSignal) => {
      starts.push(clock.now());
      return work(signal, ++n);
    };
    return optionalTask({ name, work: counted, conditions, failing, clock, log: captured.log }, end.signal);
  };
  return { clock, conditions, failing, captured, end, starts, run };
}

const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));

const endings: [name: string, work: () => Promise<void>, problem: RegExp][] = [
  ['rejects', () => Promise.reject(new Error('the radio is gone.')), /does not run: the radio is gone\.$/],
  ['rejects with no error', () => Promise.reject(new Error('')), /does not run: .*\.$/],
  [
    'throws at once',
    () => {
      throw new TypeError('x is not a function');
    },
    /x is not a function\.$/,
  ],
  ['returns', () => Promise.resolve(), /does not run: it ended\.$/],
];
for (const [name, work, problem] of endings) {
  test(`a task that ${name} starts again after 1, 2, 4 … 300 s, with one condition`, async () => {
    const w = world();
    const begin = w.clock.now();
    const done = w.run('portal', work);
    await w.clock.advance(30 * minuteMs);
    const gaps = w.starts.map((at, i) => Math.round((at - (w.starts[i - 1] ?? begin)) / 1000));
    assert.deepEqual(gaps.slice(0, 12), [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
    assert.deepEqual(
      w.conditions.get().map((c) => [c.code, c.severity]),
      [['AGENT_TASK_FAILED', 'error']],
    );
    assert.match(w.conditions.get()[0]?.message ?? '', problem);
    assert.deepEqual(w.failing.get(), ['portal']);
    w.end.abort();
    await w.clock.settle();
    await done;
  });
}

test('a task that runs for five minutes has recovered; two failed tasks have a condition each', async () => {
  const w = world();
  const portal = w.run('portal', async (signal, n) => {
    if (n < 3) throw new Error('not yet');
    await untilAborted(signal);
  });
  const radio = w.run('radio', () => Promise.reject(new Error('no radio')));
  await w.clock.advance(5 * minuteMs);
  assert.deepEqual(w.failing.get(), ['portal', 'radio']);
  assert.equal(w.conditions.get().length, 2);
  await w.clock.advance(4_000);
  assert.deepEqual(w.failing.get(), ['radio']);
  assert.deepEqual(
    w.conditions.get().map((c) => c.subject),
    ['radio'],
  );
  w.end.abort();
  await w.clock.settle();
  await Promise.all([portal, radio]);
});

test('a task that hangs is left when the agent ends', async () => {
  const w = world();
  const done = w.run('network', () => new Promise<void>(() => {}));
  await w.clock.advance(minuteMs);
  w.end.abort();
  await w.clock.advance(6_000);
  await done;
  assert.match(w.captured.lines.map((l) => l.message).join(), /does not end and is left/);
});
