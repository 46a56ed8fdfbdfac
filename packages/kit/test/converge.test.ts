import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Cell, converge, type Level, type Reconciler } from '@platform/kit';
import { captureLog, FakeClock } from '@platform/kit/testing';

interface Step {
  do: 'add';
  n: number;
}
/** A world that is a number; `apply` may be made to fail, to do nothing or to change the goal. */
function start(
  wanted: number,
  apply: (step: Step, world: { n: number }, want: Cell<number>) => void,
  level: Level = 'info',
) {
  const [clock, want, world, stop] = [new FakeClock(), new Cell(wanted), { n: 0, looks: 0 }, new AbortController()];
  const { log, text } = captureLog(clock, level);
  const settled: string[] = [];
  const reconciler: Reconciler<number, number, Step> = {
    name: 'number',
    recheckMs: 60_000,
    observe: async () => (world.looks++, world.n),
    plan: (goal, have) =>
      have < goal ? [{ do: 'add', n: 1 }, ...(goal - have > 1 ? [{ do: 'add' as const, n: 1 }] : [])] : [],
    apply: async (step) => apply(step, world, want),
    describe: (have) => ({ have }),
    settled: (failure) => settled.push(failure instanceof Error ? failure.message : 'well'),
  };
  const done = converge(reconciler, want, { clock, log }, stop.signal);
  return { clock, want, world, stop, text, settled, done };
}
const add = (step: Step, world: { n: number }) => void (world.n += step.n);

test('goes on until nothing is to be done, rests, and follows a new goal at once', async () => {
  const { clock, want, world, stop, settled, done } = start(3, add);
  await clock.settle();
  assert.deepEqual([world.n, world.looks, clock.pending], [3, 3, 1]);
  world.n = 2;
  await clock.advance(59_999);
  assert.equal(world.n, 2);
  await clock.advance(1);
  assert.equal(world.n, 3);
  want.set(5);
  await clock.settle();
  assert.equal(world.n, 5);
  stop.abort();
  await done;
  assert.deepEqual([clock.pending, want.listeners, new Set(settled)], [0, 0, new Set(['well'])]);
});

test('the same plan twice makes no progress: it waits longer each time instead of spinning', async () => {
  const { clock, world, stop, text, settled, done } = start(1, () => {});
  await clock.advance(3_500); // tries at 0, 1 and 3 s; each looks twice
  assert.equal(world.looks, 6);
  assert.equal(settled[0], 'no progress: planned [{"do":"add","n":1}] twice');
  assert.deepEqual(
    [...text().matchAll(/"idleMs":(\d+)/g)].map((m) => m[1]),
    ['1000', '2000', '4000'],
  );
  await clock.advance(24 * 3_600_000);
  assert.match(text(), /"idleMs":600000,.*\n.*\n.*"idleMs":600000/); // ten minutes is the most
  stop.abort();
  await done;
  assert.equal(clock.pending, 0);
});

test('a step that fails is retried with growing pauses, which a success or a new goal ends', async () => {
  let broken = true;
  const { clock, want, world, stop, text, settled, done } = start(1, (step, w) => {
    if (broken) throw new Error('disk full');
    add(step, w);
  });
  await clock.advance(1_000);
  assert.deepEqual(settled, ['disk full', 'disk full']);
  broken = false;
  want.set(2); // at 1 s, though the next try was due at 3 s
  await clock.settle();
  assert.equal(world.n, 2);
  broken = true;
  want.set(3);
  await clock.settle();
  assert.match(text().split('\n').at(-1)!, /^warn test will retry {"by":"number","idleMs":1000,"error":"disk full"}$/);
  stop.abort();
  await done;
});

test('a goal that changes during a step drops the rest of the old plan', async () => {
  const steps: string[] = [];
  const { clock, world, stop, done } = start(5, (step, w, want) => {
    steps.push(`${want.get()}`);
    add(step, w);
    want.set(1);
  });
  await clock.settle();
  assert.deepEqual([steps, world.n], [['5'], 1]);
  stop.abort();
  await done;
});

test('at level debug each pass says what it observed, what it did and how long it rests', async () => {
  const { clock, stop, text, done } = start(1, add, 'debug');
  await clock.settle();
  assert.equal(
    text(),
    [
      'info test add {"by":"number","do":"add","n":1}',
      'debug test pass {"by":"number","observed":{"have":0},"did":["add"],"ms":0,"idleMs":0}',
      'debug test pass {"by":"number","observed":{"have":1},"did":[],"ms":0,"idleMs":60000}',
    ].join('\n'),
  );
  stop.abort();
  await done;
});
