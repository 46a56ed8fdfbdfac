import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cellText, predictedCount, scoreText, wilson } from '@platform/contract/confidence';

// Computed with statsmodels.stats.proportion.proportion_confint(…, method="wilson").
const intervals: [right: number, count: number, low: number, high: number][] = [
  [192, 200, 0.9231, 0.9796],
  [200, 200, 0.9812, 1],
  [0, 20, 0, 0.1611],
  [10, 20, 0.2993, 0.7007],
  [1, 1, 0.2065, 1],
];
for (const [right, count, low, high] of intervals)
  test(`Wilson's interval of ${right} of ${count}`, () => {
    const found = wilson(right / count, count);
    assert.deepEqual([found.low.toFixed(4), found.high.toFixed(4)], [low.toFixed(4), high.toFixed(4)]);
  });

const texts: [name: string, score: number, count: number, text: string][] = [
  ['accuracy', 0.96, 200, '96.0 % (92.3 to 98.0 %)'],
  ['accuracy', 1, 200, '100.0 % (98.1 to 100.0 %)'],
  ['accuracy', 0.75, 4, '3 of 4'],
  ['accuracy', 1, 19, '19 of 19'],
  ['exact_match', 0.5, 6, '3 of 6'],
  ['map50', 0.61, 40, '61.0 % (45.6 to 74.5 %)'],
  ['micro_f1', 0.5, 4, '50.0 % (15.0 to 85.0 %)'],
  ['accuracy', 0.905, 0, '90.5 %'],
];
for (const [name, score, count, text] of texts)
  test(`${name} ${score} on ${count} images is shown as ${text}`, () =>
    assert.equal(scoreText(name, score, count), text));

test('cells of tables are short', () => {
  assert.equal(cellText(0.96, 200), '96 % (92–98)');
  assert.equal(cellText(0.75, 4), '3 of 4');
  assert.equal(cellText(0.5, 0), '50.0 %');
  assert.equal(predictedCount({ precision: 0.9, recall: 0.5, support: 18 }), 10);
  assert.equal(predictedCount({ precision: 0, recall: 0, support: 18 }), 0);
});
