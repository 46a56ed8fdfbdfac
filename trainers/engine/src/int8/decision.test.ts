import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allowedLoss, int8Decision } from './decision.ts';

test('delivered if the loss is at most one standard error or one case', () => {
  const cases: [name: string, float32: number, int8: number, cases: number, isDelivered: boolean][] = [
    ['no loss', 0.9, 0.9, 100, true],
    ['a gain', 0.9, 0.95, 100, true],
    ['one standard error', 0.9, 0.87, 100, true],
    ['more', 0.9, 0.86, 100, false],
    ['one of 160 of a perfect score', 1, 159 / 160, 160, true],
    ['two of them', 1, 158 / 160, 160, false],
    ['five points of 160', 109 / 160, 101 / 160, 160, false],
    ['one of 160', 110 / 160, 109 / 160, 160, true],
    ['one of three', 1, 2 / 3, 3, true],
    ['two of three', 1, 1 / 3, 3, false],
    ['nothing to measure on', 0, 0, 0, false],
  ];
  for (const [name, score, int8, count, isDelivered] of cases) {
    assert.equal(int8Decision({ metric: 'accuracy', score, cases: count }, int8).isDelivered, isDelivered, name);
  }
});

test('the reason names both scores and the limit', () => {
  const float32 = { metric: 'accuracy', score: 0.9, cases: 100 } as const;
  assert.equal(allowedLoss(float32).toFixed(3), '0.030');
  assert.equal(
    int8Decision(float32, 0.8).reason,
    'It loses more than one standard error, 3.0 points: 80.0 % (71.1 to 86.7 %) instead of 90.0 % (82.6 to 94.5 %).',
  );
  assert.match(int8Decision(float32, 0.89).reason, /^It loses at most one standard error, 3\.0 points: 89\.0 % /);
});
