import assert from 'node:assert/strict';
import { test } from 'node:test';
import { draggedSpan, rulerPaths, rulerTicks, topOf } from './log-ruler.ts';

const counts = (error: number, warn = 0, info = 0, debug = 0) => ({ error, warn, info, debug });
const all = ['error', 'warn', 'info', 'debug'] as const;

test('errors stand on the axis, and one line of a thousand is seen', () => {
  const bars = [
    { start: 0, counts: counts(1, 0, 99) },
    { start: 50, counts: counts(0, 0, 0, 50) },
  ];
  const of = { span: { from: 0, until: 100 }, intervalMs: 50, shown: all, width: 100, height: 100 };
  assert.deepEqual(rulerPaths(bars, of), {
    error: 'M0.0 100.0v-1.0h49.0v1.0z',
    warn: '',
    info: 'M0.0 99.0v-99.0h49.0v99.0z',
    debug: 'M50.0 100.0v-50.0h49.0v50.0z',
  });
  assert.equal(rulerPaths(bars, { ...of, shown: ['debug'] }).debug, 'M50.0 100.0v-100.0h49.0v100.0z');
});

test('the top is a round number', () => {
  for (const [largest, top] of [
    [0, 1],
    [1, 1],
    [3, 5],
    [100, 100],
    [101, 200],
    [1_968, 2_000],
  ] as const)
    assert.equal(topOf([{ start: 0, counts: counts(largest) }], all), top);
});

test('the axis has round times of the zone', () => {
  const hour = 3_600_000;
  const ticks = (from: number, until: number, offset = 0) => rulerTicks({ from, until }, 7, () => offset);
  assert.deepEqual(
    ticks(0.25 * hour, 6 * hour),
    [1, 2, 3, 4, 5].map((n) => n * hour),
  );
  // A zone of half an hour.
  assert.deepEqual(
    ticks(0, 3 * hour, hour / 2),
    [0, 0.5, 1, 1.5, 2, 2.5].map((n) => n * hour),
  );
  assert.deepEqual(
    ticks(0, 3 * 24 * hour, hour),
    [11, 23, 35, 47, 59, 71].map((n) => n * hour),
  );
  assert.ok(ticks(0, 400 * 24 * hour).length <= 8);
});

test('a drag chooses a time in either direction, a click none', () => {
  const span = { from: 1_000, until: 2_000 };
  assert.deepEqual(draggedSpan(span, [10, 60], 100), { from: 1_100, until: 1_600 });
  assert.deepEqual(draggedSpan(span, [60, -20], 100), { from: 1_000, until: 1_600 });
  assert.equal(draggedSpan(span, [10, 12], 100), undefined);
  assert.equal(draggedSpan(span, [10, 60], 0), undefined);
});
