import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isProbeBetter, meanLoss, objectiveOf } from './objective.ts';
import type { Validation } from './objective.ts';

const validation = (score: number, loss: number): Validation => ({ loss, lossError: 0.1, score, shown: score });

const comparisons: [string, Validation, Validation, number, boolean][] = [
  ['clearly a larger score', validation(0.9, 2), validation(0.5, 1), 20, true],
  ['clearly a smaller score', validation(0.5, 1), validation(0.9, 2), 20, false],
  ['one image of twenty more, and a smaller loss', validation(0.55, 1), validation(0.5, 2), 20, false],
  ['the same difference on thousands of images', validation(0.55, 1), validation(0.5, 2), 4000, true],
  ['the same', validation(0.5, 1), validation(0.5, 1), 20, false],
  ['everything right in both, and a smaller loss', validation(1, 1), validation(1, 2), 20, false],
  ['everything right, the other one wrong once in ten', validation(1, 1), validation(0.9, 2), 10, false],
  ['everything right, the other one wrong twice in ten', validation(1, 1), validation(0.8, 2), 10, true],
];
for (const [name, probe, tuned, images, expected] of comparisons) {
  test(`the probe is better or not: ${name}`, () => assert.equal(isProbeBetter(probe, tuned, images), expected));
}

test('mean and standard error of losses', () => {
  assert.deepEqual(meanLoss([1, 2, 3]), { loss: 2, lossError: Math.sqrt(1 / 3) });
  assert.deepEqual(meanLoss([4]), { loss: 4, lossError: 0 });
});

const labels = ['a', 'b', 'c'];
test('one label per image: smoothed targets, one weight', () => {
  const objective = objectiveOf('single_label_classification', [], labels);
  const target = objective.target([1], 0.3);
  assert.deepEqual(
    target.map((t) => Number(t.toFixed(6))),
    [0.1, 0.8, 0.1],
  );
  assert.equal(objective.weights([1]).length, 1);
  const probabilities = objective.probabilities(Float32Array.of(1, 3, 2));
  assert.ok(Math.abs(probabilities.reduce((a, b) => a + b, 0) - 1) < 1e-9);
});

test('any number of labels: targets and weights of each, probabilities of each for itself', () => {
  const objective = objectiveOf('multi_label_classification', [], labels);
  assert.deepEqual(objective.target([0, 2], 0.1), [0.95, 0.05, 0.95]);
  assert.equal(objective.weights([0]).length, 3);
  assert.deepEqual([...objective.probabilities(Float32Array.of(0, 100, -100))].map(Math.round), [1, 1, 0]);
  const sure = objective.lossOf({ classes: [0], probabilities: Float64Array.of(1, 0, 0) });
  assert.ok(sure < 1e-6);
  const wrong = objective.lossOf({ classes: [0], probabilities: Float64Array.of(0, 0, 0) });
  assert.ok(wrong > 5 && Number.isFinite(wrong));
});
