import assert from 'node:assert/strict';
import test from 'node:test';
import { TokenBuckets } from './token-buckets.ts';

const rate = { perSecond: 10, burst: 100 };
/** [ms, amount charged at that time, ms to wait after it] */
const stories: [what: string, steps: readonly (readonly [at: number, amount: number, waitMs: number])[]][] = [
  [
    'within the burst there is no wait',
    [
      [0, 60, 0],
      [0, 39, 0],
    ],
  ],
  [
    'what is used up comes back',
    [
      [0, 100, 100],
      [1_000, 10, 100],
      [1_100, 0, 0],
    ],
  ],
  [
    'a debt is paid before the next call',
    [
      [0, 150, 5_100],
      [5_000, 0, 100],
      [5_100, 0, 0],
    ],
  ],
  ['a debt is one burst at most', [[0, 1_000_000, 10_100]]],
  [
    'no more than a burst is saved up',
    [
      [0, 100, 100],
      [1_000_000, 100, 100],
    ],
  ],
];
for (const [what, steps] of stories)
  test(`token bucket: ${what}`, () => {
    const buckets = new TokenBuckets(rate);
    for (const [at, amount, waitMs] of steps) {
      buckets.charge('a', amount, at);
      assert.equal(buckets.waitMs('a', at), waitMs, `at ${at} ms`);
      assert.equal(buckets.waitMs('b', at), 0, 'other keys do not pay');
    }
  });

test('token buckets: memory is bounded, and whoever is in debt is forgotten last', () => {
  const buckets = new TokenBuckets(rate, 100);
  for (let n = 0; n < 10_000; n++) {
    buckets.charge('in debt', 150, n);
    buckets.charge(`key ${n}`, 1, n);
    assert.ok(buckets.size <= 101);
  }
  assert.ok(buckets.waitMs('in debt', 10_000) > 0);
});

test('token buckets: without a limit, every take is admitted', () => {
  const buckets = new TokenBuckets({ perSecond: Infinity, burst: Infinity });
  buckets.charge('a', 1e12, 0);
  assert.deepEqual([buckets.waitMs('a', 0), buckets.size], [0, 0]);
});

test('token buckets: `take` charges a key that has something left, and returns the waiting time of others', () => {
  const buckets = new TokenBuckets(rate);
  assert.deepEqual(
    [buckets.take('a', 100, 0), buckets.take('a', 100, 0), buckets.take('a', 100, 100), buckets.take('b', 1, 100)],
    [0, 100, 0, 0],
  );
  assert.equal(buckets.waitMs('a', 100), 10_000);
});
